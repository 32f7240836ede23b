/** Text and outlines above the points: labels with room around them, the box or line of a selection, the axes. */
import { viewMatrix, type Camera, type Size } from "./camera";
import type { Inks } from "./colouring";
import { placeLabels, type Label, type PlacedLabel } from "./labelling";
import type { Place } from "./picking";

export interface OverlayFrame {
  readonly size: Size;
  readonly ratio: number;
  readonly matrix: Float32Array;
  readonly camera: Camera;
  readonly inks: Inks;
  readonly labels: readonly Label[];
  /** From the middle of a point to its edge. */
  readonly labelShift: number;
  readonly outline: readonly Place[] | null;
  readonly axisNames: readonly string[];
}

const ARM = 30;
const CORNER = 46;

export function drawOverlay(canvas: HTMLCanvasElement, frame: OverlayFrame): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { ratio, size, inks } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const family = getComputedStyle(canvas).fontFamily;
  context.lineJoin = "round";
  const fontOf = (label: Label): string => `${label.weight === "plain" ? 400 : 600} 11px ${family}`;
  const widthOf = (text: string): number => {
    context.font = `500 11px ${family}`;
    return context.measureText(text).width;
  };
  const placed = placeLabels(frame.labels, widthOf, size);
  for (const label of placed) drawLabel(context, label, fontOf(label), frame.labelShift, inks);
  drawAxes(context, frame, family);
  if (frame.outline !== null) drawOutline(context, frame.outline, inks);
}

function rgb(parts: readonly number[]): string {
  return `rgb(${parts.join()})`;
}

function drawLabel(
  context: CanvasRenderingContext2D,
  label: PlacedLabel,
  font: string,
  shift: number,
  inks: Inks,
): void {
  const side = label.weight === "middle" ? 0 : label.left < label.x ? -1 : 1;
  const left = label.left + side * Math.max(0, shift - 3);
  context.font = font;
  context.strokeStyle = rgb(inks.surface);
  context.lineWidth = 3;
  context.strokeText(label.text, left, label.base);
  context.fillStyle = rgb(inks.text);
  context.fillText(label.text, left, label.base);
}

/** Which way the axes go, in the corner: in three dimensions as they are turned. */
function drawAxes(context: CanvasRenderingContext2D, frame: OverlayFrame, family: string): void {
  if (frame.axisNames.length === 0) return;
  const { inks, size, camera } = frame;
  const turn = viewMatrix({ ...camera, target: [0, 0, 0], zoom: 1, dims: camera.dims }, { width: 2, height: 2 });
  const [x, y] = [CORNER, size.height - CORNER];
  const longest = Math.hypot(turn[0]!, turn[4]!, turn[8]!) || 1;
  context.font = `400 11px ${family}`;
  context.textAlign = "center";
  for (const [at, name] of frame.axisNames.entries()) {
    const [dx, dy] = [(turn[at * 4]! / longest) * ARM, (-turn[at * 4 + 1]! / longest) * ARM];
    context.strokeStyle = rgb(inks.none);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + dx, y + dy);
    context.stroke();
    context.fillStyle = rgb(inks.text);
    context.globalAlpha = 0.7;
    if (Math.hypot(dx, dy) > 6) context.fillText(name, x + dx * 1.4, y + dy * 1.4 + 4);
    context.globalAlpha = 1;
  }
  context.textAlign = "left";
}

function drawOutline(context: CanvasRenderingContext2D, outline: readonly Place[], inks: Inks): void {
  context.beginPath();
  for (const [at, { x, y }] of outline.entries()) {
    if (at === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
  context.closePath();
  context.fillStyle = rgb(inks.text);
  context.globalAlpha = 0.08;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = rgb(inks.text);
  context.setLineDash([4, 3]);
  context.lineWidth = 1.5;
  context.stroke();
  context.setLineDash([]);
}
