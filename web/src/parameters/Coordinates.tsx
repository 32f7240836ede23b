/** Parallel coordinates: an axis for each column, a line for each run. */
import { formatCount, formatNumberOf } from "../format";
import { useWidth } from "../measuring/useWidth";
import { Group } from "../sections/Group";
import { AxisHead } from "./AxisHead";
import { AxisView } from "./AxisView";
import { ColourKey } from "./ColourKey";
import { allRuns, axes, colouring, keptIds } from "./sheet";
import { brushes, clearBrushes, hoveredRun } from "./state";
import { nearestTrace, pathOf, traceOf, type Frame } from "./tracing";

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
        <button class="btn quiet sm" onClick={clearBrushes}>
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
