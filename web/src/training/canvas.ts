/** A canvas as sharp as the screen. */
import type { Size } from "./geometry";

/** Cleared and ready to draw in pixels of the page; null where there is no canvas or no room. */
export function fitCanvas(canvas: HTMLCanvasElement | null, { width, height }: Size): CanvasRenderingContext2D | null {
  const context = canvas?.getContext("2d") ?? null;
  if (canvas === null || context === null || width === 0 || height === 0) return null;
  const ratio = devicePixelRatio;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  // Setting the size clears it, and costs more than clearing it.
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
