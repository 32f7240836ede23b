/** The runs of the folder, which of them are chosen, and what they hold: what all views of runs read. */
import { batch, computed, effect, signal } from "@preact/signals";
import type { IndexAnswer, RecordKind, RunListing, SeriesListing } from "../wire";
import { follow, type ReplyOf } from "./requests";
import { param, setParams } from "./route";
import { colourSlots } from "./run-colours";
import type { Source } from "./source";

/** How many runs are chosen where nobody has chosen any. */
const FIRST_CHOICE = 6;
/** More lines than anybody can tell apart; and the server answers for no more at a time. */
export const MAX_CHOSEN = 256;
/** In the place of ids in the address: none, which is not the same as nobody having chosen. */
export const NONE = "-";

export type Listing =
  /** For the server to say what there is. */
  | { readonly state: "waiting" }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "shown" };

/** The series of a run, by kind and name: see `seriesKey`. */
export type RunSeries = ReadonlyMap<string, SeriesListing>;

export const listing = signal<Listing>({ state: "waiting" });
export const folder = signal("");
/** What could not be read in the folder. */
export const folderNote = signal("");
/** Newest first. A run that has not changed is the same object as before. */
export const runs = signal<readonly RunListing[]>([]);
export const index = signal<ReadonlyMap<string, RunSeries>>(new Map());

export const runsById = computed(() => new Map(runs.value.map((run) => [run.id, run])));

/** Which runs there are, as one text, so that what hangs on it is not made anew with every point. */
const allIds = computed(() => runs.value.map((run) => run.id).join(","));

/** The ids of the runs that the address names, or the newest few. */
const wanted = computed<readonly string[]>(() => {
  const named = param("runs");
  if (named === NONE) return [];
  if (named !== "") return named.split(",").slice(0, MAX_CHOSEN);
  return allIds.value === "" ? [] : allIds.value.split(",").slice(0, FIRST_CHOICE);
});

/** The runs that are chosen and there, newest first. */
export const chosen = computed<readonly RunListing[]>(() => {
  const ids = new Set(wanted.value);
  return runs.value.filter((run) => ids.has(run.id));
});

/** Their ids, as one text with commas: it changes with the choice, and not with every point. */
export const chosenIds = computed(() => chosen.value.map((run) => run.id).join(","));

const chosenSet = computed<ReadonlySet<string>>(
  () => new Set(chosenIds.value.split(",").filter((id) => id !== "")),
);

// A colour hangs on which runs there are and which are chosen, and on nothing else of them.
const slots = computed(() => colourSlots(allIds.value === "" ? [] : runs.peek(), chosenSet.value));

/** The colour of a run as a custom property: the same in every view. */
export function colourOf(runId: string): string {
  return `var(--cat-${colourSlot(runId)})`;
}

/** The number of its colour, from 1 to 8, for those who draw. */
export function colourSlot(runId: string): number {
  return slots.value.get(runId) ?? 1;
}

export function isChosen(runId: string): boolean {
  return chosenSet.value.has(runId);
}

/** Choose a run, or no longer. The choice stands in the address. */
export function choose(runId: string, isWanted: boolean): void {
  // Not only those that are there: a run that is being moved comes back.
  const others = wanted.peek().filter((id) => id !== runId);
  chooseAll(isWanted ? [...others, runId] : others);
}

/** Choose these and no others; no more than can be shown. */
export function chooseAll(ids: readonly string[]): void {
  setParams({ runs: ids.length === 0 ? NONE : ids.slice(0, MAX_CHOSEN).join(",") });
}

export function seriesKey(kind: RecordKind, name: string): string {
  return `${kind} ${name}`;
}

export function seriesOf(runId: string, kind: RecordKind, name: string): SeriesListing | undefined {
  return index.value.get(runId)?.get(seriesKey(kind, name));
}

const inOrder = new Intl.Collator("en", { numeric: true });
const NO_NAMES: readonly string[] = [];

let namesBefore: ReadonlyMap<RecordKind, readonly string[]> = new Map();

/** Lists that are as they were stay the same objects: what hangs on them is not made anew with every point. */
const namesByKind = computed(() => {
  const found = new Map<RecordKind, Set<string>>();
  for (const id of chosenSet.value) {
    for (const { kind, name } of index.value.get(id)?.values() ?? []) {
      const names = found.get(kind);
      if (names === undefined) found.set(kind, new Set([name]));
      else names.add(name);
    }
  }
  const next = new Map<RecordKind, readonly string[]>();
  for (const [kind, names] of found) {
    const before = namesBefore.get(kind) ?? NO_NAMES;
    const isSame = before.length === names.size && before.every((name) => names.has(name));
    next.set(kind, isSame ? before : [...names].sort((a, b) => inOrder.compare(a, b)));
  }
  namesBefore = next;
  return next;
});

/** All names of one kind that the chosen runs have, in the order of the alphabet, numbers by their size. */
export function namesOf(kind: RecordKind): readonly string[] {
  return namesByKind.value.get(kind) ?? NO_NAMES;
}

/** Has the server said for every chosen run what it holds? Until then nobody can say that there is nothing. */
export const isIndexed = computed(
  () => listing.value.state !== "waiting" && chosen.value.every((run) => index.value.has(run.id)),
);

let stopAll = (): void => undefined;
const numTries = signal(0);

/** Begin to follow the runs of a source, and the series of those that are chosen. */
export function startRuns(source: Source): void {
  stopAll();
  stopAll = effect(() => {
    void numTries.value;
    if (source.hasRuns.value !== true) return undefined;
    const stops = [followRuns(source), followIndex(source)];
    return () => {
      for (const stop of stops) stop();
    };
  });
}

/** Ask again for the runs, after the folder could not be read. */
export function retry(): void {
  listing.value = { state: "waiting" };
  numTries.value += 1;
}

function followRuns(source: Source): () => void {
  return follow(source, { type: "runs" }, takeRuns, (reason) => (listing.value = { state: "failed", reason }));
}

function takeRuns({ answer }: ReplyOf<"runs">): void {
  const known = new Map(answer.is_all ? [] : runs.peek().map((run) => [run.id, run]));
  for (const run of answer.runs) known.set(run.id, run);
  for (const id of answer.gone) known.delete(id);
  batch(() => {
    runs.value = [...known.values()].sort(newestFirst);
    folder.value = answer.folder;
    folderNote.value = answer.note;
    listing.value = { state: "shown" };
    forgetGone(known);
  });
}

function newestFirst(a: RunListing, b: RunListing): number {
  return b.started - a.started || inOrder.compare(a.name, b.name) || (a.id < b.id ? -1 : 1);
}

function forgetGone(known: ReadonlyMap<string, RunListing>): void {
  const before = index.peek();
  const kept = [...before].filter(([id]) => known.has(id));
  if (kept.length < before.size) index.value = new Map(kept);
}

function followIndex(source: Source): () => void {
  return effect(() => {
    const ids = chosenIds.value;
    if (ids === "") return undefined;
    return follow(source, { type: "index", run_ids: ids.split(",").slice(0, MAX_CHOSEN) }, ({ answer }) => {
      index.value = indexWith(index.peek(), answer);
    });
  });
}

/** What is known of the series of runs, with news of some. */
export function indexWith(before: ReadonlyMap<string, RunSeries>, answer: IndexAnswer): ReadonlyMap<string, RunSeries> {
  const next = new Map(before);
  for (const { run_id, is_all, series } of answer.runs) {
    const known = new Map(is_all ? [] : next.get(run_id));
    for (const one of series) known.set(seriesKey(one.kind, one.name), one);
    next.set(run_id, known);
  }
  return next;
}
