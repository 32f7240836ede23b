/** Draw the part of a picture that is on screen: what is alike goes into one path, what cannot be read is left out. */
import { paintBoxes, paintOutlines } from "./boxes";
import { shownPart } from "./camera";
import { paintChips, paintFarChips } from "./chips";
import { paintFrames, paintHeaders, paintLandmarks } from "./frames";
import { LEGIBLE, type Painting, type PaintState } from "./painting";
import { TextFitter } from "./text";
import { paintWires } from "./wires";

const fitter = new TextFitter();

export function paint(context: CanvasRenderingContext2D, state: PaintState): void {
  const { camera, view, pixelRatio, palette } = state;
  const zoom = camera.scale * pixelRatio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = palette.background;
  context.fillRect(0, 0, view.width * pixelRatio, view.height * pixelRatio);
  context.setTransform(zoom, 0, 0, zoom, -camera.x * zoom, -camera.y * zoom);
  fitter.use(context, palette.font);
  const painting = { context, state, fitter };
  const visible = state.scene.within(shownPart(camera, view), camera.scale);
  const isFar = camera.scale < LEGIBLE.titles;
  if (camera.scale >= LEGIBLE.dots) paintDots(painting);
  paintFrames(painting, visible.frames);
  paintWires(painting, visible.wires);
  if (!isFar) paintHeaders(painting, visible.frames);
  if (isFar) paintFarChips(painting, visible);
  else paintChips(painting, visible);
  paintBoxes(painting, visible.boxes);
  if (isFar) paintLandmarks(painting, visible.frames);
  paintOutlines(painting);
}

function paintDots({ context, state: { camera, view, palette } }: Painting): void {
  const pitch = 24;
  const part = shownPart(camera, view);
  context.fillStyle = palette.line;
  context.beginPath();
  for (let x = Math.floor(part.x / pitch) * pitch; x < part.x + part.width; x += pitch) {
    for (let y = Math.floor(part.y / pitch) * pitch; y < part.y + part.height; y += pitch) context.rect(x, y, 1.5, 1.5);
  }
  context.fill();
}
