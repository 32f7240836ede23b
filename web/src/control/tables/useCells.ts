/** The tensors of the rows in view, and between which limits each column of them is coloured. */
import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { Refusal } from "../../source/source";
import * as store from "../../store";
import { autoScale, type Scale } from "../../tensor/colour";
import type { TableRows } from "../../wire";
import { CellBlocks, type CellPlace, type CellValues, type Limits } from "./cellblocks";
import type { ShownColumn } from "./columns";
import { columnOf, type Row } from "./tabledata";

export interface Cells {
  /** Null where the row has no such tensor, or it has not come yet. */
  at(row: Row, name: string): CellValues | null;
  /** By the name of the tensor; nothing until some of it has come. */
  scalesOf(column: ShownColumn): ReadonlyMap<string, Scale>;
}

/** So many are kept of what was seen before. */
const MOST_BEFORE = 4000;

interface Wish {
  readonly columns: readonly ShownColumn[];
  /** All that the table shows, and those of its rows that are in view. */
  readonly parts: readonly TableRows[];
  readonly inView: readonly Row[];
}

export function useCells({ columns, parts, inView }: Wish): Cells {
  const [, hear] = useReducer((count: number) => count + 1, 0);
  const source = store.source.value;
  const blocks = useMemo(() => {
    const ask = source === null ? () => Promise.reject(new Refusal("There is no server.")) : source.ask.bind(source);
    return new CellBlocks(ask, () => hear(undefined));
  }, [source]);
  useEffect(() => () => blocks.stop(), [blocks]);
  const names = columns.filter(({ form }) => form === "tensor").flatMap((column) => column.names);
  useEffect(() => {
    const places = inView.flatMap((row) => names.flatMap((name) => placesOf(row, name)));
    blocks.want(places);
  });
  /** While those of a new test are on their way, those of the last one stay. */
  const before = useRef(new Map<string, CellValues>());
  return {
    at: (row, name) => {
      const [place] = placesOf(row, name);
      if (place === undefined) return null;
      const found = blocks.at(place);
      const key = `${name} ${row.at} ${place.column.shape.join()}`;
      if (found === null) return before.current.get(key) ?? null;
      if (before.current.size > MOST_BEFORE) before.current.clear();
      before.current.set(key, found);
      return found;
    },
    scalesOf: ({ form, names: all }) => {
      if (form !== "tensor") return new Map();
      const limits = all.map((name) => {
        const places = parts.flatMap((part) => placesOf({ part, at: 0 }, name));
        return widest(places.flatMap(({ column }) => blocks.limits(column) ?? []));
      });
      const scales = scalesFor(limits);
      return new Map(all.flatMap((name, at) => (scales[at] === null ? [] : [[name, scales[at]!] as const])));
    },
  };
}

/** None where the row has no tensor of this name. */
function placesOf(row: Row, name: string): CellPlace[] {
  const column = columnOf(row, name);
  if (column?.form !== "tensor") return [];
  const { run_id: runId, record, rows } = row.part;
  return [{ column: { runId, record, name, numRows: rows.length, shape: column.shape }, row: row.at }];
}

// --- Between which limits the pictures of a column are coloured.

/** Null where there are none. */
function widest(limits: readonly Limits[]): Limits | null {
  if (limits.length === 0) return null;
  return { low: Math.min(...limits.map(({ low }) => low)), high: Math.max(...limits.map(({ high }) => high)) };
}

/**
 * One scale for tensors that are compared, so that what is equal looks equal; but one for each where they are not of
 * the same kind, as the scores of classes beside ones and zeros.
 */
export function scalesFor(limits: readonly (Limits | null)[]): (Scale | null)[] {
  const known = limits.filter((one) => one !== null);
  const all = widest(known);
  if (all === null) return limits.map(() => null);
  const common = areAlike(known) ? scaleOf(all) : null;
  return limits.map((one) => (one === null ? null : (common ?? scaleOf(one))));
}

/** No one reaches further beyond the last than that one is wide. */
function areAlike(limits: readonly Limits[]): boolean {
  const { low, high } = limits.at(-1)!;
  const extent = high - low;
  return limits.every((one) => one.low >= low - extent && one.high <= high + extent);
}

function scaleOf({ low, high }: Limits): Scale {
  return autoScale({ min: low, max: high });
}
