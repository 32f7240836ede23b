/** The exact values of one unit: of the selected one, at the moment and over time, and of the one under the pointer. */
import { computed, effect, signal } from "@preact/signals";
import type { NetLayer } from "../../wire";
import { floatsOf } from "../requests";
import { type Asked, Refusal, type Reply, type Source } from "../source";
import { Latest } from "./feeds";
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
/** While a training runs, the whole line is not fetched more often. */
const MIN_GAP_MS = 1000;

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
  const latest = new Latest<Wish, Reading>({
    ask: (wish) => askReading(source, wish),
    hear: (_, reading) => {
      fail("");
      into.value = reading;
    },
    refuse: (_, reason) => fail(reason),
  });
  const stop = effect(() => latest.want(wish()));
  return () => {
    stop();
    latest.stop();
  };
}

async function askReading(source: Source, wish: Wish): Promise<Reading> {
  const { runId: run_id, rank: itsRank, step: now, item, place, units } = wish;
  const asked = units.map((unit): Asked => {
    return { type: "net_unit", run_id, rank: itsRank, step: now, layer: place.layer, unit, item };
  });
  const answers = await Promise.all(asked.map((one) => source.ask(one)));
  const texts = new Map<string, string[]>();
  const steps = new Map<string, number>();
  for (const { answer } of answers) {
    if (answer.type !== "net_unit") throw new Refusal(`The server answered with ${answer.type}.`);
    for (const [name, value] of Object.entries(answer.values)) {
      texts.set(name, [...(texts.get(name) ?? []), exactText(value)]);
    }
    for (const [name, at] of Object.entries(answer.steps)) steps.set(name, at);
  }
  return { runId: run_id, rank: itsRank, place, item, step: now, values: [...texts].map(([name, all]) => [name, all.join(", ")]), steps };
}

function followSeries(source: Source): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let lastAsked = { key: "", time: -Infinity };
  const latest = new Latest<Wish, UnitSeries>({
    ask: (wish) => askSeries(source, wish),
    hear: (_, series) => {
      seriesFailure.value = "";
      lastSeries.value = series;
    },
    refuse: (_, reason) => (seriesFailure.value = reason),
  });
  const stop = effect(() => {
    // Not with every step of the slider: the line has all of them.
    const count = moments.value.length;
    const [place, item, run, itsRank] = [store.selected.value, store.item.value, runId.value, rank.value];
    const layer = state.layerOf(place?.layer);
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (place === null || layer === null || count === 0 || place.unit >= layer.grid.num_units) {
      latest.want(null);
      return;
    }
    const wish = { runId: run, rank: itsRank, step: 0, item, place, units: unitsOf(layer, place.unit) };
    const key = JSON.stringify([run, itsRank, item, place.layer, place.unit]);
    const ask = (): void => {
      lastAsked = { key, time: Date.now() };
      latest.want(wish);
    };
    const wait = key === lastAsked.key ? lastAsked.time + MIN_GAP_MS - Date.now() : 0;
    if (wait <= 0) ask();
    else timer = setTimeout(ask, wait);
  });
  return () => {
    stop();
    if (timer !== null) clearTimeout(timer);
    latest.stop();
  };
}

const COLOURS = [" red", " green", " blue"];

async function askSeries(source: Source, { runId: run_id, rank: itsRank, item, place, units }: Wish): Promise<UnitSeries> {
  const asked = units.map((unit): Asked => {
    const whole = { low: null, high: null, most: MOST_POINTS };
    return { type: "net_unit_series", run_id, rank: itsRank, layer: place.layer, unit, item, ...whole };
  });
  const replies = await Promise.all(asked.map((one) => source.ask(one)));
  const lines = replies.flatMap((reply, at) => linesOf(reply, units.length > 1 ? (COLOURS[at] ?? "") : ""));
  return { runId: run_id, rank: itsRank, place, item, lines };
}

/** Numbers of eight bytes: for each variable its steps, then its values. */
function linesOf({ answer, buffer, offset }: Reply, suffix: string): Line[] {
  if (answer.type !== "net_unit_series") throw new Refusal(`The server answered with ${answer.type}.`);
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
