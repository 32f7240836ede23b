/** The picture of a chart: one canvas for the lines, one above it for what follows the pointer. */
import { computed, type ReadonlySignal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import * as store from "../../data/store";
import { fitCanvas, readInk } from "../Drawing";
import { shareOf, valueAtShare } from "../scale";
import type { Model } from "./model";
import { options } from "./options";
import { isCrowded, type Overlay, paintChart, paintOverlay } from "./paint";
import { LinePixels } from "./line-pixels";
import { handlePlotKey } from "./plot-keys";
import { readingsAt, summarize } from "./readings";
import { resetZoom, zoomBetween, zoomBy } from "./scale-zoom";
import { noteChartPixels } from "./series-feed";
import { type Frame, frameOf, placeX, placeY, type Size } from "./shapes";
import { cursor, placeOfCursor } from "./state";

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
