/** Curves of several runs from 0 to 1 on both axes, with a point on each at the threshold. */
import { useWidth } from "../../measuring/useWidth";
import { colourSlot } from "../../runs/store";
import { shortNumber } from "../../charting/tickwords";
import type { Point } from "./curves";

const TICKS = [0, 0.25, 0.5, 0.75, 1];
const LEFT = 32;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 20;
const MIN_HEIGHT = 150;
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

export interface CurveLine {
  readonly runId: string;
  readonly points: readonly Point[];
  /** At the threshold; NaN where there is none. */
  readonly mark: Point;
}

interface Props {
  label: string;
  lines: readonly CurveLine[];
  /** What is said where there is no curve at all. */
  none: string;
  /** The line of a guess, from corner to corner. */
  hasDiagonal?: boolean;
}

export function CurveChart({ label, lines, none, hasDiagonal = false }: Props) {
  const [box, width] = useWidth<HTMLDivElement>(280);
  const height = Math.max(MIN_HEIGHT, Math.min(260, Math.round(width * 0.66)));
  const x = (value: number): number => LEFT + value * (width - LEFT - RIGHT);
  const y = (value: number): number => TOP + (1 - value) * (height - TOP - BOTTOM);
  const first = lines.find(({ mark }) => isKnown(mark))?.mark;
  return (
    <div ref={box}>
      <svg class="sec-chart" width={width} height={height} role="img" aria-label={label}>
        {TICKS.map((tick) => (
          <g key={tick}>
            <path class={tick === 0 ? "sec-base" : "sec-grid"} d={`M${x(0)} ${y(tick)}H${x(1)}`} />
            <text class="e" x={x(0) - 6} y={y(tick) + 4}>
              {shortNumber(tick)}
            </text>
            <text class={tick === 1 ? "e" : "c"} x={tick === 1 ? x(1) + 4 : x(tick)} y={height - 4}>
              {shortNumber(tick)}
            </text>
          </g>
        ))}
        {hasDiagonal && <path class="sec-grid" d={`M${x(0)} ${y(0)}L${x(1)} ${y(1)}`} />}
        {lines.map(({ runId, points }, nth) => (
          <path
            key={runId}
            class="sec-line"
            style={{ stroke: `var(--cat-${colourSlot(runId)})` }}
            // From the fifth line on colours alone do not tell them apart.
            stroke-dasharray={DASHES[Math.min(DASHES.length - 1, Math.floor(nth / 4))]}
            d={points
              .map((point, at) => `${at === 0 ? "M" : "L"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`)
              .join("")}
          />
        ))}
        {lines.every(({ points }) => points.length === 0) && (
          <text class="c" x={x(0.5)} y={y(0.5)}>
            {none}
          </text>
        )}
        {first !== undefined && <path class="sec-mark" d={`M${x(first.x)} ${y(0)}V${y(first.y)}H${x(0)}`} />}
        {lines.map(
          ({ runId, mark }) =>
            isKnown(mark) && (
              <circle
                key={runId}
                class="sec-point"
                style={{ fill: `var(--cat-${colourSlot(runId)})` }}
                r={4}
                cx={x(mark.x)}
                cy={y(mark.y)}
              />
            ),
        )}
      </svg>
    </div>
  );
}

function isKnown({ x, y }: Point): boolean {
  return Number.isFinite(x) && Number.isFinite(y);
}
