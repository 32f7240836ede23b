/** The exact values of one unit: of the selected one, at the moment and over time, and of the one under the pointer. */
import { computed, signal } from "@preact/signals";
import type { NetLayer } from "../../wire";
import { groupBy } from "../collections";
import { askOf, floatsOf, type ReplyOf, type Wanted } from "../requests";
import type { Source } from "../source";
import { followAsked } from "../useAsked";
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
  /** Changes where it is to be asked for once more. */
  readonly version: string;
}

/** Call what it returns to stop. */
export function followUnits(source: Source): () => void {
  const read = (wish: Wish): Promise<Reading> => askReading(source, wish);
  const stops = [
    followWish(() => wishOf(store.selected.value, step.value), read, lastReading, readingFailure),
    followWish(() => wishOf(store.hovered.value, pointedStep.value), read, lastHovered, signal("")),
    followWish(wishOfSeries, (wish) => askSeries(source, wish), lastSeries, seriesFailure),
  ];
  return () => stops.forEach((stop) => stop());
}

function wishOf(place: UnitPlace | null, now: number | null, version = ""): Wish | null {
  const layer = state.layerOf(place?.layer);
  if (place === null || layer === null || now === null || place.unit >= layer.grid.num_units) return null;
  const units = unitsOf(layer, place.unit);
  return { runId: runId.value, rank: rank.value, step: now, item: store.item.value, place, units, version };
}

/** Not with every step of the slider: the line has all of them. While a training runs, it is fetched with a pause between. */
function wishOfSeries(): Wish | null {
  const count = moments.value.length;
  return wishOf(store.selected.value, count === 0 ? null : 0, String(count));
}

export function unitsOf({ grid }: Pick<NetLayer, "grid">, unit: number): number[] {
  if (!grid.is_colour) return [unit];
  const size = grid.rows * grid.columns;
  return [0, 1, 2].map((map) => map * size + (unit % size));
}

function followWish<One>(
  wish: () => Wish | null,
  ask: (wish: Wish) => Promise<One>,
  into: { value: One | null },
  failure: { value: string },
): () => void {
  const wanted = (): Wanted<One> | null => {
    const now = wish();
    if (now === null) return null;
    const key = [now.runId, now.rank, now.item, now.place.unit, now.step, now.place.layer].join(" ");
    return { key, version: now.version, ask: () => ask(now) };
  };
  const stop = followAsked(wanted, ({ value, problem }) => {
    failure.value = problem;
    if (problem === "") into.value = value;
  });
  return () => {
    stop();
    into.value = null;
  };
}

async function askReading(source: Source, wish: Wish): Promise<Reading> {
  const asked = wish.units.map((unit) => ({ ...placeOf(wish), type: "net_unit", step: wish.step, unit }) as const);
  const replies = await Promise.all(asked.map((one) => askOf(one, "net_unit", source)));
  const all = groupBy(replies.flatMap(({ answer }) => Object.entries(answer.values)), ([name]) => name);
  const values = [...all].map(([name, its]) => [name, its.map(([, value]) => exactText(value)).join(", ")] as const);
  return { ...wish, values, steps: new Map(replies.flatMap(({ answer }) => Object.entries(answer.steps))) };
}

function placeOf({ runId: run_id, rank: itsRank, place: { layer }, item }: Wish) {
  return { run_id, rank: itsRank, layer, item };
}

const COLOURS = [" red", " green", " blue"];

async function askSeries(source: Source, wish: Wish): Promise<UnitSeries> {
  const whole = { type: "net_unit_series", low: null, high: null, most: MOST_POINTS } as const;
  const asked = wish.units.map((unit) => ({ ...placeOf(wish), ...whole, unit }));
  const replies = await Promise.all(asked.map((one) => askOf(one, "net_unit_series", source)));
  const lines = replies.flatMap((reply, at) => linesOf(reply, wish.units.length > 1 ? (COLOURS[at] ?? "") : ""));
  return { ...wish, lines };
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
