/** Where the cards of a lesson stand, inputs above and the loss below, and how the lines between them run. */
import { Layouter } from "../../../ui/graph-layout/layout";
import type { LayoutGraph, LayoutNode } from "../../../ui/graph-layout/layout-graph";
import type { Point, Rect, Size } from "../../../ui/pan-zoom";
import type { Cells, LearnNode, Lesson } from "../../../wire";
import { edgesInto } from "../steps";

/** A line from an input down to the op that reads it. */
export interface EdgePath {
  readonly key: string;
  /** As an SVG path, from the input to the op. */
  readonly path: string;
  readonly start: Point;
  readonly end: Point;
}

export interface GraphLayout {
  readonly boxes: readonly Rect[];
  readonly edges: readonly EdgePath[];
  readonly bounds: Rect;
}

/** Low, so that a lesson fits on the page. */
const MOST_BEND = 12;
/** Above and below; at the sides the layout has its own. */
const MARGIN = 4;

/** A node of the layout that holds them all, and one for each value, in which a card is a closed box. */
function graphOf(nodes: readonly LearnNode[]): LayoutGraph {
  const common = { left: 0, numOps: 1, isGroup: false, isPinned: true, isReshaping: false, titleWidth: 0 };
  const cards = nodes.map((node): LayoutNode => {
    const body = cardSize(node);
    // Inputs come down to what reads them; ops stay as high as they can.
    const isPinned = node.kind === "op";
    return { ...common, key: String(node.id), parent: 0, children: [], order: node.id, isPinned, height: body.height, body };
  });
  const all: LayoutNode = { ...common, key: "", parent: -1, children: cards.map((_, at) => at + 1), order: -1, height: 0 };
  const edges = nodes.flatMap(({ id, parents }) => parents.flatMap((parent) => [parent + 1, id + 1]));
  const slots = nodes.flatMap(({ parents }) => parents.map((_, at) => at));
  // What reads the same value several times does so along several lines.
  const lanes = nodes.flatMap(edgesInto).map((key) => Number(key.split("-")[2]));
  return {
    nodes: [all, ...cards], edges, firstCondition: slots.length, slots, words: slots.map(() => 0), lanes, hasLongLines: true,
    mostBend: MOST_BEND,
  };
}

export function layOut({ nodes }: Pick<Lesson, "nodes">): GraphLayout {
  const keys = nodes.flatMap(edgesInto);
  const layout = new Layouter(graphOf(nodes)).layOut([]).fresh[0]!;
  const edges = layout.wires.map(({ path, edges: [edge] }): EdgePath => ({
    key: keys[edge!]!,
    path: svgPath(path),
    start: { x: path[0]!, y: path[1]! },
    end: { x: path.at(-2)!, y: path.at(-1)! },
  }));
  return { boxes: layout.boxes, edges, bounds: { x: 0, y: -MARGIN, width: layout.width, height: layout.height + 2 * MARGIN } };
}

function svgPath(path: readonly number[]): string {
  let text = `M${path[0]} ${path[1]}`;
  for (let at = 2; at < path.length; ) {
    const count = path[at] === 0 ? 2 : 6;
    text += `${count === 2 ? "L" : "C"}${path.slice(at + 1, at + 1 + count).join(" ")}`;
    at += 1 + count;
  }
  return text;
}

/** As in learn.css. */
export const CELL = 16;
export const PITCH = 17;
const PADDING = 12;
const BETWEEN = 20;
const HEAD = 28;
const FOOT = 26;
const LEAST_WIDTH = 132;
const MOST_WIDTH = 260;
/** More than this is a picture. */
const MOST_COLUMNS = 8;
const MOST_ROWS = 6;
/** A picture has so much room. */
const PICTURE = { width: 92, height: 84 } as const;
const LEAST_SIDE = 8;

export function isPicture(cells: Cells): boolean {
  return !cells.is_whole || cells.num_columns > MOST_COLUMNS || cells.num_rows > MOST_ROWS;
}

export function gridSize(cells: Cells): Size {
  const [columns, rows] = [Math.max(1, cells.num_columns), Math.max(1, cells.num_rows)];
  if (!isPicture(cells)) return { width: columns * PITCH - 1, height: rows * PITCH - 1 };
  const scale = Math.min(PICTURE.width / columns, PICTURE.height / rows, CELL);
  return {
    width: Math.max(LEAST_SIDE, Math.round(columns * scale)),
    height: Math.max(LEAST_SIDE, Math.round(rows * scale)),
  };
}

export function cardSize(node: LearnNode): Size {
  const grid = gridSize(node.value);
  const words = 7.4 * node.name.length + 6 * Math.min(16, sideText(node).length) + 2 * PADDING + 12;
  const width = Math.max(LEAST_WIDTH, 2 * grid.width + BETWEEN + 2 * PADDING, Math.min(MOST_WIDTH, words));
  // Even, so that lines down the middle are straight.
  return { width: 2 * Math.round(width / 2), height: HEAD + grid.height + FOOT };
}

/** At the right of the name: how it was made, or what it is. */
export function sideText({ kind, text, name, is_named }: LearnNode): string {
  if (kind !== "op") return kind;
  // What has no name is called after its op: then what was written says more.
  return is_named || text !== name ? text : "";
}
