/** How wide a text of a drawing is. */

/** Measures as the painter writes; null before its first use, and where there is no canvas, as in a worker. */
let ruler: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

/** How wide a text is at 11 px; an estimate where it cannot be measured. */
export function textWidth(text: string): number {
  if (ruler === null) return text.length * 6.4;
  let width = widths.get(text);
  if (width === undefined) {
    width = ruler.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/** Measure in this font from now on. */
export function startMeasuring(font: string): void {
  ruler = document.createElement("canvas").getContext("2d");
  widths.clear();
  if (ruler !== null) ruler.font = `400 11px ${font}`;
}
