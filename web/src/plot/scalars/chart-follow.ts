/** Keep what a chart draws up to date with its data, the options and the runs that it is of. */
import { effect, type ReadonlySignal, signal, type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { index, seriesKey, seriesOf } from "../../data/runs";
import type { SeriesWanted } from "../../wire";
import type { Chart } from "./grouping";
import { buildModel, type ChartRun, type Last, type Model, type Sources } from "./model";
import { options } from "./options";
import { type Feeds, feeds, hasPart } from "./series-feed";
import { chartRuns } from "./state";

/** What charts are of. */
export interface Subject {
  readonly runs: ReadonlySignal<readonly ChartRun[]>;
  /** Steps in an epoch, to label the axis with; null where that is not known or not wanted. */
  readonly perEpoch: ReadonlySignal<number | null>;
  /** May a run have a scalar? What it has not is not asked for. */
  has(runId: string, name: string): boolean;
  /** The last point of a series, of which a bucket tells only a mean. */
  last(runId: string, name: string, fed: Fed): Last | null;
}

/** The runs that are chosen in the list of runs, as their index says. */
const CHOSEN: Subject = {
  runs: chartRuns,
  perEpoch: signal(null),
  has: (runId, name) => seriesOf(runId, "scalar", name) !== undefined,
  last: lastInIndex,
};

const PATIENCE_MS = 400;

/** Until the function that is returned is called. */
export function followChart(
  chart: Chart,
  isEnlarged: boolean,
  model: Signal<Model | null>,
  subject: Subject = CHOSEN,
): () => void {
  const all = feeds.peek();
  if (all === null) return () => undefined;
  let [wish, runs] = [{ ...options.peek(), perEpoch: subject.perEpoch.peek() }, subject.runs.peek()];
  const lookup = (runId: string, name: string): Sources | null => {
    const fed = feed.lookup(runId, name);
    return fed === null ? null : { ...fed, last: subject.last(runId, name, fed) };
  };
  let builtAt = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const rebuild = (): void => {
    clearTimeout(timer);
    timer = undefined;
    builtAt = performance.now();
    model.value = buildModel(chart, runs, lookup, wish);
  };
  // As long as more lines are about to come, it is drawn now and then and not with each of them.
  const hear = (): void => {
    if (feed.isComplete) inNextFrame(rebuild);
    else timer ??= setTimeout(() => inNextFrame(rebuild), Math.max(0, builtAt + PATIENCE_MS - performance.now()));
  };
  const feed = new ChartFeed(all, hear);
  let before = "";
  const stopWanting = effect(() => {
    const finer = hasPart(options.value) ? "part" : isEnlarged ? "large" : null;
    const wanted = wantedBy(chart, subject);
    const now = JSON.stringify([finer, wanted]);
    // Where the last value is in a bucket, only the index has it.
    if (now === before && !model.peek()?.lines.some(({ curve }) => curve.hasBuckets)) return;
    if (now !== before) feed.want(wanted, finer);
    before = now;
    hear();
  });
  const stopLooking = effect(() => {
    wish = { ...options.value, perEpoch: subject.perEpoch.value };
    runs = subject.runs.value;
    inNextFrame(rebuild);
  });
  return () => {
    stopWanting();
    stopLooking();
    feed.stop();
    clearTimeout(timer);
    forgetFrame(rebuild);
  };
}

function lastInIndex(runId: string, name: string): Last | null {
  const listing = index.peek().get(runId)?.get(seriesKey("scalar", name));
  if (listing === undefined) return null;
  // Numbers that are not finite do not come through as such.
  return { step: listing.last_step, time: listing.last_time, value: listing.last_value ?? NaN };
}

/** The series of a chart that its runs have. */
function wantedBy(chart: Chart, subject: Subject): SeriesWanted[] {
  return subject.runs.value.flatMap(({ id }) =>
    chart.members
      .filter(({ name }) => subject.has(id, name))
      .map(({ name }) => ({ run_id: id, name })),
  );
}

// --- The data of one chart: what it follows changes with the runs, the zoom and its size.

/** What the feeds know of a series. */
type Fed = Omit<Sources, "last">;

/** Which feed has the finer grain, if any is needed. */
type Finer = "part" | "large" | null;

class ChartFeed {
  readonly #feeds: Feeds;
  readonly #hear: () => void;
  #wanted: readonly SeriesWanted[] = [];
  #names = new Set<string>();
  #finer: Finer = null;
  #followed = "";
  #stopWhole = (): void => undefined;
  #stopFiner = (): void => undefined;

  constructor(feeds: Feeds, hear: () => void) {
    this.#feeds = feeds;
    this.#hear = hear;
  }

  want(wanted: readonly SeriesWanted[], finer: Finer): void {
    const stopBefore = this.#stopWhole;
    this.#wanted = wanted;
    this.#names = new Set(wanted.map(({ run_id, name }) => `${run_id}\n${name}`));
    this.#finer = finer;
    this.#stopWhole = this.#feeds.whole.use(wanted, this.#take);
    // The new before the old: what both want goes on without a break.
    stopBefore();
    this.#followFiner();
  }

  /** Null for what the chart does not want. */
  lookup = (runId: string, name: string): Fed | null => {
    if (!this.#names.has(`${runId}\n${name}`)) return null;
    const whole = this.#feeds.whole.known(runId, name);
    const finer = this.#finer === null ? undefined : this.#feeds[this.#finer].known(runId, name);
    return {
      whole: whole?.data ?? null,
      finer: finer?.data ?? null,
      isAnswered: whole?.isAnswered ?? false,
      refusal: whole?.refusal ?? "",
    };
  };

  /** Is there something of all that it wants? */
  get isComplete(): boolean {
    return this.#wanted.every(({ run_id, name }) => {
      const known = this.#feeds.whole.known(run_id, name);
      return known !== undefined && (known.data.numPoints > 0 || known.refusal !== "");
    });
  }

  stop(): void {
    this.#stopWhole();
    this.#stopFiner();
  }

  readonly #take = (): void => {
    this.#followFiner();
    this.#hear();
  };

  /** Only what came in buckets can be had in finer grain. */
  #followFiner(): void {
    const { whole } = this.#feeds;
    const coarse = this.#wanted.filter(({ run_id, name }) => whole.known(run_id, name)?.data.hasBuckets);
    const followed = this.#finer === null ? "" : JSON.stringify([this.#finer, coarse]);
    if (followed === this.#followed) return;
    this.#followed = followed;
    const stopBefore = this.#stopFiner;
    this.#stopFiner =
      this.#finer === null || coarse.length === 0
        ? (): void => undefined
        : this.#feeds[this.#finer].use(coarse, this.#hear);
    stopBefore();
  }
}

// --- What a chart draws, built anew in the next frame whenever its data or the options change.

/** Null until the first frame. */
export function useChartModel(chart: Chart, isEnlarged: boolean, subject?: Subject): ReadonlySignal<Model | null> {
  const model = useSignal<Model | null>(null);
  useEffect(() => followChart(chart, isEnlarged, model, subject), [chart, isEnlarged]);
  return model;
}

// --- Work that may wait for the next frame of the screen: each piece once, and never so much that a frame is
//   late.

type Task = () => void;

/** A frame has 16 ms. What is drawn costs the browser as much again, after the task is done. */
const BUDGET_MS = 6;
const MAX_TASKS = 4;

const waiting = new Set<Task>();
const urgent = new Set<Task>();
let isAsked = false;

/** Run a task in one of the next frames, once however often it is asked for. */
function inNextFrame(task: Task): void {
  waiting.add(task);
  ask();
}

/** The same for what follows the pointer: before all others, and in the very next frame. */
export function atNextFrame(task: Task): void {
  urgent.add(task);
  ask();
}

function forgetFrame(task: Task): void {
  waiting.delete(task);
  urgent.delete(task);
}

function ask(): void {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(run);
}

function run(): void {
  isAsked = false;
  const end = performance.now() + BUDGET_MS;
  for (const task of urgent) {
    urgent.delete(task);
    task();
  }
  let numDone = 0;
  for (const task of waiting) {
    waiting.delete(task);
    task();
    numDone += 1;
    if (numDone >= MAX_TASKS || performance.now() > end) break;
  }
  if (waiting.size + urgent.size > 0) ask();
}
