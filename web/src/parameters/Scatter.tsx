/** One column against another: a point for each run. */
import { formatNumberOf } from "../format";
import { useWidth } from "../measuring/useWidth";
import { Group } from "../sections/Group";
import type { Column } from "./columns";
import { allRuns, axisFor, colouring, columns, keptIds } from "./sheet";
import { hoveredRun, scatterKeys, setScatter } from "./state";
import { runsById } from "../runs/store";
import { valueText } from "./words";
import type { Axis, Tick } from "./axes";

const LEFT = 52;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 22;
const MAX_TEXT = 8;
const REACH = 12;
const PADDING = 24; // of the place around it
const TICK_ROOM = 44; // pixels

export function Scatter() {
  const [box, width] = useWidth<HTMLDivElement>(360);
  const x = columnFor(scatterKeys.value.x, "hparam");
  const y = columnFor(scatterKeys.value.y, "metric");
  const [across, up] = [x && axisFor(x.key), y && axisFor(y.key)];
  const hovered = hoveredRun.value === null ? undefined : runsById.value.get(hoveredRun.value);
  return (
    <Group
      name="scatter"
      tools={
        <>
          <Choice label="Across" side="x" chosen={x} />
          <Choice label="Up" side="y" chosen={y} />
        </>
      }
    >
      <div ref={box} class="par-place scatter">
        <p class="sec-remark clip par-remark">
          {hovered !== undefined && x !== null && y !== null
            ? `${hovered.name}: ${valueText(x.values.get(hovered.id))}, ${valueText(y.values.get(hovered.id))}`
            : "\u00a0"}
        </p>
        {across === null || up === null ? (
          <p class="muted par-few">It takes a hyperparameter and a metric.</p>
        ) : (
          <Points across={across} up={up} width={Math.max(160, width - PADDING)} />
        )}
      </div>
    </Group>
  );
}

function Points({ across, up, width }: { across: Axis; up: Axis; width: number }) {
  const height = Math.max(180, Math.min(300, Math.round(width * 0.66)));
  const x = (place: number): number => LEFT + place * (width - LEFT - RIGHT);
  const y = (place: number): number => TOP + (1 - place) * (height - TOP - BOTTOM);
  const points = allRuns.value.flatMap(({ id }) => {
    const [right, high] = [across.place(across.column.values.get(id)), up.place(up.column.values.get(id))];
    return right === null || high === null ? [] : [{ id, x: x(right), y: y(high) }];
  });
  const numMissing = allRuns.value.length - points.length;
  const point = (event: PointerEvent): void => {
    const bounds = (event.currentTarget as Element).getBoundingClientRect();
    const [atX, atY] = [event.clientX - bounds.left, event.clientY - bounds.top];
    let [found, least]: [string | null, number] = [null, REACH];
    for (const one of points) {
      const distance = Math.hypot(one.x - atX, one.y - atY);
      if (distance <= least && keptIds.value.has(one.id)) [found, least] = [one.id, distance];
    }
    hoveredRun.value = found;
  };
  return (
    <>
      <svg
        class="sec-chart"
        width={width}
        height={height}
        role="img"
        aria-label={`${up.column.name} over ${across.column.name}: ${formatNumberOf(points.length, "run")}`}
        onPointerMove={point}
        onPointerLeave={() => (hoveredRun.value = null)}
      >
        {up.ticks.map(({ place, text }) => (
          <g key={`${place} ${text}`}>
            <path class="sec-grid" d={`M${x(0)} ${y(place)}H${x(1)}`} />
            <text class="e" x={x(0) - 6} y={y(place) + 4}>
              {clipped(text)}
            </text>
          </g>
        ))}
        {spaced(across.ticks, TICK_ROOM / (width - LEFT - RIGHT)).map(({ place, text }) => (
          <text
            key={`${place} ${text}`}
            class={place > 0.95 ? "e" : "c"}
            x={place > 0.95 ? x(place) + RIGHT : x(place)}
            y={height - 5}
          >
            {clipped(text)}
          </text>
        ))}
        <path class="sec-base" d={`M${x(0)} ${y(0) + 4}H${x(1)}`} />
        {points.map((one) => (
          <circle
            key={one.id}
            class={
              keptIds.value.has(one.id)
                ? hoveredRun.value === one.id
                  ? "par-point on"
                  : "par-point"
                : "par-point off"
            }
            style={{ fill: colouring.value.of(one.id) }}
            r={hoveredRun.value === one.id ? 6 : 4}
            cx={one.x}
            cy={one.y}
          />
        ))}
      </svg>
      {numMissing > 0 && <p class="muted fs-1">{formatNumberOf(numMissing, "run")} without both values</p>}
    </>
  );
}

/** The ticks that have room beside each other. */
function spaced(ticks: readonly Tick[], least: number): readonly Tick[] {
  let before = -Infinity;
  return [...ticks]
    .sort((a, b) => a.place - b.place)
    .filter(({ place }) => {
      if (place - before < least) return false;
      before = place;
      return true;
    });
}

function clipped(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text;
}

/** The column that was chosen, or the first of its family that can show something. */
function columnFor(key: string, family: Column["family"]): Column | null {
  const all = columns.value;
  return (
    all.find((one) => one.key === key) ??
    all.find((one) => one.family === family && one.isNumeric) ??
    all.find((one) => one.family === family) ??
    null
  );
}

function Choice({ label, side, chosen }: { label: string; side: "x" | "y"; chosen: Column | null }) {
  return (
    <select
      class="input sm sec-select"
      aria-label={`${label}: column of the scatter`}
      value={chosen?.key ?? ""}
      onChange={(event) => setScatter(side, event.currentTarget.value)}
    >
      {columns.value.map(({ key, name }) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}
