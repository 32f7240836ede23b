/** The exact values of one unit: of the selected one, at the moment and over time, and of the one under the pointer. */
import { computed, effect, signal } from "@preact/signals";
import type { NetLayer } from "../../wire";
import { askOf, Desk, floatsOf, type ReplyOf } from "../requests";
import type { Asked, Source } from "../source";
import { moments, rank, runId, step } from "./moments";
import * as state from "./network-state";
import * as store from "./store";
import type { UnitPlace } from "./store";
import { exactText } from "./words";

/** Of which network and item something is. */
interface Origin {
  readonly runId: string;
  readonly rank: number;
  readonly place: UnitPlace;
  readonly item: number;
}

export interface Reading extends Origin {
  readonly step: number;
  /** Each variable with its value; of a place in a colour picture red, green and blue. */
  readonly values: readonly (readonly [variable: string, text: string])[];
  /** Of the records that they were read from. */
  readonly steps: ReadonlyMap<string, number>;
}

export interface Line {
  readonly variable: string;
  readonly steps: Float64Array;
  readonly values: Float64Array;
}

export interface UnitSeries extends Origin {
  readonly lines: readonly Line[];
}

const MOST_POINTS = 1024;

const lastReading = signal<Reading | null>(null);
const lastHovered = signal<Reading | null>(null);
const lastSeries = signal<UnitSeries | null>(null);
/** Why the selected unit has no values, and why none over time; empty where it has. */
export const readingFailure = signal("");
export const seriesFailure = signal("");

/** The step of what is under the pointer: where time runs along a plate, that of the column. */
export const pointedStep = computed<number | null>(() => {
  const { layer, moment } = store.hovered.value ?? {};
  const steps = layer === undefined ? undefined : store.raster.value?.get(layer)?.steps;
  return moment === undefined || steps === undefined ? step.value : (steps[moment] ?? null);
});

/** Of the selected unit. Those of the moment before stay until the next have come. */
export const selectedReading = computed<Reading | null>(() => its(lastReading.value, store.selected.value));
export const hoveredReading = computed<Reading | null>(() => {
  const reading = its(lastHovered.value, store.hovered.value);
  // Under the pointer stands what is drawn: a value of another moment would be a wrong one.
  return reading?.step === pointedStep.value ? reading : null;
});
export const unitSeries = computed<UnitSeries | null>(() => its(lastSeries.value, store.selected.value));

function its<One extends Origin>(one: One | null, place: UnitPlace | null): One | null {
  const isOfNet = one?.runId === runId.value && one.rank === rank.value && one.item === store.item.value;
  return isOfNet && one.place.layer === place?.layer && one.place.unit === place.unit ? one : null;
}

interface Wish extends Origin {
  readonly step: number;
  /** The numbers of its units: three where it is a place of a colour picture. */
  readonly units: readonly number[];
}

/** Call what it returns to stop. */
export function followUnits(source: Source): () => void {
  const stops = [
    followReading(source, () => wishOf(store.selected.value, step.value), lastReading, (reason) => (readingFailure.value = reason)),
    followReading(source, () => wishOf(store.hovered.value, pointedStep.value), lastHovered, () => undefined),
    followSeries(source),
  ];
  return () => {
    for (const stop of stops) stop();
    lastReading.value = null;
    lastHovered.value = null;
    lastSeries.value = null;
  };
}

function wishOf(place: UnitPlace | null, now: number | null): Wish | null {
  const layer = state.layerOf(place?.layer);
  if (place === null || layer === null || now === null || place.unit >= layer.grid.num_units) return null;
  return { runId: runId.value, rank: rank.value, step: now, item: store.item.value, place, units: unitsOf(layer, place.unit) };
}

export function unitsOf({ grid }: Pick<NetLayer, "grid">, unit: number): number[] {
  if (!grid.is_colour) return [unit];
  const size = grid.rows * grid.columns;
  return [0, 1, 2].map((map) => map * size + (unit % size));
}

function followReading(
  source: Source,
  wish: () => Wish | null,
  into: { value: Reading | null },
  fail: (reason: string) => void,
): () => void {
  const desk = new Desk<Reading>(({ value, problem }) => {
    fail(problem);
    if (problem === "") into.value = value;
  });
  const stop = effect(() => {
    const now = wish();
    desk.want(now === null ? null : { key: keyOf(now), version: "", ask: () => askReading(source, now) });
  });
  return () => {
    stop();
    desk.close();
  };
}

async function askReading(source: Source, wish: Wish): Promise<Reading> {
  const { runId: run_id, rank: itsRank, step: now, item, place, units } = wish;
  const asked = units.map((unit): Asked => {
    return { type: "net_unit", run_id, rank: itsRank, step: now, layer: place.layer, unit, item };
  });
  const replies = await Promise.all(asked.map((one) => askOf(one, "net_unit", source)));
  const texts = new Map<string, string[]>();
  const steps = new Map<string, number>();
  for (const { answer } of replies) {
    for (const [name, value] of Object.entries(answer.values)) {
      texts.set(name, [...(texts.get(name) ?? []), exactText(value)]);
    }
    for (const [name, at] of Object.entries(answer.steps)) steps.set(name, at);
  }
  return { runId: run_id, rank: itsRank, place, item, step: now, values: [...texts].map(([name, all]) => [name, all.join(", ")]), steps };
}

function followSeries(source: Source): () => void {
  const desk = new Desk<UnitSeries>(({ value, problem }) => {
    seriesFailure.value = problem;
    if (problem === "") lastSeries.value = value;
  });
  const stop = effect(() => {
    // Not with every step of the slider: the line has all of them.
    const count = moments.value.length;
    const wish = wishOf(store.selected.value, count === 0 ? null : 0);
    // While a training runs, the whole line is fetched with a pause between.
    desk.want(wish === null ? null : { key: keyOf(wish), version: String(count), ask: () => askSeries(source, wish) });
  });
  return () => {
    stop();
    desk.close();
  };
}

function keyOf({ runId: run, rank: itsRank, place, item, step: now }: Wish): string {
  return [run, itsRank, item, place.unit, now, place.layer].join(" ");
}

const COLOURS = [" red", " green", " blue"];

async function askSeries(source: Source, { runId: run_id, rank: itsRank, item, place, units }: Wish): Promise<UnitSeries> {
  const asked = units.map((unit): Asked => {
    const whole = { low: null, high: null, most: MOST_POINTS };
    return { type: "net_unit_series", run_id, rank: itsRank, layer: place.layer, unit, item, ...whole };
  });
  const replies = await Promise.all(asked.map((one) => askOf(one, "net_unit_series", source)));
  const lines = replies.flatMap((reply, at) => linesOf(reply, units.length > 1 ? (COLOURS[at] ?? "") : ""));
  return { runId: run_id, rank: itsRank, place, item, lines };
}

/** Numbers of eight bytes: for each variable its steps, then its values. */
function linesOf({ answer, buffer, offset }: ReplyOf<"net_unit_series">, suffix: string): Line[] {
  const numAll = answer.counts.reduce((sum, count) => sum + count, 0);
  const floats = floatsOf(new Uint8Array(buffer, Math.min(offset, buffer.byteLength)), 2 * numAll);
  let from = 0;
  return answer.variables.map((variable, at): Line => {
    const count = answer.counts[at] ?? 0;
    const line = {
      variable: variable + suffix,
      steps: floats.subarray(from, from + count),
      values: floats.subarray(from + count, from + 2 * count),
    };
    from += 2 * count;
    return line;
  });
}
