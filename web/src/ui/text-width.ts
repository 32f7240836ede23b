/** How wide a text of a drawing is. */
import { obtain } from "../data/collections";

/** Measures as the painter writes; null before its first use, and where there is no canvas, as in a worker. */
let ruler: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

/** How wide a text is at 11 px; an estimate where it cannot be measured. */
export function textWidth(text: string): number {
  const context = ruler;
  return context === null ? text.length * 6.4 : obtain(widths, text, () => context.measureText(text).width);
}

export function startMeasuring(font: string): void {
  ruler = document.createElement("canvas").getContext("2d");
  widths.clear();
  if (ruler !== null) ruler.font = `400 11px ${font}`;
}
