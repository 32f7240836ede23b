/** What the page of tensors shows: which series, of which run, at which step, beside which other one. */
import { computed, signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { placeKey, type RecordList, type SeriesPlace } from "../../data/record-list";
import { param, setParams, wholeParam } from "../../data/route";
import * as runs from "../../data/runs";
import { toCsv } from "../../data/save-file";
import type { TensorValues } from "../../data/source";
import { fullReach, gridOf, indexOf, windowOf } from "../../data/tensor-window";
import { nearestAt } from "../../data/time-steps";
import { figureOf } from "../../plot/over-time";
import { extentOf } from "../../plot/scale";
import { autoScale, type Scale } from "../../ui/colour-scale";
import type { RunListing, Window } from "../../wire";

export type TensorSeriesKind = "tensor" | "histogram";

/** A name in the list: of tensors, or of histograms. */
export interface Listed {
  readonly kind: TensorSeriesKind;
  readonly name: string;
  /** NaN or infinite values, in all chosen runs together. */
  readonly numBad: number;
}

export const filter = signal("");
export const closedGroups = signal<ReadonlySet<string>>(new Set());
export const list = signal<RecordList | null>(null);
export const failure = signal("");
/** Is one colour one value at every step? */
export const isScaleShared = signal(false);

/** Every name of the chosen runs: tensors, each before the histograms of its name, then those without a tensor. */
export const listed = computed<readonly Listed[]>(() => {
  const [tensors, histograms] = [runs.namesOf("tensor"), runs.namesOf("histogram")];
  const [areTensors, areHistograms] = [new Set(tensors), new Set(histograms)];
  return [...new Set([...tensors, ...histograms])].flatMap((name) => [
    ...(areTensors.has(name) ? [listedOf("tensor", name)] : []),
    ...(areHistograms.has(name) ? [listedOf("histogram", name)] : []),
  ]);
});

function listedOf(kind: TensorSeriesKind, name: string): Listed {
  const numBad = runs.chosen.value.reduce((sum, run) => sum + (runs.seriesOf(run.id, kind, name)?.num_bad ?? 0), 0);
  return { kind, name, numBad };
}

export const filtered = computed<readonly Listed[]>(() => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  return listed.value.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
});

export function listedKey({ kind, name }: Pick<Listed, "kind" | "name">): string {
  return `${kind} ${name}`;
}

export const chosen = computed<Listed | null>(() => {
  const kind: TensorSeriesKind = param("kind") === "histogram" ? "histogram" : "tensor";
  const name = param("tensor");
  const found = listed.value.filter((one) => one.name === name);
  return found.find((one) => one.kind === kind) ?? found[0] ?? (name === "" ? listed.value[0] : undefined) ?? null;
});

export const itsRuns = computed<readonly RunListing[]>(() => {
  const now = chosen.value;
  if (now === null) return [];
  return runs.chosen.value.filter((run) => runs.seriesOf(run.id, now.kind, now.name) !== undefined);
});

export const place = computed<SeriesPlace | null>(() => {
  const now = chosen.value;
  const run = itsRuns.value.find((one) => one.id === param("run")) ?? itsRuns.value[0];
  return now === null || run === undefined ? null : { runId: run.id, kind: now.kind, name: now.name };
});

/** The records of the place; none while those of another one are here. */
export const records = computed(() => {
  const [here, now] = [list.value, place.value];
  return here !== null && now !== null && placeKey(here.place) === placeKey(now) ? here.records : [];
});

/** Null follows the last one. */
export const wantedStep = computed(() => wholeParam("step"));
export const at = computed<number>(() =>
  wantedStep.value === null ? records.value.length - 1 : nearestAt(records.value, wantedStep.value),
);

export const otherStep = computed(() => wholeParam("with"));
export const otherAt = computed<number | null>(() =>
  otherStep.value === null || records.value.length === 0 ? null : nearestAt(records.value, otherStep.value),
);

export function choose(next: Pick<Listed, "kind" | "name">): void {
  setParams({ tensor: next.name, kind: next.kind === "histogram" ? next.kind : null });
}

export function goTo(index: number): void {
  const record = records.peek()[index];
  if (record !== undefined) setParams({ step: String(record.step) });
}

export function follow(isOn: boolean): void {
  if (isOn) setParams({ step: null });
  else goTo(at.peek());
}

export function compareWith(index: number | null): void {
  const record = index === null ? undefined : records.peek()[index];
  setParams({ with: record === undefined ? null : String(record.step) });
}

/** As torcheer.tensorfile.views: four megabytes at most. */
const MOST_VALUES = 1 << 19;

/** All of an item where it may be had at once; otherwise what the first look had. */
export function largestWindow(shape: readonly number[], item: readonly number[], coarse: Window): Window {
  const { tiles, rows, columns } = gridOf(shape);
  return tiles * rows * columns <= MOST_VALUES
    ? windowOf(fullReach(shape, item))
    : { ...coarse, item: [...item] };
}

/** The shape of a window as an array, with as many dimensions as its tensor has behind the item. */
export function windowShape(shape: readonly number[], window: Window): number[] {
  return [window.num_tiles, window.num_rows, window.num_columns].slice(3 - Math.min(3, shape.length));
}

/** A line for each value: its index, dimension by dimension, and itself. */
export function windowCsv({ view, values }: TensorValues): string {
  const header = [...view.shape.map((_, dim) => `index_${dim}`), "value"];
  return toCsv([header, ...Array.from(values, (value, nth) => [...indexOf(view.shape, view.window, nth), value])]);
}

interface Extremes {
  readonly min: number | null;
  readonly max: number | null;
}

/** The colours of a tensor: of its own values, of those at all steps, or between limits that were fixed. */
export function useScale(own: Extremes) {
  const [fixed, onScale] = useState<Scale | null>(null);
  const extremes = isScaleShared.value ? widest(records.value.map(figureOf).filter((one) => one !== null)) : own;
  return { scale: fixed ?? autoScale(extremes), isAuto: fixed === null, onScale };
}

export function widest(all: readonly Extremes[]): Extremes {
  const span = extentOf(all.map(({ min, max }) => [min ?? NaN, max ?? NaN]));
  return { min: span?.low ?? null, max: span?.high ?? null };
}
