/** The picture of a chart: one canvas for the lines, one above it for what follows the pointer. */
import {
  computed,
  effect,
  type ReadonlySignal,
  signal,
  type Signal,
  useSignal,
  useSignalEffect,
} from "@preact/signals";
import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { seriesOf } from "../../data/runs";
import * as store from "../../data/store";
import type { SeriesWanted } from "../../wire";
import { fitCanvas, readInk } from "../Drawing";
import { shareOf, valueAtShare } from "../scale";
import { LinePixels } from "./line-pixels";
import {
  buildModel,
  type ChartRun,
  type Curve,
  curveOf,
  type Model,
  readingsAt,
  type Sources,
  summarize,
} from "./model";
import { options } from "./options";
import {
  type Frame,
  frameOf,
  isCrowded,
  type Overlay,
  paintChart,
  paintOverlay,
  placeX,
  placeY,
  type Size,
} from "./paint";
import { handlePlotKey, resetZoom, zoomBetween, zoomBy } from "./plot-keys";
import { type Feed, feeds, hasPart, keyOf, noteChartPixels } from "./series-feed";
import { type Chart, chartRuns, cursor, placeOfCursor } from "./state";

/** Read anew whenever the theme changes. */
const ink = computed(() => ({ tick: store.themeTick.value, ...readInk() }));

/** A pointer that moved less far has clicked. */
const MIN_DRAG = 4;
const WHEEL_ZOOM = 1.25;

export function Plot({ model, chartKey }: { model: ReadonlySignal<Model | null>; chartKey: string }) {
  const box = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const isOverEmpty = useRef(true);
  const size = useSignal<Size>({ width: 0, height: 0 });
  /** From where to where the pointer was dragged, in pixels. */
  const range = useSignal<readonly [number, number] | null>(null);
  const frame = useMemo(
    () =>
      computed<Frame | null>(() => {
        const [now, context] = [model.value, base.current?.getContext("2d")];
        if (now === null || context === null || context === undefined || size.value.width === 0) return null;
        context.font = ink.value.font;
        return frameOf(now, size.value, (text) => context.measureText(text).width);
      }),
    [model],
  );

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      if (width !== size.peek().width || height !== size.peek().height) size.value = { width, height };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // Of Preact's own, it could not keep the page from being zoomed.
    const onWheel = (event: WheelEvent): void => {
      const now = model.peek();
      if (!event.ctrlKey || now === null) return;
      event.preventDefault();
      zoomBy(now, event.deltaY < 0 ? WHEEL_ZOOM : 1 / WHEEL_ZOOM);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", onWheel);
    };
  }, []);

  useSignalEffect(() => {
    const [now, where, colours] = [model.value, frame.value, ink.value];
    if (where !== null && options.peek().enlarged !== chartKey) noteChartPixels(where.box.width * devicePixelRatio);
    const context = fitCanvas(base.current, size.value.width, size.value.height);
    if (context === null || now === null || where === null) return;
    paintChart(context, now, where, colours, isCrowded(now, where) ? new LinePixels(context, where.box) : undefined);
  });

  useSignalEffect(() => {
    const [now, where, colours] = [model.value, frame.value, ink.value];
    const overlay = overlayOf(now, where, chartKey, range.value);
    const isEmpty = overlay.cursor === null && overlay.range === null;
    // A canvas that was never drawn on costs the browser nothing.
    if (isEmpty && isOverEmpty.current) return;
    isOverEmpty.current = isEmpty;
    const context = fitCanvas(over.current, size.value.width, size.value.height);
    if (context !== null && where !== null) paintOverlay(context, overlay, where, colours);
  });

  const pixelOf = (event: PointerEvent): number =>
    event.clientX - (box.current?.getBoundingClientRect().left ?? 0);
  const moveTo = (pixel: number | null): void => {
    const where = frame.peek();
    if (where === null) return;
    if (pixel === null) {
      if (cursor.peek()?.chart === chartKey) cursor.value = null;
      return;
    }
    const share = shareAt(where, pixel);
    if (share < -0.02 || share > 1.02) return;
    const place = valueAtShare(where.x, Math.max(0, Math.min(1, share)));
    cursor.value = { x: options.peek().axis === "step" ? Math.round(place) : place, chart: chartKey };
  };
  const onMove = (event: PointerEvent): void => {
    const pixel = pixelOf(event);
    if (range.peek() !== null) range.value = [range.peek()![0], pixel];
    moveTo(pixel);
  };
  const onUp = (): void => {
    const [drawn, where, now] = [range.peek(), frame.peek(), model.peek()];
    range.value = null;
    if (drawn === null || where === null || now === null || Math.abs(drawn[1] - drawn[0]) < MIN_DRAG) return;
    zoomBetween(now, shareAt(where, drawn[0]), shareAt(where, drawn[1]));
  };

  return (
    <div
      ref={box}
      class="plot"
      role="img"
      aria-label={model.value === null ? "Loading" : summarize(model.value)}
      tabIndex={0}
      onPointerMove={onMove}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        range.value = [pixelOf(event), pixelOf(event)];
      }}
      onPointerUp={onUp}
      onPointerCancel={() => (range.value = null)}
      onPointerLeave={() => moveTo(null)}
      onDblClick={resetZoom}
      onKeyDown={(event) => {
        const now = model.peek();
        if (now !== null && !event.ctrlKey && !event.metaKey && !event.altKey && handlePlotKey(event, now)) {
          event.preventDefault();
          event.stopPropagation();
        }
      }}
    >
      <canvas ref={base} aria-hidden="true" />
      <canvas ref={over} aria-hidden="true" />
    </div>
  );
}

function shareAt({ box }: Frame, pixel: number): number {
  return (pixel - box.left) / box.width;
}

function overlayOf(
  model: Model | null,
  frame: Frame | null,
  chartKey: string,
  range: readonly [number, number] | null,
): Overlay {
  const place = placeOfCursor(chartKey);
  const share = frame === null || place === null ? NaN : shareOf(frame.x, place);
  const isSeen = share >= 0 && share <= 1;
  if (model === null || frame === null || place === null || !isSeen) return { cursor: null, dots: [], range };
  const dots = readingsAt(model, place).flatMap(({ line, at, value, smoothed }) => {
    const [x, y] = [placeX(frame, line.curve.x[at]!), placeY(frame, smoothed ?? value)];
    const isInside = y >= frame.box.top - 1 && y <= frame.box.top + frame.box.height + 1;
    return isInside ? [{ x, y, slot: line.run.slot }] : [];
  });
  return { cursor: placeX(frame, place), dots, range };
}

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
    const now = finer === null ? "" : JSON.stringify(coarse);
    if (now === followedFiner) return;
    followedFiner = now;
    const stopBefore = stopFiner;
    stopFiner = finer === null || coarse.length === 0 ? nothing : finer.use(coarse, () => inNextFrame(rebuild));
    stopBefore();
  };

  const stopWanting = effect(() => {
    finer = hasPart(options.value) || isEnlarged ? all.fine : null;
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

/** Scalars of runs for small charts, followed for as long as a part of the page is there. */
export function useSeries(wanted: readonly SeriesWanted[]) {
  const feed = feeds.value?.small ?? null;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const hear = (): void => redraw(undefined);
  // A new list of the same series is no new question.
  useEffect(() => feed?.use(wanted, hear), [feed, wanted.map(({ run_id, name }) => `${run_id} ${name}`).join("\n")]);
  const known = wanted.map(({ run_id, name }) => feed?.known(run_id, name));
  return {
      of: (runId: string, name: string): Curve => curveOf(feed?.known(runId, name)?.data ?? null, null, "step"),
    isWaiting: feed !== null && known.some((one) => one === undefined || (!one.isAnswered && one.refusal === "")),
    /** Why there is nothing; empty where there is. */
    refusal: known.find((one) => (one?.refusal ?? "") !== "")?.refusal ?? "",
  };
}
