/** The map: a row for each watched tensor, steps to the right. Only what is in view is drawn. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { formatTicks } from "../charting/tickwords";
import { formatCount, formatNumberOf } from "../format";
import { Blank } from "../shell/Blank";
import { Icon } from "../shell/Icon";
import { themeTick } from "../store";
import { parseHex, readPalette, type Rgb } from "../tensor/colour";
import { Ramp } from "./HeatKey";
import { HeatLabels } from "./HeatLabels";
import { handleHeatKey, zoomBy } from "./cursor";
import { type Band, type Inks, paintCells } from "./painting";
import { type GroupLine, lineAt, linesBetween, pinnedTops, TALL } from "./rows";
import * as state from "./state";
import { bucketAt, pixelBuckets, placeOf, stepTicks, stepUnder } from "./steps";

/** A pointer that moved less far has clicked. */
const MIN_DRAG = 4;
const WHEEL_ZOOM = 1.25;
/** Between two rows, where there is room for it. */
const GAP = 1;

export function HeatMap() {
  const view = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const scrollTop = useSignal(0);
  const viewHeight = useSignal(0);
  const drag = useSignal<readonly [number, number] | null>(null);
  /** Where the pointer is in the view, in pixels; null where it is elsewhere, or keys are used. */
  const pointer = useRef<readonly [number, number] | null>(null);
  const lines = state.lines.value;

  useLayoutEffect(() => {
    const [element, place] = [view.current, stage.current];
    if (element === null || place === null) return undefined;
    const measure = (): void => {
      viewHeight.value = element.clientHeight;
      state.plotWidth.value = place.clientWidth;
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    observer.observe(place);
    // Of Preact's own, it could not keep the page from being zoomed.
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const left = place.getBoundingClientRect().left;
      const around = stepUnder(state.axis.peek(), event.clientX - left);
      zoomBy(event.deltaY < 0 ? WHEEL_ZOOM : 1 / WHEEL_ZOOM, around);
    };
    place.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      observer.disconnect();
      place.removeEventListener("wheel", onWheel);
      // Of the map that goes: the next one has its own.
      state.plotWidth.value = 0;
    };
  }, []);

  // What is chosen elsewhere, or with the keyboard, is brought into view.
  const wanted = state.rowName.value;
  const isKnown = state.grid.value?.rows.some(({ name }) => name === wanted) === true;
  useEffect(() => {
    if (wanted !== "" && isKnown) state.uncover(wanted);
  }, [wanted, isKnown]);
  const line = lines.byName.get(wanted);
  useEffect(() => {
    if (line !== undefined) bringIntoView(view.current, line.top, line.height);
    // Also when the view became smaller: the row in full takes room from it.
  }, [wanted, line === undefined, state.isThin.value, viewHeight.value]);
  const cursorRow = state.pointed.value?.row ?? null;
  useEffect(() => {
    const at = cursorRow === null ? undefined : state.lines.peek().byName.get(cursorRow);
    if (at !== undefined && document.activeElement === stage.current) bringIntoView(view.current, at.top, at.height);
  }, [cursorRow]);

  const spot = (event: PointerEvent | MouseEvent): readonly [x: number, y: number] => {
    const { left, top } = stage.current!.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top + scrollTop.peek()];
  };
  const onMove = (event: PointerEvent): void => {
    const [x, y] = spot(event);
    if (drag.peek() !== null) drag.value = [drag.peek()![0], x];
    pointer.current = [x, y - scrollTop.peek()];
    pointAt(x, y);
  };
  // What was under the pointer moves away below it.
  const onScroll = (event: Event): void => {
    scrollTop.value = (event.currentTarget as HTMLElement).scrollTop;
    if (pointer.current !== null) pointAt(pointer.current[0], pointer.current[1] + scrollTop.peek());
  };
  const onUp = (event: PointerEvent): void => {
    const drawn = drag.peek();
    drag.value = null;
    if (drawn === null) return;
    const axis = state.axis.peek();
    if (Math.abs(drawn[1] - drawn[0]) >= MIN_DRAG) {
      const ends = drawn.map((x) => stepUnder(axis, Math.max(0, Math.min(axis.width, x))));
      state.setZoom({ low: Math.min(...ends), high: Math.max(...ends) });
      return;
    }
    const [x, y] = spot(event);
    chooseAt(x, y);
  };
  return (
    <div class="heat-place">
      <div
        class="heat"
        ref={view}
        role="region"
        aria-label="Map of the watched layers"
        onScroll={onScroll}
      >
        <div class="heat-inner" style={{ height: `${lines.height}px` }}>
          <HeatLabels scrollTop={scrollTop.value} viewHeight={viewHeight.value} />
          <div
            class="heat-stage"
            ref={stage}
            style={{ height: `${Math.max(0, Math.min(viewHeight.value, lines.height))}px` }}
            role="img"
            aria-label={summary()}
            tabIndex={0}
            onPointerMove={onMove}
            onPointerLeave={() => {
              pointer.current = null;
              state.pointed.value = null;
            }}
            onPointerDown={(event) => {
              if (event.button !== 0) return;
              event.currentTarget.setPointerCapture(event.pointerId);
              const [x] = spot(event);
              drag.value = [x, x];
            }}
            onPointerUp={onUp}
            onPointerCancel={() => (drag.value = null)}
            onDblClick={() => state.setZoom(null)}
            onKeyDown={(event) => {
              if (!handleHeatKey(event)) return;
              pointer.current = null; // from here on the cursor is the keyboard's
              event.preventDefault();
              event.stopPropagation();
            }}
          >
            <Cells scrollTop={scrollTop.value} viewHeight={viewHeight.value} />
            <HeatMarks scrollTop={scrollTop.value} drag={drag.value} />
          </div>
          <HeatGroups scrollTop={scrollTop.value} viewHeight={viewHeight.value} />
        </div>
        <Nothing />
      </div>
      <StepAxis />
    </div>
  );
}

function pointAt(x: number, y: number): void {
  const under = lineAt(state.lines.peek().all, y);
  const row = under?.kind === "row" ? under.row.name : null;
  state.pointed.value = row === null ? null : { row, step: stepUnder(state.axis.peek(), x) };
}

function chooseAt(x: number, y: number): void {
  const under = lineAt(state.lines.peek().all, y);
  const grid = state.grid.peek();
  if (under?.kind !== "row" || grid === null) return;
  const step = stepUnder(state.axis.peek(), x);
  const bucket = state.spans.peek().findIndex((span) => span.low <= step && step <= span.high);
  state.chooseRow(under.row.name, grid.lastSteps[bucket] ?? Math.round(step));
}

function bringIntoView(view: HTMLElement | null, top: number, height: number): void {
  if (view === null) return;
  // Under the head of its group, which stays at the upper edge.
  if (top < view.scrollTop + TALL.group) view.scrollTop = Math.max(0, top - TALL.group - height);
  else if (top + height > view.scrollTop + view.clientHeight) view.scrollTop = top + 2 * height - view.clientHeight;
}

function summary(): string {
  const grid = state.grid.value;
  if (grid === null) return "Loading";
  const [first, last] = [grid.firstSteps[0] ?? 0, grid.lastSteps.at(-1) ?? 0];
  return (
    `${state.shownFigure.value.title} of ${formatNumberOf(state.lines.value.rows.length, "row")} ` +
    `over steps ${formatCount(first)} to ${formatCount(last)}; arrows move from cell to cell, Enter opens a row`
  );
}

interface CellsProps {
  scrollTop: number;
  viewHeight: number;
}

function Cells({ scrollTop, viewHeight }: CellsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [grid, lines, axis, scales, spans] = [
    state.grid.value,
    state.lines.value,
    state.axis.value,
    state.scales.value,
    state.spans.value,
  ];
  const tick = themeTick.value;
  useLayoutEffect(() => {
    const element = canvas.current;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(axis.width * ratio), Math.round(Math.min(viewHeight, lines.height) * ratio)];
    if (element === null || width <= 0 || height <= 0) return;
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    const context = element.getContext("2d");
    if (context === null) return;
    const image = new ImageData(width, height);
    if (grid !== null) {
      const bands = linesBetween(lines.rows, scrollTop, scrollTop + viewHeight).map((line): Band => {
        const top = Math.round((line.top - scrollTop) * ratio);
        const bottom = Math.round((line.top + line.height - scrollTop) * ratio) - (line.height > 8 ? GAP : 0);
        return { row: line.index, top, height: bottom - top, scale: scales.get(line.index)! };
      });
      paintCells(image, grid, bands, pixelBuckets(spans, { ...axis, width }), readInks());
    }
    context.putImageData(image, 0, 0);
  }, [grid, lines, axis, scales, spans, scrollTop, viewHeight, tick]);
  return <canvas ref={canvas} aria-hidden="true" />;
}

/** What stands on the map while it has no rows. */
function Nothing() {
  const grid = state.grid.value;
  if (grid === null) {
    if (state.failure.value !== "")
      return (
        <Blank icon="broken" title="The watched layers cannot be read" isError>
          <span>{state.failure.value}</span>
        </Blank>
      );
    return (
      <div class="section late" aria-busy="true" aria-label="Loading the map">
        <i class="skeleton block" />
      </div>
    );
  }
  if (state.lines.value.all.length > 0) return null;
  if (grid.rows.length === 0)
    return (
      <Blank icon="frame" title={`Nothing was watched on rank ${state.rank.value}`}>
        <span>Choose another rank, or wait for its first watched step.</span>
      </Blank>
    );
  return (
    <Blank icon="search" title="No row to show">
      <span>
        {state.filter.value === ""
          ? `No row has ${state.shownFigure.value.title}: it is ${state.shownFigure.value.hint}.`
          : `No row has “${state.filter.value}” in its name or type.`}
      </span>
    </Blank>
  );
}

// --- The colours of the map, read from the theme that is on now.

function readInks(): Inks {
  const style = getComputedStyle(window.document.documentElement);
  const colour = (name: string): Rgb => parseHex(style.getPropertyValue(name));
  return {
    seq: readPalette("seq").ramp,
    div: readPalette("div").ramp,
    danger: colour("--danger"),
    dangerWeak: colour("--danger-weak"),
    surface: colour("--surface"),
    missing: colour("--line-2"),
  };
}

// --- The numbers of the steps, under the map.

function StepAxis() {
  const axis = state.axis.value;
  const ticks = axis.width > 0 && state.grid.value !== null ? stepTicks(axis) : [];
  return (
    <div class="heat-axis" aria-hidden="true">
      <span class="heat-axis-name">step</span>
      <div class="heat-ticks">
        {formatTicks(ticks).map((name, at) => (
          <span key={ticks[at]} style={{ left: `${placeOf(axis, ticks[at]!)}px` }}>
            {name}
          </span>
        ))}
      </div>
    </div>
  );
}

// --- The heads of the groups, which fold; the one of the rows at the upper edge stays in view.

function HeatGroups({ scrollTop, viewHeight }: { scrollTop: number; viewHeight: number }) {
  const lines = state.lines.value;
  const seen = pinnedTops(lines, scrollTop).filter(
    ({ line, top }) => top + line.height >= scrollTop && top <= scrollTop + viewHeight,
  );
  return (
    <div class="heat-groups">
      {seen.map(({ line, top }) => (
        <Head key={line.role} line={line} top={top} />
      ))}
    </div>
  );
}

function Head({ line, top }: { line: GroupLine; top: number }) {
  const { role, title, hint, isOpen, count, height } = line;
  const first = state.lines.value.rows.find(({ row }) => row.role === role);
  const scale = first === undefined ? undefined : state.scales.value.get(first.index);
  const hasOwn = state.sharing.value === "group" && state.wish.value.limits === null;
  return (
    <div class="heat-head" style={{ top: `${top}px`, height: `${height}px` }}>
      <button class="heat-group" aria-expanded={isOpen} onClick={() => state.setClosed(role, isOpen)}>
        <Icon name={isOpen ? "down" : "right"} />
        {title} <span class="muted">{hint === "" ? formatCount(count) : hint}</span>
      </button>
      {hasOwn && isOpen && scale !== undefined && <Ramp scale={scale} />}
    </div>
  );
}

// --- Above the cells: what is selected, what is under the pointer, and the stretch that is being drawn.

interface Props {
  scrollTop: number;
  /** From where to where the pointer was dragged, in pixels. */
  drag: readonly [number, number] | null;
}

function HeatMarks({ scrollTop, drag }: Props) {
  const selected = state.lines.value.byName.get(state.rowName.value);
  return (
    <div class="heat-marks" aria-hidden="true">
      {selected !== undefined && (
        <i class="heat-row-mark" style={{ top: `${selected.top - scrollTop}px`, height: `${selected.height}px` }} />
      )}
      <StepMark />
      <CellMark scrollTop={scrollTop} />
      {drag !== null && (
        <i
          class="heat-range"
          style={{ left: `${Math.min(...drag)}px`, width: `${Math.abs(drag[1] - drag[0])}px` }}
        />
      )}
    </div>
  );
}

function StepMark() {
  const [step, axis] = [state.step.value, state.axis.value];
  if (step === null || step < axis.low || step > axis.high) return null;
  return <i class="heat-step-mark" style={{ left: `${placeOf(axis, step)}px` }} />;
}

function CellMark({ scrollTop }: { scrollTop: number }) {
  const [at, axis, spans] = [state.pointed.value, state.axis.value, state.spans.value];
  if (at === null) return null;
  const line = at.row === null ? undefined : state.lines.value.byName.get(at.row);
  const span = spans[bucketAt(spans, at.step)];
  if (line === undefined || span === undefined)
    return <i class="heat-cross" style={{ left: `${placeOf(axis, at.step)}px` }} />;
  const [left, right] = [placeOf(axis, span.low), placeOf(axis, span.high)];
  return (
    <>
      <i class="heat-cross" style={{ left: `${(left + right) / 2}px` }} />
      <i
        class="heat-cell-mark"
        style={{
          ...{ left: `${left}px`, width: `${Math.max(3, right - left)}px` },
          ...{ top: `${line.top - scrollTop}px`, height: `${line.height}px` },
        }}
      />
    </>
  );
}
