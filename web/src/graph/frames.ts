/** Draw open groups: their frames with heads, or far out just their names. */
import { SIZES } from "./layoutgraph";
import { figureOf, LEGIBLE, type Painting } from "./painting";
import type { SceneBox } from "./scene";
import { addBox } from "./shapes";
import { textWidth } from "./text";

/** Open groups: outer ones first, so that inner ones lie on them. */
export function paintFrames(painting: Painting, frames: readonly SceneBox[]): void {
  const { context, state } = painting;
  const { camera, palette } = state;
  const radius = camera.scale >= LEGIBLE.corners ? 8 : 0;
  const levels = new Map<number, SceneBox[]>();
  for (const frame of frames) {
    const level = levels.get(frame.depth);
    if (level === undefined) levels.set(frame.depth, [frame]);
    else level.push(frame);
  }
  context.lineWidth = Math.max(1, 0.6 / camera.scale);
  for (const level of levels.values()) {
    const path = new Path2D();
    for (const frame of level) addBox(path, frame, radius);
    context.globalAlpha = 0.55;
    context.fillStyle = palette.surface;
    context.fill(path);
    context.globalAlpha = 1;
    context.strokeStyle = palette.line2;
    context.stroke(path);
  }
}

/** Over the lines that enter: names are never crossed. */
export function paintHeaders(painting: Painting, frames: readonly SceneBox[]): void {
  for (const frame of frames) paintHeader(painting, frame);
}

function paintHeader({ context, state, fitter }: Painting, frame: SceneBox): void {
  const { palette, hierarchy } = state;
  const node = hierarchy.nodes.get(frame.key)!;
  const middle = frame.y + 15;
  context.strokeStyle = palette.text3;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(frame.x + 11, middle - 2);
  context.lineTo(frame.x + 14.5, middle + 1.5);
  context.lineTo(frame.x + 18, middle - 2);
  context.stroke();
  const figure = state.camera.scale >= LEGIBLE.figures ? figureOf(state, node) : "";
  const right = frame.x + frame.width - 12;
  const figureWidth = figure === "" ? 0 : fitter.draw(context, figure, right, middle, 90, palette.text3, "right") + 12;
  const left = frame.x + 26;
  const end = right - figureWidth;
  const name = node.times === "" ? node.title : `${node.title}  ${node.times}`;
  const width = fitter.draw(context, name, left, middle, end - left, palette.text, "left", true, palette.surface);
  // The class goes where no line enters: beside the name, else beyond the line, else nowhere.
  const wanted = textWidth(node.subtitle);
  for (const start of [left + width + 8, ...frame.entries.map((entry) => frame.x + entry + 10)]) {
    const isFree = frame.entries.every((entry) => frame.x + entry < start - 4 || frame.x + entry > start + wanted + 4);
    if (start < left + width + 8 || !isFree || start + wanted > end) continue;
    fitter.draw(context, node.subtitle, start, middle, end - start, palette.text3, "left");
    break;
  }
}

/** Far out, the names of large groups stay readable: written at the size of the screen, where they do not collide. */
export function paintLandmarks({ context, state, fitter }: Painting, frames: readonly SceneBox[]): void {
  const { camera, palette, hierarchy } = state;
  const size = 11 / camera.scale;
  const taken: { x: number; y: number; right: number }[] = [];
  for (const frame of frames) {
    if (frame.width * camera.scale < 48 || frame.height * camera.scale < 40) continue;
    const title = hierarchy.nodes.get(frame.key)!.title;
    // Its foot where the head ends, so that it covers no box.
    const [x, y] = [frame.x + size * 0.5, frame.y + SIZES.header - size * 0.7];
    const isTaken = taken.some((other) => Math.abs(other.y - y) < size * 1.3 && x < other.right && x > other.x - size);
    if (isTaken) continue;
    const width = fitter.drawLarge(context, title, x, y, frame.width - size, size, palette.text2, palette.surface);
    taken.push({ x, y, right: x + width });
  }
}
