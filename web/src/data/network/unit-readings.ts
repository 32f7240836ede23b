/** The exact values of one unit: of the selected one, at the moment and over time, and of the one under the pointer. */
import { computed, type Signal, signal } from "@preact/signals";
import type { NetLayer } from "../../wire";
import { groupBy } from "../collections";
import { askOf, floatsOf, type Held, type ReplyOf, type Wanted } from "../requests";
import type { Source } from "../source";
import { followAsked } from "../useAsked";
import { moments, rank, runId, step } from "./moments";
import * as state from "./network-state";
import * as store from "./store";
import type { UnitPlace } from "./store";
import { exactText } from "./words";

export interface Reading {
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

const MOST_POINTS = 1024;

const lastReading = signal<Held<Reading> | null>(null);
const lastHovered = signal<Held<Reading> | null>(null);
const lastSeries = signal<Held<Line[]> | null>(null);
/** Why the selected unit has no values, and why none over time; empty where it has. */
export const readingFailure = computed(() => lastReading.value?.problem ?? "");
export const seriesFailure = computed(() => lastSeries.value?.problem ?? "");

/** The step of what is under the pointer: where time runs along a plate, that of the column. */
export const pointedStep = computed<number | null>(() => {
  const { layer, moment } = store.hovered.value ?? {};
  const steps = layer === undefined ? undefined : store.raster.value?.get(layer)?.steps;
  return moment === undefined || steps === undefined ? step.value : (steps[moment] ?? null);
});

/** Of the selected unit. Those of the moment before stay until the next have come. */
export const selectedReading = computed(() => ofUnit(lastReading.value, store.selected.value));
export const hoveredReading = computed(() => {
  const reading = ofUnit(lastHovered.value, store.hovered.value);
  // Under the pointer stands what is drawn: a value of another moment would be a wrong one.
  return reading?.step === pointedStep.value ? reading : null;
});
export const unitSeries = computed(() => ofUnit(lastSeries.value, store.selected.value));

/** Null where it is of another unit, item or network. */
function ofUnit<One>(held: Held<One> | null, place: UnitPlace | null): One | null {
  return held !== null && place !== null && held.key.startsWith(nameOf(place)) ? held.value : null;
}

function nameOf({ layer, unit }: UnitPlace): string {
  return [runId.value, rank.value, store.item.value, unit, layer, ""].join("\n");
}

interface Wish {
  readonly key: string;
  /** A question for each of its units: three where it is a place of a colour picture. */
  readonly asked: readonly { run_id: string; rank: number; layer: string; item: number; unit: number }[];
  readonly step: number;
  /** Changes where it is to be asked for once more. */
  readonly version: string;
}

export function followUnits(source: Source): () => void {
  const read = (wish: Wish): Promise<Reading> => askReading(source, wish);
  const stops = [
    followWish(() => wishOf(store.selected.value, step.value), read, lastReading),
    followWish(() => wishOf(store.hovered.value, pointedStep.value), read, lastHovered),
    followWish(wishOfSeries, (wish) => askSeries(source, wish), lastSeries),
  ];
  return () => stops.forEach((stop) => stop());
}

function wishOf(place: UnitPlace | null, now: number | null, version = ""): Wish | null {
  const layer = state.layerOf(place?.layer);
  if (place === null || layer === null || now === null || place.unit >= layer.grid.num_units) return null;
  const net = { run_id: runId.value, rank: rank.value, layer: layer.name, item: store.item.value };
  const asked = unitsOf(layer, place.unit).map((unit) => ({ ...net, unit }));
  return { key: `${nameOf(place)}${now}`, asked, step: now, version };
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

function followWish<One>(wish: () => Wish | null, ask: (wish: Wish) => Promise<One>, into: Signal<Held<One> | null>): () => void {
  const wanted = (): Wanted<One> | null => {
    const now = wish();
    return now === null ? null : { ...now, ask: () => ask(now) };
  };
  const stop = followAsked(wanted, (held) => (into.value = held));
  return () => {
    stop();
    into.value = null;
  };
}

async function askReading(source: Source, wish: Wish): Promise<Reading> {
  const questions = wish.asked.map((one) => ({ ...one, type: "net_unit", step: wish.step }) as const);
  const replies = await Promise.all(questions.map((one) => askOf(one, "net_unit", source)));
  const all = groupBy(replies.flatMap(({ answer }) => Object.entries(answer.values)), ([name]) => name);
  const values = [...all].map(([name, its]) => [name, its.map(([, value]) => exactText(value)).join(", ")] as const);
  return { step: wish.step, values, steps: new Map(replies.flatMap(({ answer }) => Object.entries(answer.steps))) };
}

const COLOURS = [" red", " green", " blue"];

async function askSeries(source: Source, { asked }: Wish): Promise<Line[]> {
  const whole = { type: "net_unit_series", low: null, high: null, most: MOST_POINTS } as const;
  const replies = await Promise.all(asked.map((one) => askOf({ ...one, ...whole }, "net_unit_series", source)));
  return replies.flatMap((reply, at) => linesOf(reply, asked.length > 1 ? COLOURS[at]! : ""));
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
