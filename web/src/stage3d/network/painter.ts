/** What draws plates: by WebGL, or flat on a plain canvas where there is none. */
import type { Camera, Size } from "./camera";
import type { Inks } from "./colours";
import type { Segments } from "./frame";
import type { DrawnPlate } from "./picking";

/** Units as a flat picture, as bars, or as a field of bars through which each pixel looks. */
export type Form = "flat" | "bars" | "field";

/** A plate of this frame. What it is made of comes first, from back to front. */
export interface PaintedPlate extends DrawnPlate {
  readonly form: Form;
  /** By which its levels are known. */
  readonly key: string;
  /** Nothing was recorded: hatched. */
  readonly isMissing: boolean;
  /** Nothing is known yet. */
  readonly isWaiting: boolean;
  /** Of a colour picture: from levels to shades, a slope and a start. */
  readonly colourRange: readonly [slope: number, start: number];
  /** Lines that lie behind it and after what was painted before it. */
  readonly linesBefore: Segments;
}

export interface Frame {
  readonly camera: Camera;
  readonly matrix: Float32Array;
  readonly size: Size;
  readonly ratio: number;
  readonly inks: Inks;
  readonly fading: number;
  /** A card that cannot keep up, while things move. */
  readonly isQuick: boolean;
  /** Weights of one unit are shown: most places are not connected to it. */
  readonly isOfUnit: boolean;
  readonly plates: readonly PaintedPlate[];
  /** Above the last. */
  readonly linesAfter: Segments;
}

export interface Painter {
  /** For people: `WebGL2`, `canvas`. */
  readonly name: string;
  /** Can it draw in perspective? */
  readonly isDeep: boolean;
  /** A level for each unit; null forgets them. */
  setLevels(key: string, levels: Uint16Array | null): void;
  /** 256 colours, four bytes each. */
  setRamp(bytes: Uint8ClampedArray): void;
  paint(frame: Frame): void;
  /** How long a frame took on the card, when that is known. */
  measure(onKnown: (milliseconds: number) => void): void;
  dispose(): void;
}
