/** Shape and type of the tensors in the list, asked for as they come into view. */
import { signal } from "@preact/signals";
import { formatShape } from "../format";
import * as runs from "../runs/store";
import type { Source } from "../source/source";
import { listedKey, type Listed } from "./store";

/** What a row says of its tensor. */
export interface Outline {
  /** `32×16×3×3 float32`; empty while it is asked for. */
  readonly text: string;
  /** NaN or infinite values, in the records that were looked at. */
  readonly numBad: number;
}

/** By the key of the row. */
export const outlines = signal<ReadonlyMap<string, Outline>>(new Map());

/** So many records are looked at, evenly over all steps: one would not tell whether there was a NaN. */
const MOST_LOOKED_AT = 64;

const AT_ONCE = 2;
const waiting: { source: Source; runId: string; row: Listed }[] = [];
let numAsked = 0;

export function wantOutline(source: Source | null, row: Listed): void {
  const key = listedKey(row);
  if (source === null || row.kind !== "tensor" || outlines.peek().has(key)) return;
  const run = runs.chosen.peek().find((one) => runs.seriesOf(one.id, row.kind, row.name) !== undefined);
  if (run === undefined) return;
  outlines.value = new Map(outlines.peek()).set(key, { text: "", numBad: 0 });
  waiting.push({ source, runId: run.id, row });
  next();
}

/** A few at a time: the tensor that somebody looks at is not to wait behind all names. */
function next(): void {
  if (numAsked >= AT_ONCE) return;
  const one = waiting.shift();
  if (one === undefined) return;
  numAsked += 1;
  const { kind, name } = one.row;
  one.source
    .ask({ type: "records", run_id: one.runId, kind, name, most: MOST_LOOKED_AT })
    .then(
      ({ answer }) => {
        const heads = answer.type === "records" ? answer.records.map(({ head }) => head) : [];
        const tensors = heads.filter((head) => head.kind === "tensor");
        const last = tensors.at(-1);
        if (last === undefined) return;
        outlines.value = new Map(outlines.peek()).set(listedKey(one.row), {
          text: `${formatShape(last.shape)} ${last.dtype}`,
          numBad: tensors.reduce((sum, head) => sum + head.num_nan + head.num_inf, 0),
        });
      },
      () => undefined, // the list does without
    )
    .finally(() => {
      numAsked -= 1;
      next();
    });
}
