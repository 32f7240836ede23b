/** The moments at which layers were recorded: all of them, which is shown, and the way to another. */
import { batch, computed, signal } from "@preact/signals";
import type { NetMomentsAnswer, RecordKind, RunListing } from "../../wire";
import { isConnected } from "../connection";
import { param, route, setParams } from "../route";
import * as runs from "../runs";
import { type Moment, nearestAt } from "../time-steps";

export interface Range {
  readonly low: number;
  readonly high: number;
}

type Counters = readonly (readonly [name: string, text: string])[];

interface CountedMoment extends Moment {
  readonly counters: Counters;
}

export interface MomentList {
  readonly runId: string;
  readonly rank: number;
  /** In the order of their steps. */
  readonly moments: readonly CountedMoment[];
  /** By variable: of all values that it ever had. */
  readonly ranges: ReadonlyMap<string, Range>;
  readonly isRunning: boolean;
}

/** What is known after news has come: moments after those that are known, or all of them anew. */
export function withNews(before: MomentList | null, place: { runId: string; rank: number }, news: NetMomentsAnswer): MomentList {
  const known = news.is_all ? null : before;
  const ranges = new Map(known?.ranges);
  for (const { variable, low, high } of news.ranges) ranges.set(variable, { low, high });
  const texts = Object.entries(news.counters);
  const added = news.steps.map((step, at): CountedMoment => {
    const counters = texts.map(([name, all]) => [name, all[at] ?? ""] as const).filter(([, text]) => text !== "");
    return { step, time: news.times[at] ?? 0, counters };
  });
  return { ...place, moments: [...(known?.moments ?? []), ...added], ranges, isRunning: news.is_running };
}

// --- what is known, and what is shown -------------------------------------------------------------

export const lastList = signal<MomentList | null>(null);

/** Of the run that is shown; null until it has said so. */
export const list = computed<MomentList | null>(() => {
  const known = lastList.value;
  return known !== null && known.runId === runId.value && known.rank === rank.value ? known : null;
});

const NONE: readonly CountedMoment[] = [];

export const moments = computed(() => list.value?.moments ?? NONE);

/** Null follows the last one. */
export const wantedStep = computed<number | null>(() => {
  const text = givenRun.value === null ? param("step") : "";
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
});

export const at = computed<number>(() =>
  wantedStep.value === null ? moments.value.length - 1 : nearestAt(moments.value, wantedStep.value),
);

export const step = computed<number | null>(() => moments.value[at.value]?.step ?? null);

/** Without a server nothing comes that could be followed. */
export const isFollowing = computed(() => wantedStep.value === null && isConnected.value);

/** Are the values of the moment that is wanted on screen? */
export const isSettled = signal(false);

export function goTo(index: number): void {
  const moment = moments.peek()[index];
  if (moment !== undefined) setParams({ step: String(moment.step) });
}

export function follow(isOn: boolean): void {
  if (isOn) setParams({ step: null });
  else goTo(at.peek());
}

/** Of the moment that is shown, those without a text left out. */
export const countersNow = computed<Counters>(() => moments.value[at.value]?.counters ?? []);

/** The run that another page shows the network of, empty where it has none yet; null on the page NetView itself. */
export const givenRun = signal<string | null>(null);

/** On the way to another view its address has other things in it. */
export const isShown = computed(() => givenRun.value !== null || route.value.view === "netview");

/** What a network can be seen from, the best first. */
const KINDS: readonly RecordKind[] = ["netview", "moment", "watch", "tensor"];

/** What the page chose by itself and wrote into the address. */
const ownChoice = signal("");

export const run = computed<RunListing | null>(() => {
  if (givenRun.value !== null) return runs.runsById.value.get(givenRun.value) ?? null;
  const named = param("run");
  if (named !== "" && !isGivenUp(named)) return runs.runsById.value.get(named) ?? null;
  const chosen = runs.chosen.value;
  // Until all have said what they hold, nobody knows which is the one to show.
  if (!runs.isIndexed.value) return null;
  for (const kind of KINDS) {
    const found = chosen.find(({ id }) => has(id, kind));
    if (found !== undefined) return found;
  }
  return chosen[0] ?? runs.runs.value[0] ?? null;
});

/** Somebody has chosen other runs since. */
function isGivenUp(named: string): boolean {
  return named === ownChoice.value && param("runs") !== "" && !runs.isChosen(named);
}

/** Say in the address which run is shown: who opens it later sees the same one, whatever runs there are by then. */
export function nameRun(): void {
  const id = runId.peek();
  if (id === "" || id === param("run")) return;
  // Together: in between, the address would name the one before as if somebody had chosen it.
  batch(() => {
    ownChoice.value = id;
    setParams({ run: id });
  });
}

/** A run that was given may be so young that it is on no list yet. */
export const runId = computed(() => givenRun.value ?? run.value?.id ?? "");

export const rank = computed(() => {
  const text = givenRun.value === null ? param("rank") : "";
  return /^\d{1,6}$/.test(text) ? Number(text) : 0;
});

/** May there be something to see in a run? Of runs that are not among the chosen ones nobody knows. */
export function mayShow(runId: string): boolean {
  return !runs.index.value.has(runId) || KINDS.some((kind) => has(runId, kind));
}

function has(runId: string, kind: RecordKind): boolean {
  for (const series of runs.index.value.get(runId)?.values() ?? []) if (series.kind === kind) return true;
  return false;
}
