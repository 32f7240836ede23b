/** How a window becomes a picture: tiles as they are, a line of values wrapped into rows. */
import type { TensorView } from "../wire";
import { stripWidth } from "./tiles";
import { gridOf, reachOf, stripAxis } from "./window";

export interface PictureModel {
  readonly tiles: number;
  readonly rows: number;
  readonly columns: number;
  readonly isStrip: boolean;
  /** Which value of the window stands there; may lie past the last one in a strip. */
  nth(tile: number, row: number, column: number): number;
}

export function pictureOf(view: Pick<TensorView, "shape" | "window">): PictureModel {
  const { num_tiles, num_rows, num_columns } = view.window;
  const { tiles, rows, columns } = gridOf(view.shape);
  const reach = reachOf(view.window);
  // By the tensor, not by the window: one row of a matrix is still a row.
  const isLine = [tiles, rows, columns].filter((size) => size > 1).length <= 1;
  if (isLine && stripAxis(reach) !== null) {
    const count = num_tiles * num_rows * num_columns;
    const width = stripWidth(count);
    return {
      tiles: 1,
      rows: Math.ceil(count / width),
      columns: width,
      isStrip: true,
      nth: (_tile, row, column) => row * width + column,
    };
  }
  return {
    tiles: num_tiles,
    rows: num_rows,
    columns: num_columns,
    isStrip: false,
    nth: (tile, row, column) => (tile * num_rows + row) * num_columns + column,
  };
}
