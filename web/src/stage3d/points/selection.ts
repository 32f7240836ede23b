/** What can be done with points: choose, add, isolate, save, take along. */
import { batch } from "@preact/signals";
import { recall, remember } from "../../data/remembered";
import { setParams } from "../../data/route";
import { fileName, save, toCsv } from "../../data/save-file";
import * as store from "./store";

export function select(points: readonly number[]): void {
  store.selected.value = [...new Set(points)].sort((a, b) => a - b);
}

export function addToSelection(points: readonly number[]): void {
  select([...store.selected.peek(), ...points]);
}

export function toggleSelected(point: number): void {
  const now = store.selected.peek();
  select(now.includes(point) ? now.filter((one) => one !== point) : [...now, point]);
}

/** With its embedding: another one has other points. */
export function look(point: number | null): void {
  const here = store.loaded.peek();
  if (point === null || here === null) setParams({ point: null });
  else setParams({ embedding: here.place.name, run: here.place.runId, point: String(point) });
}

/** First the point, then the selection. False where nothing was chosen. */
export function clearChoice(): boolean {
  if (store.focus.peek() !== null) {
    look(null);
    return true;
  }
  if (store.selected.peek().length === 0) return false;
  batch(() => {
    store.selected.value = [];
    store.selectionNote.value = "";
    setParams({ selection: null });
  });
  return true;
}

/** Show only the points of one kind; together with others where it is added; all of them the second time. */
export function isolateName(name: string, isAdded: boolean): void {
  const now = store.isolatedNames.peek();
  const next = new Set(isAdded ? now : []);
  if (now.has(name) && (isAdded || now.size === 1)) next.delete(name);
  else next.add(name);
  store.isolatedNames.value = next;
}

export function showAll(): void {
  batch(() => {
    store.isolated.value = null;
    store.isolatedNames.value = new Set();
  });
}

/** A sentence where it could not be kept; empty where it was. */
export function saveSelection(name: string): string {
  return changeSaved((saved) => saved.set(name.trim(), store.selected.peek()), name.trim());
}

export function forgetSelection(name: string): void {
  changeSaved((saved) => saved.delete(name), null);
}

function changeSaved(change: (saved: Map<string, readonly number[]>) => unknown, shown: string | null): string {
  const next = new Map(store.saved.peek());
  change(next);
  const fault = keepSelections(store.keyOf(store.loaded.peek()!.place), next);
  if (fault !== "") return fault;
  store.saved.value = next;
  setParams({ selection: shown });
  return "";
}

export function downloadPoints(points: readonly number[]): void {
  const [{ place, record, step, embedding }, found] = [store.loaded.peek()!, store.coordinates.peek()];
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

/** As Python writes a list. */
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
