/** What every painter is given, and what it leaves out at which scale. */
import type { Camera, Size } from "./camera";
import type { Highlight } from "./highlight";
import { figureText, type Measure, type Scale } from "./metrics";
import type { GraphNode, Hierarchy } from "./model";
import type { Palette } from "./palette";
import type { Scene } from "./scene";
import type { TextFitter } from "./text";

/** All that a picture depends on. */
export interface PaintState {
  readonly scene: Scene;
  readonly hierarchy: Hierarchy;
  readonly camera: Camera;
  readonly view: Size;
  readonly pixelRatio: number;
  readonly palette: Palette;
  readonly highlight: Highlight;
  readonly hovered: string | null;
  readonly hits: ReadonlySet<string>;
  readonly measure: Measure | null;
  readonly scale: Scale;
  /** The types that have a colour of their own, when nodes are coloured by type. */
  readonly types: readonly string[] | null;
  readonly isBackward: boolean;
  readonly showBuffers: boolean;
}

/** What is painted on, what is painted, and how text is written: what every painter is given. */
export interface Painting {
  readonly context: CanvasRenderingContext2D;
  readonly state: PaintState;
  readonly fitter: TextFitter;
}

/** Below these scales something is no longer worth drawing. */
export const LEGIBLE = { figures: 0.6, titles: 0.42, corners: 0.3, edges: 0.12, dots: 0.5 } as const;

/** The figure of a node as it is written on it, empty for none. */
export function figureOf({ measure, scale }: PaintState, node: GraphNode): string {
  const value = measure?.(node) ?? null;
  return value === null ? "" : figureText(value, scale.unit);
}
