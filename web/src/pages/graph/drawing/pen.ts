/** What every painter is given, and what it leaves out at which scale. */
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import type { Camera, Size } from "../../../ui/pan-zoom";
import { figureText, type Measure, type Scale } from "./box-figures";
import type { Highlight } from "./highlight";
import type { Scene } from "./scene";
import type { TextFitter } from "./text-fitter";

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

// --- The colours of the page, read from its custom properties so that the canvas follows the theme.

export interface Palette {
  readonly background: string;
  readonly surface: string;
  readonly raised: string;
  readonly hover: string;
  readonly line: string;
  readonly line2: string;
  readonly text: string;
  readonly text2: string;
  readonly text3: string;
  readonly accent: string;
  readonly accentWeak: string;
  readonly danger: string;
  readonly warn: string;
  readonly condition: string;
  readonly input: string;
  readonly output: string;
  readonly up: string;
  readonly down: string;
  readonly steps: readonly string[];
  readonly categories: readonly string[];
  readonly font: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: read("--sunken"),
    surface: read("--surface"),
    raised: read("--raised"),
    hover: read("--hover"),
    line: read("--line"),
    line2: read("--line-2"),
    text: read("--text"),
    text2: read("--text-2"),
    text3: read("--text-3"),
    accent: read("--accent"),
    accentWeak: read("--accent-weak"),
    danger: read("--danger"),
    warn: read("--warn"),
    condition: read("--cat-2"),
    input: read("--cat-3"),
    output: read("--cat-8"),
    up: read("--up"),
    down: read("--down"),
    steps: Array.from({ length: 10 }, (_, step) => read(`--seq-${step}`)),
    categories: Array.from({ length: 8 }, (_, index) => read(`--cat-${index + 1}`)),
    font: read("--font") || "sans-serif",
  };
}
