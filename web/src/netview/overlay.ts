/** Above the picture: names of plates, the outline of the selected unit and of the one under the pointer. */
import type { ScreenPlace, Size } from "./camera";
import { cssColour, type Inks } from "./colours";
import { placeLabels, type Label } from "./labels";

/** The faces of a unit that can be seen, each as a way around it. */
export type Outline = readonly (readonly ScreenPlace[])[];

export interface OverlayFrame {
  readonly size: Size;
  readonly ratio: number;
  readonly inks: Inks;
  readonly isFlat: boolean;
  readonly labels: readonly Label[];
  readonly selected: Outline | null;
  readonly hovered: Outline | null;
}

/** A smaller unit has a mark of this size around it. */
const LEAST_MARK = 9;

export function drawOverlay(canvas: HTMLCanvasElement, frame: OverlayFrame): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { ratio, size } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  drawLabels(context, frame, getComputedStyle(canvas).fontFamily);
  context.lineJoin = "round";
  if (frame.hovered !== null) drawOutline(context, frame.hovered, frame.inks, 1.25);
  if (frame.selected !== null) drawOutline(context, frame.selected, frame.inks, 2);
}

function drawLabels(context: CanvasRenderingContext2D, frame: OverlayFrame, family: string): void {
  const fonts = { name: `600 11px ${family}`, about: `400 11px ${family}` };
  context.font = fonts.name;
  const widthOf = (text: string): number => context.measureText(text).width;
  const write = (text: string, x: number, y: number, colour: string): void => {
    context.strokeStyle = cssColour(frame.inks.canvas);
    context.lineWidth = 3;
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  };
  context.lineJoin = "round";
  for (const label of placeLabels(frame.labels, widthOf, frame.isFlat, frame.size)) {
    context.textAlign = label.isStart ? "left" : "right";
    context.font = fonts.name;
    write(label.name, label.x, label.y, cssColour(frame.inks.text));
    const after = label.isStart ? context.measureText(label.name).width + 6 : 0;
    context.font = fonts.about;
    const y = label.isStart ? label.y : label.y + 14;
    if (label.about !== "") write(label.about, label.x + after, y, cssColour(frame.inks.faint));
  }
  context.textAlign = "left";
}

function drawOutline(context: CanvasRenderingContext2D, outline: Outline, inks: Inks, width: number): void {
  const places = outline.flat();
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const isSmall = right - left < LEAST_MARK && bottom - top < LEAST_MARK;
  context.beginPath();
  if (isSmall) {
    const half = LEAST_MARK / 2;
    context.rect((left + right) / 2 - half, (top + bottom) / 2 - half, LEAST_MARK, LEAST_MARK);
  }
  for (const face of isSmall ? [] : outline) {
    for (const [at, { x, y }] of face.entries()) {
      if (at === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.closePath();
  }
  // A halo, so that the ink is seen on every colour.
  context.strokeStyle = cssColour(inks.surface);
  context.lineWidth = width + 2;
  context.globalAlpha = 0.85;
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = cssColour(inks.text);
  context.lineWidth = width;
  context.stroke();
}
