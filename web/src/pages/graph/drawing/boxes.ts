/** Draw ops and closed groups: their box, the colour of their figure, their words, and outlines for what is marked. */
import { groupBy, obtain } from "../../../data/collections";
import type { GraphNode } from "../../../data/pass/model";
import { SIZES } from "../../../ui/graph-layout/layout-graph";
import { stepOf } from "./box-figures";
import type { Mark } from "./highlight";
import { figureOf, LEGIBLE, type Painting, type PaintState, type Palette } from "./pen";
import type { SceneBox } from "./scene";
import type { Rect } from "../../../ui/pan-zoom";
import { textWidth } from "../../../ui/text-width";

/** The colour that a box is drawn in by its metric, null for none. */
function colourOf(state: PaintState, node: GraphNode): string | null {
  const { palette } = state;
  if (state.types !== null) {
    const index = state.types.indexOf(node.type);
    if (node.kind === "group") return null;
    return index < 0 ? palette.line2 : palette.categories[index]!;
  }
  const value = state.measure?.(node) ?? null;
  return value === null ? null : palette.steps[stepOf(value, state.scale)]!;
}

const EDGE_OF: Record<Mark, (palette: Palette) => string> = {
  plain: (palette) => palette.line2,
  off: (palette) => palette.line,
  up: (palette) => palette.up,
  down: (palette) => palette.down,
  selected: (palette) => palette.accent,
};

export function paintBoxes(painting: Painting, boxes: readonly SceneBox[]): void {
  const { context, state } = painting;
  const { camera, palette } = state;
  const isFar = camera.scale < LEGIBLE.corners;
  const { fills, edges, stacks, bars, faded } = gather(state, boxes, isFar);
  context.lineWidth = Math.max(1, 0.6 / camera.scale);
  for (const [mark, path] of stacks) strokeAndFill(context, path, palette, mark, 0.6);
  context.fillStyle = isFar ? palette.line2 : palette.raised;
  context.fill(fills);
  if (isFar) fillAll(context, bars);
  for (const [mark, path] of edges) {
    context.globalAlpha = mark === "up" || mark === "down" ? 0.6 : 1;
    context.strokeStyle = EDGE_OF[mark](palette);
    context.stroke(path);
  }
  context.globalAlpha = 1;
  if (!isFar) fillAll(context, bars);
  if (camera.scale >= LEGIBLE.titles) for (const box of boxes) paintWords(painting, box);
  fade(context, palette, faded);
}

/** Shapes of one look in a single path, by their mark or their colour. */
type Paths<Look extends string> = Map<Look, Path2D>;

function pathOf<Look extends string>(paths: Paths<Look>, look: Look): Path2D {
  return obtain(paths, look, () => new Path2D());
}

/** Add a box to a path; sharp corners are much faster than round ones. */
function addBox(path: Path2D, box: Rect, radius: number): void {
  if (radius > 0) path.roundRect(box.x, box.y, box.width, box.height, radius);
  else path.rect(box.x, box.y, box.width, box.height);
}

/** Far out the whole box takes the colour of its figure, and the picture becomes a map. */
function gather(state: PaintState, boxes: readonly SceneBox[], isFar: boolean) {
  const { camera, hierarchy, highlight } = state;
  const radius = isFar ? 0 : 6;
  const [edges, stacks, bars]: [Paths<Mark>, Paths<Mark>, Paths<string>] = [new Map(), new Map(), new Map()];
  const [fills, faded] = [new Path2D(), new Path2D()];
  for (const box of boxes) {
    const node = hierarchy.nodes.get(box.key)!;
    const mark = highlight.ofBox(box.key);
    addBox(fills, box, radius);
    if (camera.scale >= LEGIBLE.edges) addBox(pathOf(edges, mark), box, radius);
    if (node.kind === "group" && !isFar) addBox(pathOf(stacks, mark), { ...box, x: box.x + 4, y: box.y + 4 }, radius);
    if (state.isBackward && !node.hasGradient) addBox(faded, box, radius);
    const end = endColour(state.palette, node);
    if (end !== null && !isFar) pathOf(bars, end).roundRect(box.x, box.y, 4, box.height, [radius, 0, 0, radius]);
    const colour = colourOf(state, node);
    if (colour === null) continue;
    if (isFar) addBox(pathOf(bars, colour), box, 0);
    else pathOf(bars, colour).roundRect(box.x + 6, box.y + 7, 4, 20, 2);
  }
  return { fills, edges, stacks, bars, faded };
}

/** Inputs and outputs of the model have a coloured edge at their left. */
function endColour(palette: Palette, { opKind }: GraphNode): string | null {
  return opKind === "input" ? palette.input : opKind === "output" ? palette.output : null;
}

function strokeAndFill(context: CanvasRenderingContext2D, path: Path2D, palette: Palette, mark: Mark, alpha: number): void {
  context.globalAlpha = alpha;
  context.fillStyle = palette.raised;
  context.fill(path);
  context.strokeStyle = EDGE_OF[mark](palette);
  context.stroke(path);
  context.globalAlpha = 1;
}

function fillAll(context: CanvasRenderingContext2D, paths: Paths<string>): void {
  for (const [colour, path] of paths) {
    context.fillStyle = colour;
    context.fill(path);
  }
}

/** What no gradient reached steps back. */
function fade(context: CanvasRenderingContext2D, palette: Palette, path: Path2D): void {
  context.globalAlpha = 0.6;
  context.fillStyle = palette.background;
  context.fill(path);
  context.globalAlpha = 1;
}

function paintWords({ context, state, fitter }: Painting, box: SceneBox): void {
  const { palette, camera, hierarchy } = state;
  const node = hierarchy.nodes.get(box.key)!;
  const isOff = state.highlight.ofBox(box.key) === "off";
  const left = box.x + 18;
  let room = box.width - 28;
  if (camera.scale >= LEGIBLE.figures) {
    const figure = figureOf(state, node);
    const right = box.x + box.width - 10;
    const colour = isOff ? palette.text3 : palette.text2;
    if (figure !== "") room -= fitter.draw(context, figure, right, box.y + 17.5, 60, colour, "right") + 8;
  }
  const ink = isOff ? palette.text3 : palette.text;
  const [first, second] = [box.y + 10.5, box.y + 24.5];
  const badge = node.times === "" ? 0 : textWidth(node.times) + 8;
  const name = fitter.draw(context, node.label, left, first, room - badge, ink, "left", true) + 8;
  if (badge > 0) fitter.draw(context, node.times, left + name, first, badge + 8, ink, "left", true);
  if (camera.scale < LEGIBLE.figures) return;
  // Marks stand beside the name or, where that is long, before what is below it: the name is whole.
  const marks = node.marks.join(" · ");
  const isBeside = name + badge + textWidth(marks) <= room;
  const [at, y] = isBeside ? [left + name + badge, first] : [left, second];
  const marked = fitter.draw(context, marks, at, y, room, isOff ? palette.text3 : palette.warn, "left");
  const indent = isBeside || marked === 0 ? 0 : marked + 8;
  fitter.draw(context, subtitleOf(node), left + indent, second, room - indent, palette.text3, "left");
}

function subtitleOf(node: GraphNode): string {
  if (node.kind === "op") return node.subtitle;
  return `${node.subtitle} · ${node.numOps} ${node.numOps === 1 ? "op" : "ops"}`;
}

/** On top of everything: what was found, what is under the pointer, what is selected, where the pass failed. */
export function paintOutlines({ context, state }: Painting): void {
  const { scene, palette, hits, hovered, highlight, hierarchy } = state;
  const outline = (key: string, colour: string, width: number, grow: number): void => {
    const host = hierarchy.nodes.get(key)?.host ?? null;
    const box = scene.boxes.get(host ?? key);
    if (box === undefined || (host !== null && state.showBuffers && colour === palette.accent)) return;
    context.strokeStyle = colour;
    // Never thinner than it can be seen.
    context.lineWidth = Math.max(width, width / state.camera.scale / 1.5);
    context.beginPath();
    const radius = box.isOpen ? 8 : 6;
    context.roundRect(box.x - grow, box.y - grow, box.width + 2 * grow, box.height + 2 * grow, radius + grow);
    context.stroke();
  };
  for (const key of hits) outline(key, palette.warn, 1.5, 3);
  for (const { key } of scene.failed) outline(key, palette.danger, 2, 0);
  if (hovered !== null && hovered !== highlight.selected) outline(hovered, palette.text3, 1, 0);
  if (highlight.selected !== null) outline(highlight.selected, palette.accent, 2, 0);
}

/** Open groups: outer ones first, so that inner ones lie on them. */
export function paintFrames(painting: Painting, frames: readonly SceneBox[]): void {
  const { context, state } = painting;
  const { camera, palette } = state;
  const radius = camera.scale >= LEGIBLE.corners ? 8 : 0;
  const levels = groupBy(frames, ({ depth }) => depth);
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
