/** Draw edges: thicker for more bytes, coloured by the selection, with heads in the direction of the flow. */
import type { Mark } from "./highlight";
import type { PlacedWire } from "./layoutgraph";
import type { Hierarchy } from "./model";
import { LEGIBLE, type Painting } from "./painting";
import type { Palette } from "./palette";
import type { Visible } from "./scene";

const MARKS: readonly Mark[] = ["off", "plain", "down", "up", "selected"];
const NUM_WIDTHS = 4;
const LABEL_ROOM = 116;
const HEAD = { length: 7, half: 3.5 } as const;

const COLOUR_OF: Record<Mark, (palette: Palette) => string> = {
  plain: (palette) => palette.text3,
  off: (palette) => palette.line2,
  up: (palette) => palette.up,
  down: (palette) => palette.down,
  selected: (palette) => palette.text,
};

type PlacedWires = Visible["wires"];

/** The lines of one mark, by thickness, and their heads. */
class Batch {
  readonly lines: (Path2D | undefined)[] = Array.from({ length: NUM_WIDTHS });
  readonly heads = new Path2D();

  line(step: number): Path2D {
    return (this.lines[step] ??= new Path2D());
  }
}

export function paintWires(painting: Painting, wires: PlacedWires): void {
  const { state } = painting;
  const batches = new Map<Mark, Batch>();
  const isFar = state.camera.scale < LEGIBLE.corners;
  for (const { wire, x, y } of wires) {
    const mark = state.highlight.ofWire(wire);
    let batch = batches.get(mark);
    if (batch === undefined) {
      batch = new Batch();
      batches.set(mark, batch);
    }
    trace(batch.line(isFar ? 0 : widthStep(wire, state.hierarchy)), wire.path, x, y, isFar);
    const hasHead = state.isBackward ? wire.hasTail : wire.hasHead;
    if (hasHead && !isFar) addHead(batch.heads, wire, x, y, state.isBackward);
  }
  for (const mark of MARKS) {
    const batch = batches.get(mark);
    if (batch !== undefined) paintBatch(painting, mark, batch);
  }
  if (state.camera.scale >= LEGIBLE.figures) paintLabels(painting, wires);
}

function paintBatch({ context, state: { camera, palette } }: Painting, mark: Mark, batch: Batch): void {
  const colour = COLOUR_OF[mark](palette);
  context.strokeStyle = colour;
  context.globalAlpha = mark === "plain" ? 0.65 : 1;
  for (const [step, path] of batch.lines.entries()) {
    if (path === undefined) continue;
    const width = 1.1 + step * 0.45 + (mark === "selected" ? 0.6 : 0);
    context.lineWidth = Math.max(width, Math.min(2.2, 0.7 / camera.scale));
    context.stroke(path);
  }
  context.globalAlpha = 1;
  // Heads are cut out first: where lines are translucent, the one under a head must not show through.
  context.fillStyle = palette.background;
  context.fill(batch.heads);
  context.globalAlpha = mark === "plain" ? 0.75 : 1;
  context.fillStyle = colour;
  context.fill(batch.heads);
  context.globalAlpha = 1;
}

const widthSteps = new WeakMap<PlacedWire, number>();

/** From thin to thick by the number of bytes, in powers of 16. */
function widthStep(wire: PlacedWire, hierarchy: Hierarchy): number {
  let step = widthSteps.get(wire);
  if (step === undefined) {
    const bytes = wire.edges.reduce((most, index) => Math.max(most, hierarchy.edges[index]!.numBytes), 1);
    step = Math.max(0, Math.min(NUM_WIDTHS - 1, Math.floor(Math.log2(bytes) / 4) - 2));
    widthSteps.set(wire, step);
  }
  return step;
}

function trace(path: Path2D, points: readonly number[], x: number, y: number, isStraight: boolean): void {
  path.moveTo(x + points[0]!, y + points[1]!);
  for (let at = 2; at < points.length; ) {
    if (points[at] === 0) {
      path.lineTo(x + points[at + 1]!, y + points[at + 2]!);
      at += 3;
      continue;
    }
    const [endX, endY] = [x + points[at + 5]!, y + points[at + 6]!];
    if (isStraight) path.lineTo(endX, endY);
    else path.bezierCurveTo(x + points[at + 1]!, y + points[at + 2]!, x + points[at + 3]!, y + points[at + 4]!, endX, endY);
    at += 7;
  }
}

/** Lines meet boxes from straight above and leave them straight below, so that heads need no angle. */
function addHead(path: Path2D, { path: points }: PlacedWire, x: number, y: number, isBackward: boolean): void {
  const [tipX, tipY] = isBackward ? [points[0]!, points[1]!] : [points.at(-2)!, points.at(-1)!];
  const base = isBackward ? tipY + HEAD.length : tipY - HEAD.length;
  path.moveTo(x + tipX, y + tipY);
  path.lineTo(x + tipX - HEAD.half, y + base);
  path.lineTo(x + tipX + HEAD.half, y + base);
  path.closePath();
}

/** Shapes, once for each place where edges start. */
function paintLabels({ context, state, fitter }: Painting, wires: PlacedWires): void {
  const { palette, highlight, hierarchy } = state;
  const written = new Set<string>();
  for (const { wire, x, y } of wires) {
    const isSelected = highlight.ofWire(wire) === "selected";
    const label = wire.label ?? (isSelected && !highlight.isGroup ? labelOfSelected(wire) : null);
    if (label === null) continue;
    const name = `${x + label.x} ${y + label.y}`;
    if (written.has(name)) continue;
    written.add(name);
    const [at, align] = label.side === "right" ? ([x + label.x + 8, "left"] as const) : ([x + label.x - 8, "right"] as const);
    const middle = y + label.y + (wire.label === null ? 9 : 12.5);
    fitter.draw(context, labelOf(wire, hierarchy), at, middle, LABEL_ROOM, isSelected ? palette.text : palette.text3, align, isSelected);
  }
}

/** What is selected says its shape even where that is nothing new. */
function labelOfSelected(wire: PlacedWire): PlacedWire["label"] {
  return wire.hasTail ? { x: wire.path[0]!, y: wire.path[1]!, side: "right" } : null;
}

const labels = new WeakMap<PlacedWire, string>();

/** The shape of the one tensor that runs here, or how many there are. */
function labelOf(wire: PlacedWire, hierarchy: Hierarchy): string {
  let label = labels.get(wire);
  if (label === undefined) {
    const ops = new Set(wire.edges.map((index) => hierarchy.edges[index]!.op));
    label = ops.size === 1 ? hierarchy.edges[wire.edges[0]!]!.shape : `${ops.size} tensors`;
    labels.set(wire, label);
  }
  return label;
}
