/** What every painter is given, and what it leaves out at which scale. */
import { computed } from "@preact/signals";
import { obtain } from "../../../data/collections";
import type { GraphNode } from "../../../data/pass/model";
import { themeTick } from "../../../data/store";
import { figureText } from "./box-figures";
import type { picture } from "./view-state";

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
  void themeTick.value;
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

type Align = "left" | "right" | "center";

interface Fitted {
  readonly text: string;
  readonly width: number;
}

/** More than this many cut texts are not remembered. */
const MOST_KNOWN = 20_000;

/** Text that is cut with an ellipsis where it is too long for its room. */
export class TextFitter {
  private readonly known = new Map<string, Fitted>();
  private font = "";

  use(context: CanvasRenderingContext2D, font: string): void {
    if (font !== this.font) this.known.clear();
    this.font = font;
    context.textBaseline = "middle";
  }

  /** Returns the width that was used. A ground keeps lines that run behind the text off it. */
  draw(
    context: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room: number,
    colour: string,
    align: Align,
    isTitle = false,
    ground: string | null = null,
  ): number {
    if (room < 8 || text === "") return 0;
    context.font = `${isTitle ? 500 : 400} 11px ${this.font}`;
    const fitted = this.fit(context, text, room, isTitle);
    context.textAlign = align;
    if (ground !== null) rim(context, fitted.text, x, y, ground);
    context.fillStyle = colour;
    context.fillText(fitted.text, x, y);
    return fitted.width;
  }

  /** At any size, on a ground of its own. */
  drawLarge(
    context: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room: number,
    size: number,
    colour: string,
    ground: string,
  ): number {
    context.font = `500 11px ${this.font}`;
    const { text: cut, width } = this.fit(context, text, (room * 11) / size, true);
    const factor = size / 11;
    context.font = `500 ${size}px ${this.font}`;
    context.fillStyle = ground;
    context.globalAlpha = 0.85;
    context.fillRect(x - size * 0.3, y - size * 0.7, width * factor + size * 0.6, size * 1.4);
    context.globalAlpha = 1;
    context.fillStyle = colour;
    context.textAlign = "left";
    context.fillText(cut, x, y);
    return width * factor;
  }

  private fit(context: CanvasRenderingContext2D, text: string, room: number, isTitle: boolean): Fitted {
    const name = `${isTitle ? "t" : "s"}${Math.round(room)} ${text}`;
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    return obtain(this.known, name, () => cut(context, text, room));
  }
}

/** Keeps lines off the letters. */
function rim(context: CanvasRenderingContext2D, text: string, x: number, y: number, ground: string): void {
  context.lineJoin = "round";
  context.lineWidth = 5;
  context.strokeStyle = ground;
  context.strokeText(text, x, y);
  // As it was, so that the next frame begins as this one did.
  context.lineJoin = "miter";
}

function cut(context: CanvasRenderingContext2D, text: string, room: number): Fitted {
  const width = context.measureText(text).width;
  if (width <= room) return { text, width };
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  const short = `${text.slice(0, low).trimEnd()}…`;
  return { text: short, width: context.measureText(short).width };
}
