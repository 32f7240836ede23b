/** What every painter is given, and what it leaves out at which scale. */
import { computed } from "@preact/signals";
import type { GraphNode } from "../../../data/pass/model";
import { themeTick } from "../../../data/store";
import { figureText } from "./box-figures";
import type { TextFitter } from "./text-fitter";
import type { picture } from "./view-state";

/** All that a picture depends on. */
export type PaintState = NonNullable<typeof picture.value>;

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

export type Palette = ReturnType<typeof readPalette>;

/** The colours of the page, so that the canvas follows the theme. */
export const palette = computed(() => {
  themeTick.value;
  return readPalette();
});

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: read("--sunken"),
    surface: read("--surface"),
    raised: read("--raised"),
    line: read("--line"),
    line2: read("--line-2"),
    text: read("--text"),
    text2: read("--text-2"),
    text3: read("--text-3"),
    accent: read("--accent"),
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
