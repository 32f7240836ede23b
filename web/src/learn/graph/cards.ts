/** How large the card of a value is, and whether its numbers are single cells or a picture. */
import type { Cells, LearnNode } from "../../wire";

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

export interface Size {
  readonly width: number;
  readonly height: number;
}

export function isPicture(cells: Cells): boolean {
  return !cells.is_whole || cells.num_columns > MOST_COLUMNS || cells.num_rows > MOST_ROWS;
}

/** Of the numbers of one tensor. */
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
