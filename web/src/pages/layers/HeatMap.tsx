/** The map: a row for each watched tensor, steps to the right. Only what is in view is drawn. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { formatCount, formatNumberOf, formatShape } from "../../data/format";
import { alarmKind } from "../../data/run-events";
import { themeTick } from "../../data/store";
import { formatTicks } from "../../plot/ticks";
import { Blank } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { readPalette, themeColours } from "../../ui/colour-scale";
import { Ramp } from "./HeatKey";
import { type Band, type Inks, paintCells } from "./paint";
import {
  type GroupLine,
  type Line,
  lineAt,
  linesBetween,
  pinnedTops,
  readingOf,
  type RowLine,
  sentenceOf,
  TALL,
} from "./rows";
import * as state from "./state";
import { bucketAt, nearestBucket, pixelBuckets, placeOf, stepTicks, stepUnder, zoomed } from "./steps";

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

/** What is seen of the rows. */
interface View {
  scrollTop: number;
  viewHeight: number;
}

function Cells({ scrollTop, viewHeight }: View) {
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

/** The colours of the theme that is on now. */
function readInks(): Inks {
  const { ramp: seq, danger, surface, none } = readPalette("seq");
  return { seq, div: readPalette("div").ramp, danger, dangerWeak: themeColours()("--danger-weak"), surface, missing: none };
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

function HeatGroups({ scrollTop, viewHeight }: View) {
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

/** `drag`: from where to where the pointer was dragged, in pixels. */
function HeatMarks({ scrollTop, drag }: { scrollTop: number; drag: readonly [number, number] | null }) {
  const selected = state.lines.value.byName.get(state.rowName.value);
  const [step, axis] = [state.step.value, state.axis.value];
  return (
    <div class="heat-marks" aria-hidden="true">
      {selected !== undefined && (
        <i class="heat-row-mark" style={{ top: `${selected.top - scrollTop}px`, height: `${selected.height}px` }} />
      )}
      {step !== null && step >= axis.low && step <= axis.high && <i class="heat-step-mark" style={{ left: `${placeOf(axis, step)}px` }} />}
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

// --- The names of the rows in view, beside the map.

/** A name needs so much room. */
const NAME_HEIGHT = 13;
const SPARE = 200;

function HeatLabels({ scrollTop, viewHeight }: View) {
  const lines = linesBetween(state.lines.value.all, scrollTop - SPARE, scrollTop + viewHeight + SPARE);
  const bad = worstByRow();
  let bottom = -Infinity;
  return (
    <div class="heat-labels">
      {lines.map((line, at) => {
        if (line.kind === "group") {
          bottom = line.top + line.height;
          return null;
        }
        // Of rows thinner than a name, as many are named as there is room for.
        const isThin = line.height < NAME_HEIGHT;
        if (isThin && (line.top < bottom || !hasRoom(lines, at))) return null;
        bottom = line.top + NAME_HEIGHT;
        return <RowName key={line.row.name} line={line} severity={bad.get(line.row.name)} />;
      })}
    </div>
  );
}

/** Is the next group far enough below a row for its name? */
function hasRoom(lines: readonly Line[], at: number): boolean {
  const end = lines[at]!.top + NAME_HEIGHT;
  for (let below = at + 1; below < lines.length && lines[below]!.top < end; below++) {
    if (lines[below]!.kind === "group") return false;
  }
  return true;
}

function worstByRow(): ReadonlyMap<string, "danger" | "warn"> {
  const found = new Map<string, "danger" | "warn">();
  for (const { row, alarm } of state.events.value.alarms) {
    const { severity } = alarmKind(alarm);
    if (found.get(row) !== "danger") found.set(row, severity);
  }
  return found;
}

function RowName({ line, severity }: { line: RowLine; severity: "danger" | "warn" | undefined }) {
  const { row, label, top, height } = line;
  const isSelected = state.rowName.value === row.name;
  const isPointed = state.pointed.value?.row === row.name;
  const shape = row.shape === null ? "not seen yet" : formatShape(row.shape);
  return (
    <button
      class={isPointed ? "heat-name pointed" : "heat-name"}
      style={{ top: `${top}px`, height: `${Math.max(NAME_HEIGHT, height)}px` }}
      tabIndex={-1}
      aria-pressed={isSelected}
      title={`${row.name} \u00b7 ${row.module === "" ? "" : `${row.module} \u00b7 `}${shape}`}
      onClick={() => state.chooseRow(isSelected ? null : row.name, isSelected ? null : state.step.peek())}
    >
      {severity !== undefined && <i class={`alarm-sign ${severity}`} aria-label="has alarms" role="img" />}
      <span class="heat-label">
        <bdi class="marked">{label}</bdi>
      </span>
    </button>
  );
}

// --- The cursor of the keyboard on the map: from cell to cell.

const FAR = 10;
const PAGE = 10;
const ZOOM = 2;

const ACTIONS: Readonly<Record<string, (far: number) => void>> = {
  ArrowLeft: (far) => moveBy(0, -far),
  ArrowRight: (far) => moveBy(0, far),
  ArrowUp: (far) => moveBy(-far, 0),
  ArrowDown: (far) => moveBy(far, 0),
  PageUp: () => moveBy(-PAGE, 0),
  PageDown: () => moveBy(PAGE, 0),
  Home: () => moveBy(0, -Infinity),
  End: () => moveBy(0, Infinity),
  Enter: open,
  " ": open,
  "+": () => zoomBy(ZOOM),
  "=": () => zoomBy(ZOOM),
  "-": () => zoomBy(1 / ZOOM),
  "\u2212": () => zoomBy(1 / ZOOM),
  "0": () => state.setZoom(null),
  Escape: leave,
};

/** True where the key had a meaning. */
function handleHeatKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const action = ACTIONS[event.key];
  action?.(event.shiftKey ? FAR : 1);
  return action !== undefined;
}

interface Place {
  /** Among the rows that are shown. */
  readonly nth: number;
  readonly bucket: number;
}

/** Where the cursor is: under the pointer, on what is selected or, before both, at the last step of the first row. */
function place(): Place | null {
  const { rows } = state.lines.peek();
  const spans = state.spans.peek();
  if (rows.length === 0 || spans.length === 0) return null;
  const at = state.pointed.peek();
  const name = at?.row ?? state.rowName.peek();
  const step = at?.step ?? state.step.peek() ?? Infinity;
  const nth = rows.findIndex(({ row }) => row.name === name);
  const bucket = step === Infinity ? spans.length - 1 : nearestBucket(spans, step);
  return { nth: Math.max(0, nth), bucket };
}

function moveBy(down: number, right: number): void {
  const from = place();
  const grid = state.grid.peek();
  if (from === null || grid === null) return;
  const { rows } = state.lines.peek();
  // The first key only shows where the cursor is.
  const isFirst = state.pointed.peek() === null && Number.isFinite(down) && Number.isFinite(right);
  const nth = clamp(isFirst ? from.nth : from.nth + down, rows.length);
  const bucket = clamp(isFirst ? from.bucket : from.bucket + right, grid.firstSteps.length);
  const line = rows[nth]!;
  state.pointed.value = { row: line.row.name, step: grid.lastSteps[bucket]! };
  const reading = readingOf(grid, line.index, bucket);
  state.spoken.value = reading === null ? "" : sentenceOf(reading);
}

function clamp(at: number, count: number): number {
  return Math.max(0, Math.min(count - 1, at));
}

function open(): void {
  const at = state.pointed.peek();
  if (at?.row !== null && at !== null) state.chooseRow(at.row, at.step);
}

/** Make the axis shorter or longer, around the cursor or its middle. */
function zoomBy(factor: number, around?: number): void {
  const axis = state.axis.peek();
  const middle = around ?? state.pointed.peek()?.step ?? (axis.low + axis.high) / 2;
  if (factor > 1 && axis.high - axis.low < 2) return;
  state.setZoom(zoomed(axis, state.whole.peek(), factor, middle));
}

/** One thing after the other: the cursor, the zoom, what is selected. */
function leave(): void {
  if (state.pointed.peek() !== null) state.pointed.value = null;
  else if (state.zoom.peek() !== null) state.setZoom(null);
  else state.chooseRow(null, null);
}
