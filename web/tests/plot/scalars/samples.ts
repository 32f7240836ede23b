/** Series, blocks and charts for the tests of the training page. */
import type { Reply } from "../../../src/data/source";
import type { Ink } from "../../../src/plot/Drawing";
import type { Chart } from "../../../src/plot/scalars/state";
import type { ChartRun, Sources } from "../../../src/plot/scalars/model";
import { type Axis, type Options, readOptions } from "../../../src/plot/scalars/options";
import { SeriesData } from "../../../src/plot/scalars/series-feed";
import type { SeriesBlock } from "../../../src/wire";

export const STARTED = 1000;

export const INK: Ink = {
  surface: "#fff",
  line: "#eee",
  edge: "#ccc",
  text: "#000",
  text2: "#333",
  caption: "#666",
  accent: "#0aa",
  danger: "#c00",
  sequential: [],
  runs: ["", "#111", "#222", "#333", "#444", "#555", "#666", "#777", "#888"],
  font: "11px sans-serif",
};

export function block(changes: Partial<SeriesBlock> = {}): SeriesBlock {
  return {
    run_id: "a",
    name: "loss",
    form: "points",
    is_fresh: true,
    num_replaced: 0,
    num_items: 0,
    num_points: 0,
    last_step: 0,
    last_time: 0,
    last_value: null,
    started: STARTED,
    ...changes,
  };
}

/** The columns of points: steps, times a second apart, values. */
export function points(steps: readonly number[], values: readonly number[]): Float64Array {
  return Float64Array.from([...steps, ...steps.map((step) => STARTED + step), ...values]);
}

export interface Bucket {
  readonly step: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly count: number;
  readonly bad?: number;
}

export function buckets(all: readonly Bucket[]): Float64Array {
  const columns = [
    all.map(({ step }) => step),
    all.map(({ step }) => STARTED + step),
    all.map(({ mean }) => mean),
    all.map(({ low }) => low),
    all.map(({ high }) => high),
    all.map(({ count }) => count),
    all.map(({ bad }) => bad ?? 0),
  ];
  return Float64Array.from(columns.flat());
}

interface Window {
  readonly axis?: Axis;
  readonly low?: number;
  readonly high?: number;
}

function asked({ axis = "step", low, high }: Window) {
  return { axis, low: low ?? null, high: high ?? null };
}

export function dataOf(steps: readonly number[], values: readonly number[], window: Window = {}): SeriesData {
  const data = new SeriesData();
  data.take(block({ num_items: steps.length, num_points: steps.length }), points(steps, values), asked(window));
  return data;
}

export function bucketData(all: readonly Bucket[], window: Window = {}): SeriesData {
  const data = new SeriesData();
  const numPoints = all.reduce((sum, { count }) => sum + count, 0);
  data.take(
    block({ form: "buckets", num_items: all.length, num_points: numPoints }),
    buckets(all),
    asked(window),
  );
  // As if nobody knew: what is read is then the mean of the last bucket.
  data.last = null;
  return data;
}

/** More points after what is there. */
export function append(data: SeriesData, steps: readonly number[], values: readonly number[]): void {
  data.take(
    block({ is_fresh: false, num_items: steps.length, num_points: data.numPoints + steps.length }),
    points(steps, values),
    { axis: "step", low: null, high: null },
  );
}

export function chartOf(...names: string[]): Chart {
  const title = names[0]!;
  const members = names.map((name) => ({ name, label: name }));
  return { key: title, title, fullTitle: title, form: "lines", members, isAsked: false };
}

export function runOf(id: string, changes: Partial<ChartRun> = {}): ChartRun {
  return { id, name: `run ${id}`, slot: 1, end: "plain", ...changes };
}

export function sourcesOf(whole: SeriesData | null, finer: SeriesData | null = null): Sources {
  return { whole, finer, isAnswered: whole !== null, refusal: "" };
}

export function wish(changes: Partial<Options> = {}): Options {
  return { ...readOptions(new Map()), smoothing: 0, ...changes };
}

/** An answer as it comes in a frame: the numbers begin somewhere behind its head. */
export function reply(blocks: readonly (readonly [SeriesBlock, Float64Array])[]): Reply {
  const offset = 16;
  const numbers = blocks.flatMap(([, values]) => [...values]);
  const buffer = new ArrayBuffer(offset + 8 * numbers.length);
  new Float64Array(buffer, offset).set(numbers);
  return { answer: { type: "series", id: 1, blocks: blocks.map(([one]) => one) }, buffer, offset };
}

/** Numbers that are different each time and the same in every test. */
export function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
