/** Parallel coordinates: an axis for each column, a line for each run. */
import { useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { setParams } from "../../data/route";
import { Group } from "../../plot/Figure";
import { useWidth } from "../../ui/useWidth";
import type { Axis } from "./axes";
import {
  allRuns,
  axes,
  type Brush,
  brushFrom,
  BY_RUN,
  colouring,
  columns,
  keptIds,
  movedTo,
  rampStops,
  shownRamp,
} from "./sheet";
import { axisOrder, brushes, colourKey, hoveredRun, setBrush, setScale } from "./state";

const HEIGHT = 300;
const TOP = 48;
const BOTTOM = 28;
const LEFT = 64;
const RIGHT = 56;
const PADDING = 24; // of the place around it
const REACH = 10;
const MIN_GAP = 84;
const MANY = 40; // lines: then each is thinner

export function Coordinates() {
  const [box, width] = useWidth<HTMLDivElement>(800);
  const all = axes.value;
  const tools = (
    <>
      {brushes.value.size > 0 && (
        <button class="btn quiet sm" onClick={() => setParams({ brush: null })}>
          Clear {formatNumberOf(brushes.value.size, "brush", "brushes")}
        </button>
      )}
      <ColourKey />
    </>
  );
  return (
    <Group name="parallel coordinates" tools={tools}>
      <div ref={box} class="par-place">
        {all.length < 2 ? (
          <p class="muted par-few">It takes two columns that differ. Choose columns on the left.</p>
        ) : (
          <Lines width={Math.max(width - PADDING, LEFT + RIGHT + (all.length - 1) * MIN_GAP)} />
        )}
      </div>
    </Group>
  );
}

function Lines({ width }: { width: number }) {
  const all = axes.value;
  const gap = (width - LEFT - RIGHT) / (all.length - 1);
  const hasMissing = allRuns.value.some(({ id }) =>
    all.some((axis) => axis.place(axis.column.values.get(id)) === null),
  );
  const height = HEIGHT - TOP - BOTTOM;
  const frame: Frame = { top: TOP, height, missingY: TOP + height + 16, x: (nth) => LEFT + nth * gap };
  const kept = keptIds.value;
  const traces = allRuns.value.map(({ id }) => traceOf(id, all, frame));
  const keptTraces = traces.filter(({ runId }) => kept.has(runId));
  const hovered = hoveredRun.value;
  const top = traces.find(({ runId }) => runId === hovered);
  const point = (event: PointerEvent): void => {
    const bounds = (event.currentTarget as Element).getBoundingClientRect();
    hoveredRun.value = nearestTrace(
      keptTraces,
      frame,
      event.clientX - bounds.left,
      event.clientY - bounds.top,
      REACH,
    );
  };
  const keys = all.map(({ column }) => column.key);
  return (
    <div class="par-canvas" style={{ width: `${width}px`, height: `${HEIGHT}px` }}>
      <svg
        class={traces.length > MANY ? "sec-chart par-lines many" : "sec-chart par-lines"}
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Parallel coordinates of ${formatCount(kept.size)} of ${formatNumberOf(traces.length, "run")} over ${all
          .map(({ column }) => column.name)
          .join(", ")}. The table below has the same runs.`}
        onPointerMove={point}
        onPointerLeave={() => (hoveredRun.value = null)}
      >
        {traces.map(
          (trace) =>
            !kept.has(trace.runId) && (
              <path key={trace.runId} class="par-line off" d={pathOf(trace, frame)} />
            ),
        )}
        {keptTraces.map((trace) => (
          <path
            key={trace.runId}
            class={hovered === null || hovered === trace.runId ? "par-line" : "par-line dim"}
            style={{ stroke: colouring.value.of(trace.runId) }}
            d={pathOf(trace, frame)}
          />
        ))}
        {top !== undefined && (
          <>
            <path class="par-halo" d={pathOf(top, frame)} />
            <path
              class="par-line hovered"
              style={{ stroke: colouring.value.of(top.runId) }}
              d={pathOf(top, frame)}
            />
          </>
        )}
        {hasMissing && (
          <text class="e" x={frame.x(0) - 6} y={frame.missingY + 4}>
            none
          </text>
        )}
        {all.map((axis, nth) => (
          <AxisView
            key={axis.column.key}
            axis={axis}
            x={frame.x(nth)}
            top={TOP}
            height={height}
            brush={brushes.value.get(axis.column.key) ?? null}
          />
        ))}
      </svg>
      {all.map((axis, nth) => (
        <AxisHead key={axis.column.key} axis={axis} nth={nth} keys={keys} x={frame.x(nth)} gap={gap} />
      ))}
    </div>
  );
}

// --- What the colours mean: which column, and its scale.

function ColourKey() {
  const { axis } = colouring.value;
  return (
    <div class="par-key">
      <label class="check">
        Colour
        <select
          class="input sm sec-select"
          aria-label="Colour of the lines"
          value={axis?.column.key ?? BY_RUN}
          onChange={(event) => colourKey.set(event.currentTarget.value)}
        >
          <option value={BY_RUN}>by run</option>
          {columns.value.map(({ key, name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {axis !== null && (
        <span class="par-ramp">
          <span>{axis.scale === "words" ? "" : formatValue(axis.unitAt(0), 3)}</span>
          <i style={{ background: shownRamp(rampStops.value) }} />
          <span>{axis.scale === "words" ? "" : formatValue(axis.unitAt(1), 3)}</span>
        </span>
      )}
    </div>
  );
}

// --- The lines of runs through the axes, and which of them is nearest to a place.

export interface Frame {
  readonly top: number;
  readonly height: number;
  /** Where runs without a value pass. */
  readonly missingY: number;
  x(nth: number): number;
}

interface Trace {
  readonly runId: string;
  /** The height at each axis. */
  readonly ys: readonly number[];
}

export function traceOf(runId: string, axes: readonly Axis[], frame: Frame): Trace {
  const ys = axes.map((axis) => {
    const place = axis.place(axis.column.values.get(runId));
    return place === null ? frame.missingY : frame.top + (1 - place) * frame.height;
  });
  return { runId, ys };
}

function pathOf({ ys }: Trace, frame: Frame): string {
  return ys.map((y, nth) => `${nth === 0 ? "M" : "L"}${frame.x(nth).toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** The run whose line passes nearest to a place, not farther than so many pixels up or down; null for none. */
export function nearestTrace(
  traces: readonly Trace[],
  frame: Frame,
  x: number,
  y: number,
  reach: number,
): string | null {
  let [found, least]: [string | null, number] = [null, reach];
  for (const { runId, ys } of traces) {
    const distance = Math.abs(heightAt(ys, frame, x) - y);
    // The line that was drawn last lies on top.
    if (distance <= least) [found, least] = [runId, distance];
  }
  return found;
}

function heightAt(ys: readonly number[], frame: Frame, x: number): number {
  const last = ys.length - 1;
  if (last < 1) return ys[0] ?? Infinity;
  let nth = 0;
  while (nth < last - 1 && x > frame.x(nth + 1)) nth += 1;
  const [from, to] = [frame.x(nth), frame.x(nth + 1)];
  if (x < from - 8 || x > to + 8) return Infinity;
  const share = Math.min(1, Math.max(0, (x - from) / (to - from)));
  return ys[nth]! + share * (ys[nth + 1]! - ys[nth]!);
}

// --- The name of an axis: drag it, or use the arrow keys, to move the axis; below it its scale.

interface Props {
  axis: Axis;
  nth: number;
  keys: readonly string[];
  x: number;
  /** From one axis to the next. */
  gap: number;
}

const DRAG_FROM = 4; // pixels

function AxisHead({ axis, nth, keys, x, gap }: Props) {
  const start = useRef<number | null>(null);
  const [by, setBy] = useState(0);
  const { key, name } = axis.column;
  const move = (to: number): void => axisOrder.set(movedTo(keys, key, to));
  return (
    <div
      class="par-head"
      style={{ left: `${x + by}px`, width: `${Math.max(48, gap - 8)}px`, zIndex: by === 0 ? undefined : 1 }}
    >
      <button
        class="par-name clip"
        title={`${name}: drag to move it, or use the arrow keys`}
        aria-label={`Axis ${name}, ${nth + 1} of ${keys.length}. Arrow keys move it.`}
        onKeyDown={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          move(nth + step);
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.current = event.clientX;
        }}
        onPointerMove={(event) => {
          const moved = start.current === null ? 0 : event.clientX - start.current;
          if (Math.abs(moved) >= DRAG_FROM || by !== 0) setBy(moved);
        }}
        onPointerUp={() => {
          const places = Math.round(by / gap);
          start.current = null;
          setBy(0);
          if (places !== 0) move(nth + places);
        }}
        onPointerCancel={() => {
          start.current = null;
          setBy(0);
        }}
      >
        {name}
      </button>
      {axis.canBeLog ? (
        <button
          class="par-scale"
          aria-label={`Scale of ${name}: ${axis.scale}`}
          title={axis.scale === "log" ? "Make it linear" : "Make it logarithmic"}
          onClick={() => setScale(key, axis.scale === "log" ? "linear" : "log")}
        >
          {axis.scale}
        </button>
      ) : (
        <span class="par-scale muted">{axis.scale === "words" ? "\u00a0" : axis.scale}</span>
      )}
    </div>
  );
}

// --- One axis of the parallel coordinates: its values, a brush on it, and its name, by which it is moved.

const HALF = 12; // pixels left and right of the axis that can be brushed
const MAX_TEXT = 14;

interface AxisViewProps {
  axis: Axis;
  x: number;
  top: number;
  height: number;
  brush: Brush | null;
}

function AxisView({ axis, x, top, height, brush }: AxisViewProps) {
  const [drawn, setDrawn] = useState<{ from: number; to: number } | null>(null);
  const area = useRef<SVGRectElement>(null);
  const placeOf = (event: PointerEvent): number => {
    const bounds = area.current!.getBoundingClientRect();
    return 1 - (event.clientY - bounds.top) / bounds.height;
  };
  const y = (place: number): number => top + (1 - place) * height;
  const shown: Brush | null =
    drawn === null
      ? brush && { low: axis.placeOfUnit(brush.low), high: axis.placeOfUnit(brush.high) }
      : { low: Math.min(drawn.from, drawn.to), high: Math.max(drawn.from, drawn.to) };
  const within = (place: number): number => Math.min(1, Math.max(0, place));
  return (
    <g>
      <path class="par-axis" d={`M${x} ${top}V${top + height}`} />
      {axis.ticks.map(({ value: place, label: text }) => (
        <g key={`${place} ${text}`}>
          <path class="par-axis" d={`M${x - 3} ${y(place)}H${x}`} />
          <text class="e par-tick" x={x - 6} y={y(place) + 4}>
            {text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text}
          </text>
        </g>
      ))}
      {shown !== null && (
        <rect
          class="par-brush"
          x={x - 6}
          width={12}
          y={y(within(shown.high))}
          height={Math.max(2, y(within(shown.low)) - y(within(shown.high)))}
        />
      )}
      <rect
        ref={area}
        class="par-grip"
        x={x - HALF}
        y={top}
        width={2 * HALF}
        height={height}
        data-axis={axis.column.name}
        onPointerDown={(event) => {
          event.preventDefault();
          event.currentTarget.setPointerCapture(event.pointerId);
          const place = placeOf(event);
          setDrawn({ from: place, to: place });
        }}
        onPointerMove={(event) => drawn !== null && setDrawn({ from: drawn.from, to: placeOf(event) })}
        onPointerUp={(event) => {
          if (drawn === null) return;
          setBrush(axis.column.key, brushFrom(axis, drawn.from, placeOf(event)));
          setDrawn(null);
        }}
        onPointerCancel={() => setDrawn(null)}
      >
        <title>{`Draw along ${axis.column.name} to keep a part of it; click to keep all`}</title>
      </rect>
    </g>
  );
}
