/** How wide a number is on screen. */

const SIZE = 11; // --fs-1, of the cells
const GUESS = 6; // for a letter, where nothing can be measured
const known = new Map<string, number>();
let context: CanvasRenderingContext2D | null | undefined;

/** In pixels. All digits are as wide as a nought, as they are in the grid. */
export function textWidth(text: string): number {
  const shape = text.replaceAll(/[0-9]/g, "0");
  const before = known.get(shape);
  if (before !== undefined) return before;
  context ??= start();
  const width = context === null ? shape.length * GUESS : context.measureText(shape).width;
  known.set(shape, width);
  return width;
}

function start(): CanvasRenderingContext2D | null {
  const made = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.documentElement).getPropertyValue("--font").trim();
  if (made !== null) made.font = `${SIZE}px ${family === "" ? "sans-serif" : family}`;
  return made;
}
