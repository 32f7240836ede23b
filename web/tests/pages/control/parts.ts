/** Rows of tables, as a server sends them. */
import type { Cell } from "../../../src/pages/control/tables/table-data";
import type { Grid, TableRows } from "../../../src/wire";

type Cells = readonly Cell[] | { readonly shape: readonly number[] };

/** A column of cells, or of tensors of one shape. */
export function partOf(runId: string, columns: Record<string, Cells>, record = "1", step = 0): TableRows {
  const numRows = Math.max(...Object.values(columns).map((cells) => ("shape" in cells ? 1 : cells.length)));
  const entries = Object.entries(columns);
  return {
    run_id: runId,
    record,
    step,
    columns: entries.map(([name, cells]) => ({ name, form: formOf(cells), num_bytes: 0, shape: "shape" in cells ? [...cells.shape] : [], dtype: "" })),
    grids: Object.fromEntries(entries.flatMap(([name, cells]) => ("shape" in cells ? [[name, rowOf(cells.shape)]] : []))),
    rows: Array.from({ length: numRows }, (_, at) => entries.map(([, cells]) => ("shape" in cells ? null : (cells[at] ?? null)))),
  };
}

function formOf(cells: Cells): "number" | "text" | "tensor" {
  if ("shape" in cells) return "tensor";
  return cells.some((cell) => typeof cell === "string" && !["NaN", "inf", "-inf"].includes(cell)) ? "text" : "number";
}

function rowOf(shape: readonly number[]): Grid {
  const num_units = shape.reduce((product, size) => product * size, 1);
  return { num_units, tiles_across: 1, tiles_down: 1, columns: num_units, rows: 1, gap: 0, is_colour: false };
}
