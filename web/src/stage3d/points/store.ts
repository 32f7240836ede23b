/** What the projector shows: which embedding, at which step, on which axes, coloured by what, and what is chosen. */
import { batch, computed, signal } from "@preact/signals";
import { inAddress } from "../../data/address-choice";
import type { RecordList } from "../../data/record-list";
import { recall, remember } from "../../data/remembered";
import { param, setParams } from "../../data/route";
import * as runs from "../../data/runs";
import { fileName, save, toCsv } from "../../data/save-file";
import type { Asked } from "../../data/source";
import { nearestAt } from "../../data/time-steps";
import type { RecordListing, ReduceQuestion } from "../../wire";
import { type Colouring, colouringOf } from "./colours";
import type { Column, Embedding } from "./embedding";

export type Method = "pca" | "tsne" | "umap";
export type SpriteMode = "auto" | "on" | "off";
export const METHODS: readonly (readonly [Method, string])[] = [
  ["pca", "PCA"],
  ["tsne", "t-SNE"],
  ["umap", "UMAP"],
];

export function titleOf(method: Method): string {
  return METHODS.find(([name]) => name === method)![1];
}

export interface EmbeddingPlace {
  readonly runId: string;
  readonly runName: string;
  readonly name: string;
}

export type Reducing = Omit<ReduceQuestion, "type" | "id" | "run_id" | "record" | "axes_of">;

export interface Loaded {
  readonly place: EmbeddingPlace;
  readonly record: string;
  /** Null where there are no steps: points of stored features. */
  readonly step: number | null;
  /** How the server is asked for fewer dimensions; without it, as of a record of a run. */
  readonly reduceAs?: (how: Reducing) => Asked;
  readonly embedding: Embedding;
}

export interface Coordinates {
  readonly record: string;
  readonly method: Method;
  readonly values: Float32Array;
  readonly perPoint: number;
  /** Of PCA: the share of the variance of each axis. */
  readonly shares: readonly number[];
  readonly note: string;
}

export type Progress =
  | { readonly state: "working"; readonly what: string; readonly share: number; readonly cancel: (() => void) | null }
  | { readonly state: "failed"; readonly what: string; readonly reason: string };

export function keyOf(place: EmbeddingPlace): string {
  return `${place.runId} ${place.name}`;
}

export const places = computed<readonly EmbeddingPlace[]>(() =>
  runs.namesOf("embedding").flatMap((name) => {
    const having = runs.chosen.value.filter(({ id }) => runs.seriesOf(id, "embedding", name) !== undefined);
    return having.map(({ id, name: runName }) => ({ runId: id, runName, name }));
  }),
);

export const place = computed<EmbeddingPlace | null>(() => {
  const [name, runId] = [param("embedding"), param("run")];
  const named = places.value.filter((one) => name === "" || one.name === name);
  return named.find((one) => one.runId === runId) ?? named[0] ?? places.value[0] ?? null;
});

export const list = signal<RecordList | null>(null);
/** The records of the embedding that is wanted, in the order of their steps; none while those of another are here. */
export const records = computed<readonly RecordListing[]>(() => {
  const [here, now] = [list.value, place.value];
  return now !== null && here?.place.runId === now.runId && here.place.name === now.name ? here.records : [];
});
export const loaded = signal<Loaded | null>(null);
/** Why what is wanted is not here. */
export const failure = signal<{ readonly what: string; readonly reason: string } | null>(null);
export const reducing = signal<Progress | null>(null);
export const coordinates = signal<Coordinates | null>(null);

/** Null follows the last one. */
export const wantedStep = computed<number | null>(() => {
  const text = param("step");
  return /^-?\d+$/.test(text) ? Number(text) : null;
});

export const recordAt = computed<number>(() => {
  const step = wantedStep.value;
  return step === null ? records.value.length - 1 : nearestAt(records.value, step);
});

/** A number of the address, within limits; null where there is none. */
function numberIn(name: string, least: number, most: number): number | null {
  const number = Number(param(name));
  return Number.isFinite(number) && number >= least ? Math.min(number, most) : null;
}

export const method = inAddress("method", METHODS);
export const dims = inAddress("dims", [["2", "2D", "2 dimensions (2)"], ["3", "3D", "3 dimensions (3)"]], "3");
export const metric = inAddress("metric", [["euclidean", "Euclid"], ["cosine", "Cosine"]]);
export const neighbourhood = computed(() => numberIn("near", 2, 1000) ?? (method.chosen === "umap" ? 15 : 30));
export const holdAxes = signal(false);
export const spriteMode = signal<SpriteMode>("auto");
export const isTable = signal(false);
export const isTurning = signal(false);
/** With what points are selected. */
export const shape = signal<"box" | "lasso">("box");

export const axes = computed<readonly number[]>(() => {
  const known = coordinates.value?.perPoint ?? 3;
  const wanted = param("axes").split(",").map(Number);
  const isPca = coordinates.value?.method === "pca";
  return Array.from({ length: Number(dims.chosen) }, (_, at) => {
    const axis = isPca && param("axes") !== "" ? wanted[at] : at;
    return axis !== undefined && Number.isInteger(axis) && axis >= 0 && axis < known ? axis : at;
  });
});

export const drawn = computed<Float32Array | null>(() => {
  const [here, found] = [loaded.value, coordinates.value];
  if (here === null || found?.record !== here.record) return null;
  return fitPlaces(found.values, found.perPoint, axes.value, here.embedding.hasPlace);
});

export const columns = computed<readonly Column[]>(() => loaded.value?.embedding.columns ?? []);

/** The column that the address names; without a name the first that tells kinds apart, or the first of all. */
export const colourColumn = computed<string | null>(() => {
  const wanted = param("colour");
  if (wanted === "-") return null;
  const found = columns.value.find(({ name }) => name === wanted);
  if (found !== undefined) return found.name;
  return columns.value.find(({ values }) => new Set(values).size <= Math.max(2, values.length / 4))?.name ?? null;
});

export const labelColumn = computed<string | null>(() => {
  const wanted = param("label");
  if (wanted === "-") return null;
  return columns.value.find(({ name }) => name === wanted)?.name ?? columns.value[0]?.name ?? null;
});

export function valuesOfColumn(name: string | null): readonly string[] | null {
  return columns.value.find((column) => column.name === name)?.values ?? null;
}

export const colouring = computed<Colouring>(() => colouringOf(valuesOfColumn(colourColumn.value)));

export function labelOf(point: number): string {
  return valuesOfColumn(labelColumn.value)?.[point] ?? `point ${point}`;
}

/** Where from it is looked at, as the address says it. */
export const cameraText = computed<string>(() => param("cam"));

// --- what is chosen ---

/** In rising order. */
export const selected = signal<readonly number[]>([]);
/** The point whose neighbours are looked at: the address names it, for the embedding of one run. */
export const focus = computed<number | null>(() => {
  const [text, run, name] = [param("point"), param("run"), param("embedding")];
  const here = loaded.value;
  if (here === null || !/^\d+$/.test(text)) return null;
  const isHere = (run === "" || run === here.place.runId) && (name === "" || name === here.place.name);
  return isHere && Number(text) < here.embedding.numPoints ? Number(text) : null;
});
export const hovered = signal<number | null>(null);
/** Only these are shown; null shows all. */
export const isolated = signal<readonly number[] | null>(null);
/** Only points of these kinds are shown; an empty set shows all. */
export const isolatedNames = signal<ReadonlySet<string>>(new Set());
export const numNeighbours = computed(() => numberIn("k", 1, 200) ?? 10);

export const neighbours = computed<readonly Neighbour[]>(() => {
  const [here, point] = [loaded.value, focus.value];
  if (here === null || point === null) return [];
  const { matrix, numDims, hasPlace } = here.embedding;
  return nearestTo(matrix, numDims, hasPlace, point, numNeighbours.value, metric.chosen);
});

export const shown = computed<Int32Array>(() => {
  const here = loaded.value;
  if (here === null) return new Int32Array(0);
  const { hasPlace, numPoints } = here.embedding;
  const kinds = colouring.value;
  const names = isolatedNames.value;
  const within = isolated.value === null ? null : new Set(isolated.value);
  const wanted = kinds.kind === "categories" && names.size > 0 ? kinds.names.map((name) => names.has(name)) : null;
  const points: number[] = [];
  for (let point = 0; point < numPoints; point++) {
    if (hasPlace[point] !== 1 || within?.has(point) === false) continue;
    if (wanted !== null && kinds.kind === "categories" && !wanted[kinds.of[point]!]!) continue;
    points.push(point);
  }
  return Int32Array.from(points);
});

/** Selections with names, of the embedding that is shown. */
export const saved = signal<Selections>(new Map());

/** What was asked for by the address and is not there. */
export const selectionNote = signal("");

export function choosePlace(next: EmbeddingPlace): void {
  setParams({ embedding: next.name, run: next.runId, step: null, selection: null, point: null });
}

/** How far out the drawing reaches: all but the last of many points. */
const REACH = 0.995;

/** Three numbers for each point. Points that have no place are drawn nowhere. */
export function fitPlaces(
  coordinates: Float32Array,
  perPoint: number,
  axes: readonly number[],
  hasPlace: Uint8Array,
): Float32Array {
  const numPoints = hasPlace.length;
  const places = new Float32Array(numPoints * 3);
  const middle = axes.map((axis) => middleOf(coordinates, perPoint, axis, hasPlace));
  const lengths = new Float32Array(numPoints);
  for (let point = 0; point < numPoints; point++) {
    let square = 0;
    for (const [at, axis] of axes.entries()) {
      const value = axis < perPoint ? coordinates[point * perPoint + axis]! - middle[at]! : 0;
      places[point * 3 + at] = value;
      square += value * value;
    }
    lengths[point] = hasPlace[point] === 1 ? Math.sqrt(square) : 0;
  }
  const far = lengths.sort()[Math.min(numPoints - 1, Math.floor(numPoints * REACH))] ?? 0;
  const scale = far > 0 ? 1 / far : 1;
  for (let at = 0; at < places.length; at++) places[at]! *= scale;
  return places;
}

function middleOf(coordinates: Float32Array, perPoint: number, axis: number, hasPlace: Uint8Array): number {
  if (axis >= perPoint) return 0;
  let [sum, count] = [0, 0];
  for (let point = 0; point < hasPlace.length; point++) {
    if (hasPlace[point] !== 1) continue;
    sum += coordinates[point * perPoint + axis]!;
    count += 1;
  }
  return count === 0 ? 0 : sum / count;
}

// --- The points nearest to a point in the space they were given in: exact, by measuring all of them.

export type Metric = "cosine" | "euclidean";

interface Neighbour {
  readonly point: number;
  readonly distance: number;
}

/** Nearest first; where two are as near, the one that comes first in the list. */
export function nearestTo(
  matrix: Float32Array,
  numDims: number,
  hasPlace: Uint8Array,
  point: number,
  count: number,
  metric: Metric,
): Neighbour[] {
  if (hasPlace[point] !== 1) return [];
  const from = matrix.subarray(point * numDims, (point + 1) * numDims);
  const measure = metric === "cosine" ? cosineTo(from) : squareTo(from);
  const found: Neighbour[] = [];
  for (let other = 0; other < hasPlace.length; other++) {
    if (other === point || hasPlace[other] !== 1) continue;
    const distance = measure(matrix, other * numDims);
    if (found.length >= count && distance >= found[found.length - 1]!.distance) continue;
    const at = found.findLastIndex((one) => one.distance <= distance) + 1;
    found.splice(at, 0, { point: other, distance });
    if (found.length > count) found.pop();
  }
  if (metric === "cosine") return found;
  return found.map((one) => ({ point: one.point, distance: Math.sqrt(one.distance) }));
}

type Measure = (matrix: Float32Array, start: number) => number;

function squareTo(from: Float32Array): Measure {
  return (matrix, start) => {
    let sum = 0;
    for (let dim = 0; dim < from.length; dim++) {
      const part = matrix[start + dim]! - from[dim]!;
      sum += part * part;
    }
    return sum;
  };
}

/** One minus the cosine. A point at the origin has no direction: it is as far as one at a right angle. */
function cosineTo(from: Float32Array): Measure {
  const length = Math.sqrt(from.reduce((sum, part) => sum + part * part, 0));
  return (matrix, start) => {
    let [along, square] = [0, 0];
    for (let dim = 0; dim < from.length; dim++) {
      const part = matrix[start + dim]!;
      along += part * from[dim]!;
      square += part * part;
    }
    const both = length * Math.sqrt(square);
    return both === 0 ? 1 : Math.max(0, 1 - along / both);
  };
}

// --- What can be done with points: choose, add, isolate, save, take along.

export function select(points: readonly number[]): void {
  selected.value = [...new Set(points)].sort((a, b) => a - b);
}

export function addToSelection(points: readonly number[]): void {
  select([...selected.peek(), ...points]);
}

export function toggleSelected(point: number): void {
  const now = selected.peek();
  select(now.includes(point) ? now.filter((one) => one !== point) : [...now, point]);
}

/** With its embedding: another one has other points. */
export function look(point: number | null): void {
  const here = loaded.peek();
  if (point === null || here === null) setParams({ point: null });
  else setParams({ embedding: here.place.name, run: here.place.runId, point: String(point) });
}

/** First the point, then the selection. False where nothing was chosen. */
export function clearChoice(): boolean {
  if (focus.peek() !== null) {
    look(null);
    return true;
  }
  if (selected.peek().length === 0) return false;
  batch(() => {
    selected.value = [];
    selectionNote.value = "";
    setParams({ selection: null });
  });
  return true;
}

/** Show only the points of one kind; together with others where it is added; all of them the second time. */
export function isolateName(name: string, isAdded: boolean): void {
  const now = isolatedNames.peek();
  const next = new Set(isAdded ? now : []);
  if (now.has(name) && (isAdded || now.size === 1)) next.delete(name);
  else next.add(name);
  isolatedNames.value = next;
}

export function showAll(): void {
  batch(() => {
    isolated.value = null;
    isolatedNames.value = new Set();
  });
}

/** A sentence where it could not be kept; empty where it was. */
export function saveSelection(name: string): string {
  return changeSaved((saved) => saved.set(name.trim(), selected.peek()), name.trim());
}

export function forgetSelection(name: string): void {
  changeSaved((saved) => saved.delete(name), null);
}

function changeSaved(change: (saved: Map<string, readonly number[]>) => unknown, shown: string | null): string {
  const next = new Map(saved.peek());
  change(next);
  const fault = keepSelections(keyOf(loaded.peek()!.place), next);
  if (fault !== "") return fault;
  saved.value = next;
  setParams({ selection: shown });
  return "";
}

/** As a file with index, labels and coordinates. */
export function downloadPoints(points: readonly number[]): void {
  const [{ place, record, step, embedding }, found] = [loaded.peek()!, coordinates.peek()];
  const { columns } = embedding;
  const axes = found?.record === record ? [...Array(found.perPoint).keys()] : [];
  const header = ["index", ...columns.map(({ name }) => name), ...axes.map((axis) => `${found!.method}_${axis + 1}`)];
  const rows = points.map((point) => [
    point,
    ...columns.map(({ values }) => values[point]!),
    ...axes.map((axis) => found!.values[point * axes.length + axis]!),
  ]);
  save(fileName([place.name, ...(step === null ? [] : ["step", step])], "csv"), toCsv([header, ...rows]), "text/csv");
}

export function indicesText(points: readonly number[]): string {
  return `[${points.join(", ")}]`;
}

// --- Selections that were given a name: remembered by the browser, for each embedding its own.

export type Selections = ReadonlyMap<string, readonly number[]>;

/** Browsers remember some five million characters for a page in all. */
const MOST_CHARACTERS = 500_000;

export function recallSelections(embedding: string): Selections {
  try {
    const pairs = JSON.parse(recall(memoryOf(embedding)) ?? "[]") as [name: string, ranges: string][];
    return new Map(pairs.map(([name, ranges]) => [name, readRanges(ranges)]));
  } catch {
    // What cannot be read is not there.
    return new Map();
  }
}

/** A sentence where they are too many to remember; empty where all is well. */
function keepSelections(embedding: string, selections: Selections): string {
  const text = JSON.stringify([...selections].map(([name, points]) => [name, writeRanges(points)]));
  if (text.length > MOST_CHARACTERS) return "Too many points to remember: download them instead.";
  remember(memoryOf(embedding), text);
  return "";
}

function memoryOf(embedding: string): string {
  return `selections ${embedding}`;
}

/** Rising numbers as `0-5,7,9-12`. */
export function writeRanges(points: readonly number[]): string {
  const sorted = [...new Set(points)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; at++) {
    const first = sorted[at]!;
    while (sorted[at + 1] === sorted[at]! + 1) at++;
    parts.push(sorted[at] === first ? String(first) : `${first}-${sorted[at]!}`);
  }
  return parts.join(",");
}

const MOST_POINTS = 10_000_000;

export function readRanges(text: string): number[] {
  const points: number[] = [];
  for (const part of text.split(",")) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (range === null) continue;
    const [first, last] = [Number(range[1]), Number(range[2] ?? range[1])];
    for (let point = first; point <= last && points.length < MOST_POINTS; point++) points.push(point);
  }
  return points;
}
