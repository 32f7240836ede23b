/** What draws points: by WebGL, or on a plain canvas where there is none. */
import type { Size } from "./camera";

/** A sheet of pictures, decoded. */
export interface SpriteImage {
  readonly image: ImageBitmap;
  readonly width: number;
  readonly height: number;
  readonly perRow: number;
}

/** What is drawn again for each frame. */
export interface Frame {
  readonly matrix: Float32Array;
  readonly size: Size;
  readonly ratio: number;
  /** In CSS pixels, at the target. */
  readonly pointSize: number;
  /** Of the eye from the target; 0 where the view is flat. */
  readonly distance: number;
  readonly surface: readonly [number, number, number];
  readonly ink: readonly [number, number, number];
  readonly withSprites: boolean;
  /** In CSS pixels. */
  readonly spriteSize: number;
  /** How many of those shown are drawn, from the first on; not all while a slow card has to keep up. */
  readonly numDrawn: number;
}

export interface Painter {
  /** For people: `WebGL2`, `canvas`. */
  readonly name: string;
  /** Three numbers for each point. */
  setPlaces(places: Float32Array): void;
  /** Red, green, blue, 255 for each point. */
  setColours(bytes: Uint8Array): void;
  /** Which points are drawn. */
  setShown(points: Int32Array): void;
  /** Which are drawn once more, above all others, with an outline. */
  setMarked(points: Int32Array): void;
  /** Why they cannot be drawn; empty where they can. */
  setSprites(sprites: SpriteImage | null): string;
  paint(frame: Frame): void;
  dispose(): void;
}
