/** Draw edges: thicker for more bytes, coloured by the selection, with heads in the direction of the flow. */
import { obtain } from "../../../data/collections";
import { wordsBetween } from "../../../data/pass/edges";
import type { GraphNode, Hierarchy, Use } from "../../../data/pass/model";
import { distinct } from "../../../data/pass/node-words";
import type { PlacedWire } from "../../../ui/graph-layout/layout-graph";
import type { Mark } from "./highlight";
import { LEGIBLE, type Painting, type Palette } from "./pen";
import type { Scene, Visible } from "./scene";

const MARKS: readonly Mark[] = ["off", "plain", "down", "up", "selected"];
const NUM_WIDTHS = 4;
const LABEL_ROOM = 116;
const HEAD = { length: 7, half: 3.5 } as const;
const CONDITION_DASH = [5, 3];

const COLOUR_OF: Record<Mark, (palette: Palette) => string> = {
  plain: (palette) => palette.text3,
  off: (palette) => palette.line2,
  up: (palette) => palette.up,
  down: (palette) => palette.down,
  selected: (palette) => palette.text,
};

type PlacedWires = Visible["wires"];

/** The lines of one mark, by thickness, and their heads. */
interface Batch {
  readonly lines: Path2D[];
  readonly heads: Path2D;
}

function lineOf({ lines }: Batch, step: number): Path2D {
  return (lines[step] ??= new Path2D());
}

export function paintWires(painting: Painting, wires: PlacedWires): void {
  const { state } = painting;
  const [batches, conditions] = [new Map<Mark, Batch>(), new Map<Mark, Batch>()];
  const isFar = state.camera.scale < LEGIBLE.corners;
  for (const { wire, x, y } of wires) {
    const isDead = state.isBackward && !wire.isCondition && !carriesGradient(wire, state.hierarchy);
    const mark = isDead ? "off" : state.highlight.ofWire(wire);
    const batch = obtain(wire.isCondition ? conditions : batches, mark, (): Batch => ({ lines: [], heads: new Path2D() }));
    trace(lineOf(batch, isFar ? 0 : widthStep(wire, state.hierarchy)), wire.path, x, y, isFar);
    // What was decided on the way forward has no way back.
    if (!isFar && !isDead) addHead(batch.heads, wire, x, y, state.isBackward && !wire.isCondition);
  }
  for (const mark of MARKS) {
    paintBatch(painting, mark, batches.get(mark), false);
    paintBatch(painting, mark, conditions.get(mark), true);
  }
  if (state.camera.scale < LEGIBLE.figures) return;
  paintLabels(painting, wires);
  paintHeadWords(painting, wires);
}

/** Conditions are dashed, in a colour of their own: no tensor runs there. */
function paintBatch({ context, state: { camera, palette } }: Painting, mark: Mark, batch: Batch | undefined, isCondition: boolean): void {
  if (batch === undefined) return;
  const colour = isCondition ? palette.condition : COLOUR_OF[mark](palette);
  const isFaint = isCondition && mark === "off";
  context.strokeStyle = colour;
  context.globalAlpha = isFaint ? 0.4 : mark === "plain" && !isCondition ? 0.65 : 1;
  if (isCondition) context.setLineDash(CONDITION_DASH);
  // There are not lines of every thickness: forEach passes over holes.
  batch.lines.forEach((path, step) => {
    const width = (isCondition ? 1.4 : 1.1 + step * 0.45) + (mark === "selected" ? 0.6 : 0);
    context.lineWidth = Math.max(width, Math.min(2.2, 0.7 / camera.scale));
    context.stroke(path);
  });
  context.setLineDash([]);
  context.globalAlpha = 1;
  // Heads are cut out first: where lines are translucent, the one under a head must not show through.
  context.fillStyle = palette.background;
  if (!isCondition) context.fill(batch.heads);
  context.globalAlpha = isFaint ? 0.4 : mark === "plain" && !isCondition ? 0.75 : 1;
  context.fillStyle = colour;
  context.fill(batch.heads);
  context.globalAlpha = 1;
}

/** Whether a gradient ran back along a line: past a `detach`, or into data, none did. */
export function carriesGradient(wire: Pick<PlacedWire, "edges">, { edges, nodes }: Hierarchy): boolean {
  return wire.edges.some((index) => {
    const { from, to } = edges[index]!;
    return nodes.get(from)!.hasGradient && nodes.get(to)!.hasGradient;
  });
}

const widthSteps = new WeakMap<PlacedWire, number>();

/** From thin to thick by the number of bytes, in powers of 16. */
function widthStep(wire: PlacedWire, hierarchy: Hierarchy): number {
  return obtain(widthSteps, wire, () => {
    const bytes = wire.edges.reduce((most, index) => Math.max(most, hierarchy.edges[index]!.numBytes), 1);
    return Math.max(0, Math.min(NUM_WIDTHS - 1, Math.floor(Math.log2(bytes) / 4) - 2));
  });
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
function addHead(path: Path2D, wire: PlacedWire, x: number, y: number, isBackward: boolean): void {
  if (!(isBackward ? wire.hasTail : wire.hasHead)) return;
  const { path: points } = wire;
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
    if (wire.isCondition) continue;
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

/** As which argument, in which passes, under which condition: beside the head, on a ground that hides lines. */
function paintHeadWords({ context, state, fitter }: Painting, wires: PlacedWires): void {
  const { palette, highlight } = state;
  for (const { wire, x, y } of wires) {
    const text = wire.words === null ? "" : wordsOf(state.scene, wire);
    if (wire.words === null || text === "") continue;
    const [at, align] = wire.words.side === "right" ? ([5, "left"] as const) : ([-5, "right"] as const);
    const [left, middle] = [x + wire.words.x + at, y + wire.words.y];
    const mark = highlight.ofWire(wire);
    const colour = wire.isCondition ? palette.condition : mark === "off" ? palette.text3 : palette.text2;
    context.globalAlpha = mark === "off" ? 0.6 : 1;
    fitter.draw(context, text, left, middle, LABEL_ROOM, colour, align, false, palette.background);
    context.globalAlpha = 1;
  }
}

/** What is selected says its shape even where that is nothing new. */
function labelOfSelected(wire: PlacedWire): PlacedWire["label"] {
  return wire.hasTail ? { x: wire.path[0]!, y: wire.path[1]!, side: "right" } : null;
}

const labels = new WeakMap<PlacedWire, string>();

/** The shape of the one tensor that runs here, or how many there are. */
function labelOf(wire: PlacedWire, hierarchy: Hierarchy): string {
  return obtain(labels, wire, () => {
    const ops = new Set(wire.edges.map((index) => hierarchy.edges[index]!.op));
    return ops.size === 1 ? hierarchy.edges[wire.edges[0]!]!.shape : `${ops.size} tensors`;
  });
}

/** By picture, since they depend on what is open, and are asked for in every frame. */
const known = new WeakMap<Scene, WeakMap<PlacedWire, string>>();

/** What is written at the head of a line: as which argument it arrives, in which passes, under which condition. */
export function wordsOf(scene: Scene, wire: PlacedWire): string {
  const ofScene = obtain(known, scene, () => new WeakMap<PlacedWire, string>());
  return obtain(ofScene, wire, () => distinct(wire.isCondition ? conditionsOf(scene, wire) : usesOf(scene, wire)).join(wire.isCondition ? " / " : ", "));
}

function conditionsOf({ hierarchy }: Scene, wire: PlacedWire): string[] {
  return wire.edges.map((index) => hierarchy.edges[index]!.condition);
}

function usesOf(scene: Scene, wire: PlacedWire): string[] {
  const tree = scene.hierarchy;
  const ends = new Map<string, { from: GraphNode; to: GraphNode; uses: Use[] }>();
  const shown = (key: string): GraphNode | undefined => tree.nodes.get(scene.boxFor(key)?.key ?? "");
  for (const index of wire.edges) {
    const edge = tree.edges[index]!;
    const [from, to] = [shown(edge.from), shown(edge.to)];
    if (from === undefined || to === undefined) continue;
    obtain(ends, `${from.key} ${to.key}`, () => ({ from, to, uses: [] })).uses.push(...edge.uses);
  }
  return [...ends.values()].map(({ from, to, uses }) => (isOnlyOne(tree, wire, to) ? "" : wordsBetween(tree, uses, from, to)));
}

/** Where all that an op is given comes along one line, its arguments need no names. */
function isOnlyOne(tree: Hierarchy, wire: PlacedWire, to: GraphNode): boolean {
  if (tree.form === "rolled" || to.kind !== "op") return false;
  return (tree.reaching.get(to.key) ?? []).every((edge) => wire.edges.includes(edge));
}
