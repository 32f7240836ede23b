/** The map: a row for each watched tensor, steps to the right. Only what is in view is drawn. */
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { formatCount, formatNumberOf, formatShape } from "../../data/format";
import { alarmKind, type Severity } from "../../data/run-events";
import { themeTick } from "../../data/store";
import { type Cell, movedCell } from "../../plot/Matrix";
import { type Band, paintCells, readInks } from "../../plot/cells";
import { Blank, Skeletons } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { actOn } from "../../ui/keys";
import { followSize } from "../../ui/useSize";
import { Ramp } from "./LayersToolbar";
import { type GroupLine, type Line, linesBetween, rowAt, type RowLine, TALL } from "./rows";
import * as state from "./state";
import { bucketAt, nearestBucket, pixelBuckets, placeOf, stepsAlong, stepUnder, zoomed } from "./steps";
import { kindOf, readingOf, sentenceOf } from "./watched";

/** A pointer that moved less far has clicked. */
const MIN_DRAG = 4;
const WHEEL_ZOOM = 1.25;
/** Between two rows, where there is room for it. */
const GAP = 1;

/** What is seen of the rows, in pixels. */
const scrollTop = signal(0);
const viewHeight = signal(0);
/** From where to where the pointer was dragged, in pixels. */
const drag = signal<readonly [number, number] | null>(null);

export function HeatMap() {
  const view = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  /** Where the pointer is; null where it is elsewhere, or keys are used. */
  const pointer = useRef<MouseEvent | null>(null);
  const lines = state.lines.value;

  useLayoutEffect(() => {
    const [element, place] = [view.current!, stage.current!];
    const stops = [
      followSize(element, ({ height }) => (viewHeight.value = height)),
      followSize(place, ({ width }) => (state.plotWidth.value = width)),
    ];
    // Of Preact's own, it could not keep the page from being zoomed.
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? WHEEL_ZOOM : 1 / WHEEL_ZOOM, stepUnder(state.axis.peek(), spot(event)[0]));
    };
    place.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      for (const stop of stops) stop();
      place.removeEventListener("wheel", onWheel);
      // Of the map that goes: the next one has its own.
      state.plotWidth.value = scrollTop.value = viewHeight.value = 0;
      drag.value = null;
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
    bringIntoView(view.current, line);
    // Also when the view became smaller: the row in full takes room from it.
  }, [wanted, line === undefined, state.rowHeight.chosen, viewHeight.value]);
  const cursorRow = state.pointed.value?.row ?? "";
  useEffect(() => {
    if (document.activeElement === stage.current) bringIntoView(view.current, state.lines.peek().byName.get(cursorRow));
  }, [cursorRow]);

  const spot = (event: MouseEvent): readonly [x: number, y: number] => {
    const { left, top } = stage.current!.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top + scrollTop.peek()];
  };
  const pointAt = (event: MouseEvent): void => {
    const [x, y] = spot(event);
    const row = rowAt(state.lines.peek().rows, y)?.row.name;
    state.pointed.value = row === undefined ? null : { row, step: stepUnder(state.axis.peek(), x) };
  };
  const onMove = (event: PointerEvent): void => {
    if (drag.peek() !== null) drag.value = [drag.peek()![0], spot(event)[0]];
    pointer.current = event;
    pointAt(event);
  };
  // What was under the pointer moves away below it.
  const onScroll = (event: Event): void => {
    scrollTop.value = (event.currentTarget as HTMLElement).scrollTop;
    if (pointer.current !== null) pointAt(pointer.current);
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
    pointAt(event);
    const at = state.pointed.peek();
    if (at === null) return;
    const bucket = bucketAt(state.spans.peek(), at.step);
    state.chooseRow(at.row, state.grid.peek()?.last_steps[bucket] ?? Math.round(at.step));
  };
  return (
    <div class="heat-place">
      <div class="heat" ref={view} role="region" aria-label="Map of the watched layers" onScroll={onScroll}>
        <div class="heat-inner" style={{ height: `${lines.height}px` }}>
          <HeatLabels />
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
              // From here on the cursor is the keyboard's.
              if (actOnHeatKey(event)) pointer.current = null;
            }}
          >
            <Cells />
            <HeatMarks />
          </div>
          <div class="heat-groups">
            {lines.groups.map((group) => (
              <Group key={group.role} group={group} />
            ))}
          </div>
        </div>
        <Nothing />
      </div>
      <StepAxis />
    </div>
  );
}

function bringIntoView(view: HTMLElement | null, line: RowLine | undefined): void {
  if (view === null || line === undefined) return;
  const { top, height } = line;
  // Under the head of its group, which stays at the upper edge.
  if (top < view.scrollTop + TALL.group) view.scrollTop = Math.max(0, top - TALL.group - height);
  else if (top + height > view.scrollTop + view.clientHeight) view.scrollTop = top + 2 * height - view.clientHeight;
}

function summary(): string {
  const grid = state.grid.value;
  if (grid === null) return "Loading";
  const [first, last] = [grid.first_steps[0] ?? 0, grid.last_steps.at(-1) ?? 0];
  return (
    `${state.shownFigure.value.title} of ${formatNumberOf(state.lines.value.rows.length, "row")} ` +
    `over steps ${formatCount(first)} to ${formatCount(last)}; arrows move from cell to cell, Enter opens a row`
  );
}

function Cells() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [grid, lines, axis] = [state.grid.value, state.lines.value, state.axis.value];
  const [top, seen] = [scrollTop.value, viewHeight.value];
  const [scales, spans, tick] = [state.scales.value, state.spans.value, themeTick.value];
  useLayoutEffect(() => {
    const element = canvas.current!;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(axis.width * ratio), Math.round(Math.min(seen, lines.height) * ratio)];
    if (width <= 0 || height <= 0) return;
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    const image = new ImageData(width, height);
    if (grid !== null) {
      const bands = linesBetween(lines.rows, top, top + seen).map((line): Band => {
        const from = Math.round((line.top - top) * ratio);
        const bottom = Math.round((line.top + line.height - top) * ratio) - (line.height > 8 ? GAP : 0);
        return { row: line.index, top: from, height: bottom - from, scale: scales.get(line.index)! };
      });
      const { values, marks } = grid;
      const kindAt = (at: number) => kindOf(values[at]!, marks[at]!);
      const cells = { numColumns: grid.first_steps.length, values, kindOf: kindAt };
      paintCells(image, cells, bands, pixelBuckets(spans, { ...axis, width }), readInks());
    }
    element.getContext("2d")?.putImageData(image, 0, 0);
  }, [grid, lines, axis, scales, spans, top, seen, tick]);
  return <canvas ref={canvas} aria-hidden="true" />;
}

function Nothing() {
  const [grid, failure, filter] = [state.grid.value, state.failure.value, state.filter.value];
  if (grid === null && failure === "") return <Skeletons widths={["block"]} style="section late" label="Loading the map" />;
  if (grid !== null && state.lines.value.all.length > 0) return null;
  const { title: figure, hint } = state.shownFigure.value;
  const noRow = filter === "" ? `No row has ${figure}: it is ${hint}.` : `No row has “${filter}” in its name or type.`;
  const [icon, title, text] =
    grid === null
      ? (["broken", "The watched layers cannot be read", failure] as const)
      : grid.rows.length === 0
        ? (["frame", `Nothing was watched on rank ${state.rank.value}`, "Choose another rank, or wait for its first watched step."] as const)
        : (["search", "No row to show", noRow] as const);
  return (
    <Blank icon={icon} title={title} isError={grid === null}>
      <span>{text}</span>
    </Blank>
  );
}

/** The numbers of the steps, under the map. */
function StepAxis() {
  const axis = state.axis.value;
  const ticks = axis.width > 0 && state.grid.value !== null ? stepsAlong(axis).ticks : [];
  return (
    <div class="heat-axis" aria-hidden="true">
      <span class="heat-axis-name">step</span>
      <div class="heat-ticks">
        {ticks.map(({ value, label }) => (
          <span key={value} style={{ left: `${placeOf(axis, value)}px` }}>
            {label}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The heads of the groups, which fold; the one of the rows at the upper edge stays in view. */
function Group({ group }: { group: GroupLine }) {
  const { role, title, hint, isOpen, count, height, heightOfAll } = group;
  const first = state.lines.value.rows.find(({ row }) => row.role === role);
  const scale = first === undefined ? undefined : state.scales.value.get(first.index);
  const hasOwn = state.sharing.chosen === "group" && state.wish.value.limits === null;
  return (
    <div style={{ height: `${heightOfAll}px` }}>
      <div class="heat-head" style={{ height: `${height}px` }}>
        <button class="heat-group" aria-expanded={isOpen} onClick={() => state.setClosed(role, isOpen)}>
          <Icon name={isOpen ? "down" : "right"} />
          {title} <span class="muted">{hint === "" ? formatCount(count) : hint}</span>
        </button>
        {hasOwn && isOpen && scale !== undefined && <Ramp scale={scale} />}
      </div>
    </div>
  );
}

/** Above the cells: what is selected, what is under the pointer, and the stretch that is being drawn. */
function HeatMarks() {
  const selected = state.lines.value.byName.get(state.rowName.value);
  const [step, axis, drawn] = [state.step.value, state.axis.value, drag.value];
  return (
    <div class="heat-marks" aria-hidden="true">
      {selected !== undefined && <i class="heat-row-mark" style={rowPlace(selected)} />}
      {step !== null && step >= axis.low && step <= axis.high && <i class="heat-step-mark" style={{ left: `${placeOf(axis, step)}px` }} />}
      <CellMark />
      {drawn !== null && <i class="heat-range" style={{ left: `${Math.min(...drawn)}px`, width: `${Math.abs(drawn[1] - drawn[0])}px` }} />}
    </div>
  );
}

function rowPlace({ top, height }: RowLine) {
  return { top: `${top - scrollTop.value}px`, height: `${height}px` };
}

function CellMark() {
  const [at, axis, spans] = [state.pointed.value, state.axis.value, state.spans.value];
  if (at === null) return null;
  const line = state.lines.value.byName.get(at.row ?? "");
  const span = spans[bucketAt(spans, at.step)];
  if (line === undefined || span === undefined)
    return <i class="heat-cross" style={{ left: `${placeOf(axis, at.step)}px` }} />;
  const [left, right] = [placeOf(axis, span.low), placeOf(axis, span.high)];
  const cell = { left: `${left}px`, width: `${Math.max(3, right - left)}px`, ...rowPlace(line) };
  return (
    <>
      <i class="heat-cross" style={{ left: `${(left + right) / 2}px` }} />
      <i class="heat-cell-mark" style={cell} />
    </>
  );
}

/** A name needs so much room. */
const NAME_HEIGHT = 13;
const SPARE = 200;

function HeatLabels() {
  const lines = linesBetween(state.lines.value.all, scrollTop.value - SPARE, scrollTop.value + viewHeight.value + SPARE);
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
        if (isThin && (line.top < bottom || !hasRoom(line, lines.slice(at + 1)))) return null;
        bottom = line.top + NAME_HEIGHT;
        return <RowName key={line.row.name} line={line} severity={bad.get(line.row.name)} />;
      })}
    </div>
  );
}

/** Is the next group far enough below a row for its name? */
function hasRoom({ top }: RowLine, below: readonly Line[]): boolean {
  const next = below.find(({ kind }) => kind === "group");
  return next === undefined || next.top >= top + NAME_HEIGHT;
}

function worstByRow(): ReadonlyMap<string, Severity> {
  const found = new Map<string, Severity>();
  for (const { row, alarm } of state.events.value.alarms) {
    if (found.get(row) !== "danger") found.set(row, alarmKind(alarm).severity);
  }
  return found;
}

function RowName({ line, severity }: { line: RowLine; severity: Severity | undefined }) {
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

const ZOOM = 2;
/** As far as ten arrows lead. */
const PAGES: Readonly<Record<string, { key: string; shiftKey: boolean }>> = {
  PageUp: { key: "ArrowUp", shiftKey: true },
  PageDown: { key: "ArrowDown", shiftKey: true },
};

const ACTIONS: Readonly<Record<string, () => void>> = {
  Enter: open,
  " ": open,
  "+": () => zoomBy(ZOOM),
  "=": () => zoomBy(ZOOM),
  "-": () => zoomBy(1 / ZOOM),
  "\u2212": () => zoomBy(1 / ZOOM),
  "0": () => state.setZoom(null),
  Escape: leave,
};

function actOnHeatKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const [{ rows }, spans, at] = [state.lines.peek(), state.spans.peek(), state.pointed.peek()];
  // Where the cursor is: under the pointer, on what is selected or, before both, at the last step of the first row.
  const name = at?.row ?? state.rowName.peek();
  const from = {
    row: Math.max(0, rows.findIndex(({ row }) => row.name === name)),
    column: nearestBucket(spans, at?.step ?? state.step.peek()),
  };
  const to = movedCell(from, PAGES[event.key] ?? event, rows.length, spans.length);
  // The first key only shows where the cursor is.
  const isFirst = at === null && event.key !== "Home" && event.key !== "End";
  return actOn(event, to === null ? ACTIONS : { [event.key]: () => goTo(isFirst ? from : to) });
}

function goTo({ row, column }: Cell): void {
  const [grid, line] = [state.grid.peek(), state.lines.peek().rows[row]];
  const step = grid?.last_steps[column];
  if (grid === null || line === undefined || step === undefined) return;
  state.pointed.value = { row: line.row.name, step };
  const reading = readingOf(grid, line.index, column);
  state.spoken.value = reading === null ? "" : sentenceOf(reading);
}

function open(): void {
  const at = state.pointed.peek();
  if (at !== null && at.row !== null) state.chooseRow(at.row, at.step);
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
