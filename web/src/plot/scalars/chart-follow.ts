/** Keep what a chart draws up to date with its data, the options and the runs that it is of. */
import { effect, type ReadonlySignal, signal, type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { seriesOf } from "../../data/runs";
import type { SeriesWanted } from "../../wire";
import type { Chart } from "./grouping";
import { buildModel, type ChartRun, type Model, type Sources } from "./model";
import { options } from "./options";
import { type Feed, feeds, hasPart, keyOf } from "./series-feed";
import { chartRuns } from "./state";

/** What charts are of. */
export interface Subject {
  readonly runs: ReadonlySignal<readonly ChartRun[]>;
  /** Steps in an epoch, to label the axis with; null where that is not known or not wanted. */
  readonly perEpoch: ReadonlySignal<number | null>;
  /** May a run have a scalar? What it has not is not asked for. */
  has(runId: string, name: string): boolean;
}

/** The runs that are chosen in the list of runs, as their index says. */
const CHOSEN: Subject = {
  runs: chartRuns,
  perEpoch: signal(null),
  has: (runId, name) => seriesOf(runId, "scalar", name) !== undefined,
};

/** What a chart draws, built anew in one of the next frames whenever something changes. Null before, and without a chart. */
export function useChartModel(chart: Chart | undefined, isEnlarged: boolean, subject = CHOSEN): ReadonlySignal<Model | null> {
  const model = useSignal<Model | null>(null);
  useEffect(() => (chart === undefined ? undefined : followChart(chart, isEnlarged, model, subject)), [chart, isEnlarged]);
  return model;
}

/** As long as more lines are about to come, a chart is drawn this often and not with each of them; sooner where it is empty. */
const PATIENCE_MS = 2000;
const FIRST_PATIENCE_MS = 100;
const nothing = (): void => undefined;

function followChart(chart: Chart, isEnlarged: boolean, model: Signal<Model | null>, subject: Subject): () => void {
  const all = feeds.peek();
  if (all === null) return nothing;
  const { whole } = all;
  let wanted: readonly SeriesWanted[] = [];
  let names = new Set<string>();
  let finer: Feed | null = null;
  let [stopWhole, stopFiner] = [nothing, nothing];
  let [followed, followedFiner] = ["", ""];
  /** So many of the first series have come. */
  let numThere = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Null for what the chart does not want. */
  const lookup = (runId: string, name: string): Sources | null => {
    if (!names.has(keyOf(runId, name))) return null;
    const { data = null, isAnswered = false, refusal = "" } = whole.known(runId, name) ?? {};
    return { whole: data, finer: finer?.known(runId, name)?.data ?? null, isAnswered, refusal };
  };
  const rebuild = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const wish = { ...options.peek(), perEpoch: subject.perEpoch.peek() };
    model.value = buildModel(chart, subject.runs.peek(), lookup, wish);
  };
  const isThere = ({ run_id, name }: SeriesWanted): boolean => {
    const { data, isAnswered, refusal } = whole.known(run_id, name)!;
    // An answer may bring some of them only; what the index has is sure to come.
    return data.numPoints > 0 || refusal !== "" || (isAnswered && subject !== CHOSEN);
  };
  const hear = (): void => {
    followFiner();
    while (numThere < wanted.length && isThere(wanted[numThere]!)) numThere += 1;
    if (numThere === wanted.length) inNextFrame(rebuild);
    else timer ??= setTimeout(() => inNextFrame(rebuild), (model.peek()?.x ?? null) === null ? FIRST_PATIENCE_MS : PATIENCE_MS);
  };
  /** Only what came in buckets can be had in finer grain. */
  const followFiner = (): void => {
    const coarse = finer === null ? [] : wanted.filter(({ run_id, name }) => whole.known(run_id, name)?.data.hasBuckets);
    const now = finer === null ? "" : JSON.stringify([finer === all.part, coarse]);
    if (now === followedFiner) return;
    followedFiner = now;
    const stopBefore = stopFiner;
    stopFiner = finer === null || coarse.length === 0 ? nothing : finer.use(coarse, () => inNextFrame(rebuild));
    stopBefore();
  };

  const stopWanting = effect(() => {
    finer = hasPart(options.value) ? all.part : isEnlarged ? all.large : null;
    const found = subject.runs.value.flatMap(({ id }) =>
      chart.members.filter(({ name }) => subject.has(id, name)).map(({ name }) => ({ run_id: id, name })),
    );
    const now = JSON.stringify(found);
    if (now !== followed) {
      const stopBefore = stopWhole;
      [followed, wanted, names] = [now, found, new Set(found.map(({ run_id, name }) => keyOf(run_id, name)))];
      numThere = 0;
      stopWhole = whole.use(wanted, hear);
      // The new before the old: what both want goes on without a break.
      stopBefore();
    } else followFiner();
  });
  // Whatever changes of these: it is read when it is built.
  const stopLooking = effect(() => {
    void [options.value, subject.perEpoch.value];
    inNextFrame(rebuild);
  });
  const stopRuns = effect(() => {
    void subject.runs.value;
    hear();
  });
  return () => {
    for (const stop of [stopWanting, stopLooking, stopRuns, stopWhole, stopFiner]) stop();
    clearTimeout(timer);
    waiting.delete(rebuild);
  };
}

/** A frame has 16 ms. What is drawn costs the browser as much again, after the task is done. */
const BUDGET_MS = 6;

const waiting = new Set<() => void>();
let isAsked = false;

/** Run a task in one of the next frames, once however often it is asked for. */
function inNextFrame(task: () => void): void {
  waiting.add(task);
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(runTasks);
}

function runTasks(): void {
  isAsked = false;
  const end = performance.now() + BUDGET_MS;
  for (const task of waiting) {
    waiting.delete(task);
    task();
    if (performance.now() > end) break;
  }
  const [first] = waiting;
  if (first !== undefined) inNextFrame(first);
}
