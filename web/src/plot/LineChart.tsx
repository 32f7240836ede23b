/** A small chart of lines: axes with round numbers, a mark at each line's end, the values under the pointer. */
import { useId, useState } from "preact/hooks";
import { formatCount, formatValue } from "../data/format";
import { useWidth } from "../ui/useWidth";
import { bandPath, lastPoint, type Limits, type Line, linePath, valueNear, xLimits, yLimits } from "./lines";
import { formatTicks, linearTicks } from "./ticks";

interface Props {
  lines: readonly Line[];
  /** One sentence for those who do not see it. */
  summary: string;
  height: number;
  /** A place to mark with a line. */
  mark?: number | null;
  /** May a bad point lie outside, so that it does not flatten all others? */
  isCut?: boolean;
  /** The place under the pointer, and the values of the lines there; null when it leaves. */
  onPoint?: (at: number | null, values: readonly (number | null)[]) => void;
}

const [TOP, BOTTOM, RIGHT] = [6, 18, 8];
const DIGIT = 6.2;

export function LineChart({ lines, summary, height, mark = null, isCut = false, onPoint }: Props) {
  const [box, width] = useWidth<HTMLDivElement>(320);
  const clip = useId();
  const [place, setPlace] = useState<number | null>(null);
  const [across, up] = [xLimits(lines), yLimits(lines, isCut)];
  if (across === null || up === null)
    return <div ref={box} class="line-chart" style={{ height: `${height}px` }} />;

  const yTicks = linearTicks(up, height < 100 ? 3 : 4);
  const yNames = formatTicks(yTicks);
  const left = 8 + DIGIT * Math.max(1, ...yNames.map((name) => name.length));
  // There is nothing between two steps.
  const xTicks = linearTicks(across, Math.max(2, Math.min(5, Math.floor((width - left) / 72)))).filter(Number.isInteger);
  const toX = scaleTo(across, left, width - RIGHT);
  const toY = scaleTo(up, height - BOTTOM, TOP);
  const point = (at: number | null): void => {
    setPlace(at);
    onPoint?.(at, at === null ? [] : lines.map((line) => valueNear(line, at)));
  };
  const onMove = (event: PointerEvent): void => {
    const { left: start } = box.current!.getBoundingClientRect();
    const share = (event.clientX - start - left) / Math.max(1, width - RIGHT - left);
    const isInside = share >= 0 && share <= 1;
    point(isInside ? Math.round(across.low + share * (across.high - across.low)) : null);
  };
  return (
    <div ref={box} class="line-chart" style={{ height: `${height}px` }}>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={summary}
        onPointerMove={onMove}
        onPointerLeave={() => point(null)}
      >
        <clipPath id={clip}>
          <rect x={left - 1} y={0} width={Math.max(0, width - left)} height={height - BOTTOM + 3} />
        </clipPath>
        {yTicks.map((tick, at) => (
          <g key={tick}>
            <path class="grid" d={`M${left} ${toY(tick)}H${width - RIGHT}`} />
            <text class="e" x={left - 6} y={toY(tick) + 4}>
              {yNames[at]}
            </text>
          </g>
        ))}
        <path class="base" d={`M${left} ${height - BOTTOM}H${width - RIGHT}`} />
        {formatTicks(xTicks).map((name, at) => (
          <text
            key={name}
            class={edgeOf(at, xTicks.length, toX(xTicks[at]!), width)}
            x={toX(xTicks[at]!)}
            y={height - 4}
          >
            {name}
          </text>
        ))}
        <g clip-path={`url(#${clip})`}>
          {lines.map((line, at) => (
            <g key={at} style={{ color: line.colour }}>
              <path class="band" d={bandPath(line, toX, toY)} />
              {line.raw !== undefined && (
                <path class="raw" d={linePath({ x: line.x, y: line.raw }, toX, toY)} />
              )}
              <path class={at >= 4 ? "ln dashed" : "ln"} d={linePath(line, toX, toY)} />
              <End line={line} toX={toX} toY={toY} />
            </g>
          ))}
        </g>
        {mark !== null && <path class="mark" d={`M${toX(mark)} ${TOP}V${height - BOTTOM}`} />}
        {place !== null && <path class="cursor" d={`M${toX(place)} ${TOP}V${height - BOTTOM}`} />}
      </svg>
      {place !== null && onPoint === undefined && (
        <div class="chart-reading" aria-hidden="true">
          {formatCount(place)}: {lines.map((line) => readingOf(line, place)).join(" · ")}
        </div>
      )}
    </div>
  );
}

function End({ line, toX, toY }: { line: Line; toX: (x: number) => number; toY: (y: number) => number }) {
  const last = lastPoint(line);
  if (last === null || line.end === "none") return null;
  const [x, y] = [toX(last[0]), Math.max(4, toY(last[1]))];
  if (line.end === "cross") return <path class="ln" d={`M${x - 3} ${y - 3}l6 6m0-6l-6 6`} />;
  return (
    <circle class={line.end === "open" ? "open" : "fill"} cx={x} cy={y} r={line.end === "open" ? 3 : 2} />
  );
}

function readingOf(line: Line, place: number): string {
  const value = valueNear(line, place);
  return value === null ? "\u2013" : formatValue(value);
}

function scaleTo({ low, high }: Limits, from: number, to: number): (value: number) => number {
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

/** The last number must not stand out over the edge. */
function edgeOf(at: number, count: number, x: number, width: number): string {
  return at === count - 1 && x > width - 24 ? "e" : at === 0 && x < 8 ? "" : "c";
}
