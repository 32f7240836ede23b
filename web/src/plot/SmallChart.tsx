/** A small chart in SVG: two axes, lines and whatever else is drawn between them, marks, a pointer and keys that read it. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { formatCount, formatValue } from "../data/format";
import { movedByKey } from "../data/time-steps";
import { useSize } from "../ui/useSize";
import { bandPath, lastFinite, type Line, linePath, nearest, valueNear, xLimits, yLimits } from "./lines";
import { type Axis, axisOf, shareOf, stepAxis, valueAtShare } from "./scale";

/** Where values stand, in pixels. */
export interface Space {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** Of the whole chart. */
  readonly width: number;
  readonly height: number;
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

export interface Mark {
  readonly at: number | null;
  /** Its class: quiet, under the pointer, the place that is shown. */
  readonly look: "mark" | "cursor" | "now";
  readonly name?: string;
}

/** A pixel of the chart. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly space: Space;
}

interface Edges {
  readonly left?: number;
  readonly right?: number;
  readonly top?: number;
  readonly bottom?: number;
}

export interface ChartProps {
  /** One sentence for those who do not see it. */
  label: string;
  /** In pixels, all that its place has, or by the width. */
  height: number | "all" | ((width: number) => number);
  /** By the pixels that it has. */
  x: (room: number) => Axis;
  y: Axis;
  class?: string;
  /** Pixels around the values, where they are not as usual; at the left is as much as the numbers take. */
  edges?: Edges | ((width: number) => Edges);
  /** What stands along the axes. */
  titles?: readonly [x: string, y: string];
  marks?: readonly Mark[];
  /** The place under the pointer, and the pixel; null when it leaves, or where a key went there. */
  onPoint?: (at: number | null, spot: Spot | null) => void;
  /** A place was pressed, or dragged over. */
  onGo?: (at: number) => void;
  /** The places that the arrow keys go to, and the one they are at: a chart with such takes the focus. */
  stops?: ArrayLike<number>;
  at?: number | null;
  /** Keys, in the place of those that go to stops; with them it takes the focus, too. */
  onKey?: (event: KeyboardEvent) => void;
  onClick?: () => void;
  /** What is read there, over the chart and for those who hear it. */
  reading?: string;
  /** Drawn between the axes, and what may stand out over them. */
  children?: (space: Space) => ComponentChildren;
  over?: (space: Space) => ComponentChildren;
}

const DIGIT = 7;
const EDGES = { top: 6, right: 10, bottom: 18 };
/** What a title takes beside its axis. */
const TITLE = 20;
const NO_TITLES = ["", ""] as const;
/** As far beside the axes the pointer still means their ends. */
const REACH = 12;

export function SmallChart({ label, height: wanted, x, y, marks = [], reading = "", children, over, ...props }: ChartProps) {
  const [box, room] = useSize<HTMLDivElement>();
  const clip = useId();
  const width = room.width || 320;
  const height = heightOf(wanted, width, room.height);
  const edges = edgesOf(width, y, props);
  const [right, bottom] = [width - edges.right, height - edges.bottom];
  const across = x(Math.max(1, right - edges.left));
  const space: Space = {
    ...{ left: edges.left, right, top: edges.top, bottom, width, height },
    x: (value) => edges.left + shareOf(across, value) * (right - edges.left),
    y: (value) => bottom - shareOf(y, value) * (bottom - edges.top),
  };
  const placeOf = (event: PointerEvent): number | null => {
    const pixel = event.clientX - box.current!.getBoundingClientRect().left;
    if (pixel < edges.left - REACH || pixel > right + REACH) return null;
    const share = (pixel - edges.left) / Math.max(1, right - edges.left);
    return valueAtShare(across, Math.min(1, Math.max(0, share)));
  };
  const press = (event: PointerEvent): void => {
    const at = (event.buttons & 1) === 1 && props.onGo !== undefined ? placeOf(event) : null;
    if (at !== null) props.onGo?.(at);
  };
  return (
    <div ref={box} class={`line-chart ${props.class ?? ""}`} style={wanted === "all" ? undefined : { height: `${height}px` }}>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={label}
        tabIndex={(props.stops ?? props.onKey) === undefined ? undefined : 0}
        onPointerDown={press}
        onPointerMove={(event) => {
          const { left, top } = box.current!.getBoundingClientRect();
          props.onPoint?.(placeOf(event), { x: event.clientX - left, y: event.clientY - top, space });
          press(event);
        }}
        onPointerLeave={() => props.onPoint?.(null, null)}
        onClick={props.onClick}
        onKeyDown={props.onKey ?? ((event) => readByKey(event, props))}
        onBlur={() => props.stops !== undefined && props.onPoint?.(null, null)}
      >
        <clipPath id={clip}>
          <rect x={edges.left - 1} y={0} width={Math.max(0, right - edges.left + 2)} height={Math.max(0, bottom + 3)} />
        </clipPath>
        <Axes across={across} up={y} space={space} titles={props.titles} />
        <g clip-path={`url(#${clip})`}>{children?.(space)}</g>
        {marks.map((mark, nth) => (
          <MarkLine key={nth} mark={mark} space={space} across={across} />
        ))}
        {over?.(space)}
      </svg>
      {reading !== "" && (
        <div class="chart-reading" role="status">
          {reading}
        </div>
      )}
    </div>
  );
}

function edgesOf(width: number, { ticks }: Axis, { titles: [xTitle, yTitle] = NO_TITLES, edges }: Pick<ChartProps, "titles" | "edges">) {
  const widest = Math.max(2, ...ticks.map(({ label }) => label.length));
  const left = 8 + DIGIT * widest + (yTitle === "" ? 0 : TITLE);
  const usual = { ...EDGES, left, bottom: EDGES.bottom + (xTitle === "" ? 0 : TITLE) };
  return { ...usual, ...(typeof edges === "function" ? edges(width) : edges) };
}

function heightOf(wanted: ChartProps["height"], width: number, all: number): number {
  if (wanted === "all") return all;
  return typeof wanted === "number" ? wanted : wanted(width);
}

interface AxesProps {
  across: Axis;
  up: Axis;
  space: Space;
  titles: ChartProps["titles"] | undefined;
}

function Axes({ across, up, space, titles = NO_TITLES }: AxesProps) {
  const { left, right, top, bottom, width, height, x, y } = space;
  return (
    <>
      <text class="c title" x={(left + right) / 2} y={height - 6}>
        {titles[0]}
      </text>
      <text class="c title" transform={`translate(11 ${(top + bottom) / 2}) rotate(-90)`}>
        {titles[1]}
      </text>
      {up.ticks.map(({ value, label }) => (
        <g key={value}>
          <path class="grid" d={`M${left} ${y(value)}H${right}`} />
          <text class="e" x={left - 6} y={y(value) + 4}>
            {label}
          </text>
        </g>
      ))}
      <path class="base" d={`M${left} ${bottom}H${right}`} />
      {across.ticks.map(({ value, label }) => {
        // The last number must not stand out over the edge.
        const isLast = x(value) > right - 14;
        return (
          <text key={value} class={isLast ? "e" : "c"} x={isLast ? Math.min(width, right + 6) : x(value)} y={bottom + 14}>
            {label}
          </text>
        );
      })}
    </>
  );
}

function MarkLine({ mark: { at, look, name = "" }, space, across }: { mark: Mark; space: Space; across: Axis }) {
  if (at === null || at < across.low || at > across.high) return null;
  const x = space.x(at);
  const isAtEnd = x > space.width - 24;
  return (
    <>
      <path class={look} d={`M${x} ${space.top}V${space.bottom}`} />
      {name !== "" && (
        <text class={isAtEnd ? "now-name e" : "now-name"} x={isAtEnd ? x - 4 : x + 4} y={space.top + 9}>
          {name}
        </text>
      )}
    </>
  );
}

/** From point to point by the arrows; the first key goes to the last one. */
function readByKey(event: KeyboardEvent, { stops, at = null, onPoint, onGo }: Pick<ChartProps, "stops" | "at" | "onPoint" | "onGo">): void {
  if (stops === undefined || stops.length === 0) return;
  const to = movedByKey(event, at === null ? stops.length : nearest(stops, at), stops.length);
  if (to !== null) onPoint?.(stops[to]!, null);
  else if (event.key === "Enter" && at !== null && onGo !== undefined) onGo(at);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Lines with their bands, from below upwards. */
export function Lines({ lines, space: { x, y } }: { lines: readonly Line[]; space: Space }) {
  return (
    <>
      {lines.map((line, at) => (
        <g key={at} style={{ color: line.colour }}>
          {line.low !== undefined && <path class="band" style={{ opacity: line.opacity }} d={bandPath(line, x, y)} />}
          {line.raw !== undefined && <path class="raw" d={linePath({ x: line.x, y: line.raw }, x, y)} />}
          <path class={line.look === undefined ? "ln" : `ln ${line.look}`} d={linePath(line, x, y)} />
          <End line={line} x={x} y={y} />
        </g>
      ))}
    </>
  );
}

function End({ line, x, y }: { line: Line } & Pick<Space, "x" | "y">) {
  const last = lastFinite(line.y);
  if (last < 0 || line.end === "none") return null;
  const [cx, cy] = [x(line.x[last]!), Math.max(4, y(line.y[last]!))];
  if (line.end === "cross") return <path class="ln" d={`M${cx - 3} ${cy - 3}l6 6m0-6l-6 6`} />;
  return <circle class={line.end === "open" ? "open" : "fill"} cx={cx} cy={cy} r={line.end === "open" ? 3 : 2} />;
}

interface LineChartProps {
  lines: readonly Line[];
  summary: string;
  height: number;
  /** A place to mark with a line. */
  mark?: number | null;
  /** May a bad point lie outside, so that it does not flatten all others? */
  isCut?: boolean;
  /** The place that is read, and the values of the lines there; without it the chart itself says them. */
  onPoint?: (at: number | null, values: readonly (number | null)[]) => void;
}

/** A chart of lines over steps, as far as they go. */
export function LineChart({ lines, summary, height, mark = null, isCut = false, onPoint }: LineChartProps) {
  const [place, setPlace] = useState<number | null>(null);
  const [across, up] = [xLimits(lines), yLimits(lines, isCut)];
  if (across === null || up === null) return <div class="line-chart" style={{ height: `${height}px` }} />;
  const values = place === null ? [] : lines.map((line) => valueNear(line, place));
  const longest = lines.reduce((most, { x }) => (x.length > most.length ? x : most), lines[0]!.x);
  return (
    <SmallChart
      label={summary}
      height={height}
      x={(room) => stepAxis(across, Math.max(2, Math.min(5, Math.floor(room / 72))))}
      y={axisOf(up, height < 100 ? 3 : 4)}
      marks={[
        { at: mark, look: "mark" },
        { at: place, look: "cursor" },
      ]}
      stops={longest}
      at={place}
      onPoint={(at) => {
        const step = at === null ? null : Math.round(at);
        setPlace(step);
        onPoint?.(step, step === null ? [] : lines.map((line) => valueNear(line, step)));
      }}
      reading={place === null || onPoint !== undefined ? "" : `${formatCount(place)}: ${values.map(valueText).join(" · ")}`}
    >
      {(space) => <Lines lines={lines.map((line, at) => (at >= 4 ? { ...line, look: "dashed" } : line))} space={space} />}
    </SmallChart>
  );
}

function valueText(value: number | null): string {
  return value === null ? "\u2013" : formatValue(value);
}

interface TwinProps {
  label: string;
  heads: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
  at?: number;
  class?: string;
}

/** The same numbers in rows. */
export function TableTwin({ label, heads, rows, at = -1, class: style = "" }: TwinProps) {
  return (
    <table class={`table ${style}`} aria-label={label}>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col" class="num">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, nth) => (
          <tr key={nth} aria-selected={at < 0 ? undefined : nth === at}>
            {cells.map((cell, column) => (
              <td key={column} class="num">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
