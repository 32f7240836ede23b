/** Parallel coordinates: an axis for each column, a line for each run. */
import { useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { setParams } from "../../data/route";
import { Group } from "../../plot/Figure";
import { Select } from "../../ui/Select";
import { followDrag } from "../../ui/drag";
import { useWidth } from "../../ui/useWidth";
import { type Axis, clipped } from "./columns";
import * as sheet from "./sheet";

const HEIGHT = 300;
const TOP = 48;
const BOTTOM = 28;
const LEFT = 64;
const RIGHT = 56;
/** Of an axis. */
const LENGTH = HEIGHT - TOP - BOTTOM;
/** Where runs without a value pass. */
const MISSING_Y = TOP + LENGTH + 16;
const PADDING = 24; // of the place around it
const REACH = 10;
const MIN_GAP = 84;
const MANY = 40; // lines: then each is thinner

export function Coordinates() {
  const [box, width] = useWidth<HTMLDivElement>(800);
  const numAxes = sheet.axes.value.length;
  const numBrushes = sheet.brushes.value.size;
  const tools = (
    <>
      {numBrushes > 0 && (
        <button class="btn quiet sm" onClick={() => setParams({ brush: null })}>
          Clear {formatNumberOf(numBrushes, "brush", "brushes")}
        </button>
      )}
      <ColourKey />
    </>
  );
  return (
    <Group name="parallel coordinates" tools={tools}>
      <div ref={box} class="par-place">
        {numAxes < 2 ? (
          <p class="muted par-few">It takes two columns that differ. Choose columns on the left.</p>
        ) : (
          <Lines width={Math.max(width - PADDING, LEFT + RIGHT + (numAxes - 1) * MIN_GAP)} />
        )}
      </div>
    </Group>
  );
}

function Lines({ width }: { width: number }) {
  const all = sheet.axes.value;
  const gap = (width - LEFT - RIGHT) / (all.length - 1);
  const xs = all.map((_, nth) => LEFT + nth * gap);
  const kept = sheet.keptIds.value;
  const traces = sheet.allRuns.value.map(({ id }) => traceOf(id, all));
  const keptTraces = traces.filter(({ runId }) => kept.has(runId));
  const hovered = sheet.hoveredRun.value;
  const top = traces.find(({ runId }) => runId === hovered);
  const point = (event: PointerEvent): void => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    sheet.hoveredRun.value = nearestTrace(keptTraces, xs, event.clientX - left, event.clientY - top);
  };
  const names = all.map(({ column }) => column.name).join(", ");
  const numKept = `${formatCount(kept.size)} of ${formatNumberOf(traces.length, "run")}`;
  return (
    <div class="par-canvas" style={{ width: `${width}px`, height: `${HEIGHT}px` }}>
      <svg
        class={traces.length > MANY ? "sec-chart par-lines many" : "sec-chart par-lines"}
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Parallel coordinates of ${numKept} over ${names}. The table below has the same runs.`}
        onPointerMove={point}
        onPointerLeave={() => (sheet.hoveredRun.value = null)}
      >
        {traces.map(
          (trace) => !kept.has(trace.runId) && <path key={trace.runId} class="par-line off" d={pathOf(trace, xs)} />,
        )}
        {keptTraces.map((trace) => (
          <path
            key={trace.runId}
            class={hovered === null || hovered === trace.runId ? "par-line" : "par-line dim"}
            style={{ stroke: sheet.lineColour(trace.runId) }}
            d={pathOf(trace, xs)}
          />
        ))}
        {top !== undefined && (
          <>
            <path class="par-halo" d={pathOf(top, xs)} />
            <path class="par-line hovered" style={{ stroke: sheet.lineColour(top.runId) }} d={pathOf(top, xs)} />
          </>
        )}
        {traces.some(({ ys }) => ys.includes(MISSING_Y)) && (
          <text class="e" x={LEFT - 6} y={MISSING_Y + 4}>
            none
          </text>
        )}
        {all.map((axis, nth) => (
          <AxisView key={axis.column.key} axis={axis} x={xs[nth]!} />
        ))}
      </svg>
      {all.map((axis, nth) => (
        <AxisHead key={axis.column.key} axis={axis} nth={nth} x={xs[nth]!} gap={gap} />
      ))}
    </div>
  );
}

/** What the colours mean: which column, and its scale. */
function ColourKey() {
  const axis = sheet.colourAxis.value;
  const end = (at: number): string => (axis === null || axis.scale === "words" ? "" : formatValue(axis.unitAt(at), 3));
  const stops = [0, 0.25, 0.5, 0.75, 1].map(sheet.colourAt);
  return (
    <div class="par-key">
      <label class="check">
        Colour
        <Select
          label="Colour of the lines"
          look="input sm sec-select"
          value={axis?.column.key ?? sheet.BY_RUN}
          options={[[sheet.BY_RUN, "by run"], ...sheet.columns.value.map(({ key, name }) => [key, name] as const)]}
          set={sheet.colourKey.set}
        />
      </label>
      {axis !== null && (
        <span class="par-ramp">
          <span>{end(0)}</span>
          <i style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
          <span>{end(1)}</span>
        </span>
      )}
    </div>
  );
}

// --- The lines of runs through the axes, and which of them is nearest to a place.

interface Trace {
  readonly runId: string;
  readonly ys: readonly number[];
}

export function traceOf(runId: string, axes: readonly Axis[]): Trace {
  const ys = axes.map((axis) => {
    const place = axis.place(axis.column.values.get(runId));
    return place === null ? MISSING_Y : yOf(place);
  });
  return { runId, ys };
}

function yOf(place: number): number {
  return TOP + (1 - place) * LENGTH;
}

function pathOf({ ys }: Trace, xs: readonly number[]): string {
  return ys.map((y, nth) => `${nth === 0 ? "M" : "L"}${xs[nth]!.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** The run whose line passes nearest to a place, not farther up or down than a pointer reaches; null for none. */
export function nearestTrace(traces: readonly Trace[], xs: readonly number[], x: number, y: number): string | null {
  let [found, least]: [string | null, number] = [null, REACH];
  for (const { runId, ys } of traces) {
    const distance = Math.abs(heightAt(ys, xs, x) - y);
    // The line that was drawn last lies on top.
    if (distance <= least) [found, least] = [runId, distance];
  }
  return found;
}

function heightAt(ys: readonly number[], xs: readonly number[], x: number): number {
  let nth = 0;
  while (nth < xs.length - 2 && x > xs[nth + 1]!) nth += 1;
  const [from, to] = [xs[nth]!, xs[nth + 1]!];
  if (x < from - 8 || x > to + 8) return Infinity;
  const share = Math.min(1, Math.max(0, (x - from) / (to - from)));
  return ys[nth]! + share * (ys[nth + 1]! - ys[nth]!);
}

const DRAG_FROM = 4; // pixels

/** The name of an axis: drag it, or use the arrow keys, to move the axis; below it its scale. */
function AxisHead({ axis, nth, x, gap }: { axis: Axis; nth: number; x: number; gap: number }) {
  const [by, setBy] = useState(0);
  const { key, name } = axis.column;
  const keys = sheet.axes.value.map(({ column }) => column.key);
  const move = (places: number): void => sheet.axisOrder.set(sheet.movedTo(keys, key, nth + places));
  const isLog = axis.scale === "log";
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
          move(step);
        }}
        onPointerDown={(event) => {
          const start = event.clientX;
          const moved = (to: PointerEvent): number => to.clientX - start;
          const drop = (to: PointerEvent | null): void => {
            const places = to === null ? 0 : Math.round(moved(to) / gap);
            setBy(0);
            if (places !== 0) move(places);
          };
          followDrag(event, (to) => setBy((now) => (now !== 0 || Math.abs(moved(to)) >= DRAG_FROM ? moved(to) : 0)), drop);
        }}
      >
        {name}
      </button>
      {axis.canBeLog ? (
        <button
          class="par-scale"
          aria-label={`Scale of ${name}: ${axis.scale}`}
          title={isLog ? "Make it linear" : "Make it logarithmic"}
          onClick={() => sheet.setLog(key, !isLog)}
        >
          {axis.scale}
        </button>
      ) : (
        <span class="par-scale muted">{axis.scale === "words" ? "\u00a0" : axis.scale}</span>
      )}
    </div>
  );
}

const HALF = 12; // pixels left and right of the axis that can be brushed
const MAX_TEXT = 14;

/** One axis: its values, and a brush on it. */
function AxisView({ axis, x }: { axis: Axis; x: number }) {
  /** From where it is drawn to where, as places on the axis. */
  const [drawn, setDrawn] = useState<readonly [number, number] | null>(null);
  const { key, name } = axis.column;
  const brush = sheet.brushes.value.get(key);
  const shown = drawn ?? (brush && [axis.placeOfUnit(brush.low), axis.placeOfUnit(brush.high)]);
  const [from, to] = (shown ?? []).map((place) => yOf(Math.min(1, Math.max(0, place)))).sort((a, b) => a - b);
  const draw = (event: PointerEvent): void => {
    const { top, height } = (event.currentTarget as Element).getBoundingClientRect();
    const placeOf = ({ clientY }: PointerEvent): number => 1 - (clientY - top) / height;
    const start = placeOf(event);
    event.preventDefault();
    setDrawn([start, start]);
    const drop = (end: PointerEvent | null): void => {
      if (end !== null) sheet.setBrush(key, sheet.brushFrom(axis, start, placeOf(end)));
      setDrawn(null);
    };
    followDrag(event, (end) => setDrawn([start, placeOf(end)]), drop);
  };
  return (
    <g>
      <path class="par-axis" d={`M${x} ${TOP}V${TOP + LENGTH}`} />
      {axis.ticks.map(({ value: place, label: text }) => (
        <g key={`${place} ${text}`}>
          <path class="par-axis" d={`M${x - 3} ${yOf(place)}H${x}`} />
          <text class="e par-tick" x={x - 6} y={yOf(place) + 4}>
            {clipped(text, MAX_TEXT)}
          </text>
        </g>
      ))}
      {from !== undefined && to !== undefined && (
        <rect class="par-brush" x={x - 6} width={12} y={from} height={Math.max(2, to - from)} />
      )}
      <rect class="par-grip" x={x - HALF} y={TOP} width={2 * HALF} height={LENGTH} data-axis={name} onPointerDown={draw}>
        <title>{`Draw along ${name} to keep a part of it; click to keep all`}</title>
      </rect>
    </g>
  );
}
