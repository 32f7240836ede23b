/** The moments at which layers were recorded: all of them, which is shown, and the way to another. */
import { computed, signal } from "@preact/signals";
import { param, setParams } from "../route";
import { isConnected } from "../runs/states";
import type { Moment } from "../tensors/timing";
import type { NetMomentsAnswer } from "../wire";
import { givenRun, rank, runId } from "./netrun";

export interface Range {
  readonly low: number;
  readonly high: number;
}

export interface MomentList {
  readonly runId: string;
  readonly rank: number;
  /** In the order of their steps. */
  readonly moments: readonly Moment[];
  /** A text for each moment, by the name of the counter. */
  readonly counters: ReadonlyMap<string, readonly string[]>;
  /** By variable: of all values that it ever had. */
  readonly ranges: ReadonlyMap<string, Range>;
  readonly isRunning: boolean;
}

export type MomentNews = Omit<NetMomentsAnswer, "type" | "id">;

const NONE: readonly Moment[] = [];
const NOTHING = { moments: NONE, counters: new Map<string, readonly string[]>(), ranges: new Map<string, Range>() };

/** What is known after news has come. A moment that comes again takes the place of what it was. */
export function withNews(before: MomentList | null, place: { runId: string; rank: number }, news: MomentNews): MomentList {
  const known: Pick<MomentList, "moments" | "counters" | "ranges"> = (news.is_all ? null : before) ?? NOTHING;
  const ranges = new Map(known.ranges);
  for (const { variable, low, high } of news.ranges) ranges.set(variable, { low, high });
  const added = news.steps.map((step, at): Moment => ({ step, time: news.times[at] ?? 0 }));
  const all = [...known.moments, ...added];
  // Nearly always what is new comes last.
  const order = isRising(known.moments.at(-1)?.step, news.steps) ? null : orderOf(all);
  const counters = new Map<string, readonly string[]>();
  for (const name of new Set([...known.counters.keys(), ...Object.keys(news.counters)])) {
    const old = known.counters.get(name) ?? known.moments.map(() => "");
    const texts = [...old, ...added.map((_, at) => news.counters[name]?.[at] ?? "")];
    counters.set(name, order === null ? texts : order.map((at) => texts[at]!));
  }
  const moments = order === null ? all : order.map((at) => all[at]!);
  return { ...place, moments, counters, ranges, isRunning: news.is_running };
}

function isRising(last: number | undefined, steps: readonly number[]): boolean {
  return steps.every((step, at) => step > (at === 0 ? (last ?? -Infinity) : steps[at - 1]!));
}

/** By step; of several with one step only the last that came. */
function orderOf(all: readonly Moment[]): number[] {
  const byStep = new Map(all.map(({ step }, at) => [step, at]));
  return [...byStep.values()].sort((a, b) => all[a]!.step - all[b]!.step);
}

/** Does it begin with all that the other one has? Then nothing that was seen has changed. */
export function continues(list: MomentList, before: MomentList | null): boolean {
  if (before?.runId !== list.runId || before.rank !== list.rank) return false;
  if (before.moments.length > list.moments.length) return false;
  return before.moments.every(({ step, time }, at) => list.moments[at]!.step === step && list.moments[at]!.time === time);
}

/** Which moment is nearest to a step; -1 where there are none. */
export function nearestMoment(moments: readonly Moment[], step: number): number {
  let [low, high] = [0, moments.length - 1];
  if (high < 0) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle]!.step < step) low = middle + 1;
    else high = middle;
  }
  const isBeforeNearer = low > 0 && step - moments[low - 1]!.step <= moments[low]!.step - step;
  return isBeforeNearer ? low - 1 : low;
}

// --- what is known, and what is shown -------------------------------------------------------------

export const lastList = signal<MomentList | null>(null);

/** Of the run that is shown; null until it has said so. */
export const list = computed<MomentList | null>(() => {
  const known = lastList.value;
  return known !== null && known.runId === runId.value && known.rank === rank.value ? known : null;
});

export const moments = computed<readonly Moment[]>(() => list.value?.moments ?? NONE);

/** Null follows the last one. */
export const wantedStep = computed<number | null>(() => {
  const text = givenRun.value === null ? param("step") : "";
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
});

export const at = computed<number>(() =>
  wantedStep.value === null ? moments.value.length - 1 : nearestMoment(moments.value, wantedStep.value),
);

/** Null where nothing was recorded. */
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

/** The counters of a moment with their texts, those without a text left out. */
export const countersNow = computed<readonly (readonly [name: string, text: string])[]>(() => {
  const found: [string, string][] = [];
  for (const [name, texts] of list.value?.counters ?? []) {
    const text = texts[at.value] ?? "";
    if (text !== "") found.push([name, text]);
  }
  return found;
});
