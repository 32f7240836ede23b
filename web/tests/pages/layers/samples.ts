/** Watched rows and grids for the tests. */
import { HAS_NAN, type WatchedGrid } from "../../../src/pages/layers/watched";
import type { AlarmListing, GapListing, WatchedRow } from "../../../src/wire";

export function rowWith(name: string, parts: Partial<WatchedRow> = {}): WatchedRow {
  return { name, layer: name, variable: "Act", role: "activation", module: "Linear", shape: [2], ...parts };
}

/** Values by row; marks where they are NaN on purpose. */
export function gridWith(values: readonly (readonly number[])[], parts: Partial<WatchedGrid> = {}): WatchedGrid {
  const width = values[0]?.length ?? 0;
  return {
    column: "norm",
    ranks: [0],
    columns: ["norm"],
    rows: values.map((_, at) => rowWith(`row${at}`)),
    first_steps: Array.from({ length: width }, (_, at) => at),
    last_steps: Array.from({ length: width }, (_, at) => at),
    values: Float32Array.from(values.flat()),
    marks: Uint8Array.from(values.flat(), () => 0),
    num_steps: width,
    every: "1",
    got: "",
    ...parts,
  };
}

export function marked(grid: WatchedGrid, at: number, mark = HAS_NAN): WatchedGrid {
  const marks = Uint8Array.from(grid.marks);
  marks[at] = mark;
  return { ...grid, marks };
}

export function alarmWith(parts: Partial<AlarmListing> = {}): AlarmListing {
  return {
    ...{ run_id: "a", record: "rank-0:1", rank: 0, alarm: "nan", step: 5, time: 0 },
    ...{ layer: "fc", variable: "Act", row: "fc.Act", value: 1, threshold: null, message: "fc.Act: NaN at step 5" },
    ...parts,
  };
}

export function gapWith(parts: Partial<GapListing> = {}): GapListing {
  return {
    ...{ run_id: "a", record: "rank-0:2", rank: 0, reason: "full", first_step: 20, last_step: 23, time: 0 },
    ...{ num_missing: 312, counts: {}, message: "the ring was full" },
    ...parts,
  };
}
