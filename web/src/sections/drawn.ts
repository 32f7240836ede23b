/** Colours of the theme and a canvas in the pixels of the screen: what drawings begin with. */
import { STEPS } from "../tensor/colour";

export interface Ink {
  readonly text: string;
  readonly caption: string;
  readonly surface: string;
  readonly sunken: string;
  readonly line: string;
  readonly edge: string;
  readonly danger: string;
  /** From the quiet end. */
  readonly sequential: readonly string[];
  /** The colour of a run by its number, from 1. */
  readonly runs: readonly string[];
  readonly font: string;
}

const NUM_RUN_COLOURS = 8;

/** The colours of the theme that is on now. */
export function readInk(): Ink {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"),
    caption: colour("text-3"),
    surface: colour("surface"),
    sunken: colour("sunken"),
    line: colour("line"),
    edge: colour("line-2"),
    danger: colour("danger"),
    sequential: Array.from({ length: STEPS.seq }, (_, step) => colour(`seq-${step}`)),
    runs: ["", ...Array.from({ length: NUM_RUN_COLOURS }, (_, at) => colour(`cat-${at + 1}`))],
    font: `11px ${colour("font")}`,
  };
}

/** Clear a canvas and make it as sharp as the screen; what is drawn then counts in CSS pixels. */
export function prepare(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}
