/** A small chart over the steps of the map: bands, lines, the steps of alarms, the step under the pointer. */
import { useId } from "preact/hooks";
import { formatCount } from "../../data/format";
import { bandPath, linePath } from "../../plot/lines";
import { formatTicks, linearTicks, logTicks, niceSpan, type Span } from "../../plot/ticks";
import { useWidth } from "../../ui/useWidth";
import * as state from "./state";
import { type Axis, placeOf, stepTicks, stepUnder } from "./steps";

export interface ChartBand {
  readonly low: Float32Array;
  readonly high: Float32Array;
  readonly opacity: number;
}

export interface ChartLine {
  readonly name: string;
  readonly values: Float32Array;
  /** Where they are not those of the chart. */
  readonly steps?: readonly number[];
  /** The number of its colour; 0 for a quiet one. */
  readonly slot: number;
}

interface Props {
  title: string;
  steps: readonly number[];
  bands: readonly ChartBand[];
  lines: readonly ChartLine[];
  isShare?: boolean;
  /** Logarithmic where all is positive and spans decades. */
  mayBeLog?: boolean;
  /** Steps of alarms. */
  marks: readonly number[];
  onPoint: (step: number | null) => void;
  onGo: (step: number) => void;
}

const HEIGHT = 124;
const [TOP, BOTTOM, RIGHT] = [6, 18, 10];
const DIGIT = 6.2;

export function FigureChart({ title, steps, bands, lines, isShare = false, mayBeLog = false, marks, onPoint, onGo }: Props) {
  const [box, width] = useWidth<HTMLDivElement>(260);
  const clip = useId();
  const limits = limitsOf([...lines.map(({ values }) => values), ...bands.flatMap(({ low, high }) => [low, high])], {
    isShare,
    mayBeLog,
  });
  const ticks = ticksOf(limits);
  const names = formatTicks(isShare ? ticks.map((tick) => 100 * tick) : ticks).map((name) => (isShare ? `${name}%` : name));
  const left = 8 + DIGIT * Math.max(2, ...names.map((name) => name.length)) + (isShare ? 4 : 0);
  const { low, high } = state.axis.value;
  const axis: Axis = { low, high, width: Math.max(1, width - left - RIGHT) };
  const toX = (step: number): number => left + placeOf(axis, step);
  const toY = (value: number): number => TOP + (1 - placeValue(limits, value)) * (HEIGHT - TOP - BOTTOM);
  const stepOf = (event: MouseEvent): number | null => {
    const x = event.clientX - box.current!.getBoundingClientRect().left - left;
    return x < -4 || x > axis.width + 4 ? null : stepUnder(axis, x);
  };
  const onClick = (event: MouseEvent): void => {
    const step = stepOf(event);
    if (step !== null) onGo(step);
  };
  return (
    <div ref={box} class="line-chart figure-chart" style={{ height: `${HEIGHT}px` }}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${title} over ${formatCount(steps.length)} places from step ${formatCount(Math.ceil(low))} to ${formatCount(Math.floor(high))}`}
        onPointerMove={(event) => onPoint(stepOf(event))}
        onPointerLeave={() => onPoint(null)}
        onClick={onClick}
      >
        <clipPath id={clip}>
          <rect x={left - 1} y={0} width={axis.width + 2} height={HEIGHT - BOTTOM + 2} />
        </clipPath>
        {ticks.map((tick, at) => (
          <g key={tick}>
            <path class="grid" d={`M${left} ${toY(tick)}H${width - RIGHT}`} />
            <text class="e" x={left - 6} y={toY(tick) + 4}>
              {names[at]}
            </text>
          </g>
        ))}
        <StepNames axis={axis} toX={toX} />
        <g clip-path={`url(#${clip})`}>
          {marks.map((step, at) => (
            <path key={at} class="alarm-step" d={`M${toX(step)} ${TOP}V${HEIGHT - BOTTOM}`} />
          ))}
          {bands.map((band, at) => (
            <path
              key={at}
              class="fan"
              style={{ opacity: band.opacity }}
              d={bandPath({ name: "", colour: "", x: steps, y: [], end: "none", low: band.low, high: band.high }, toX, toY)}
            />
          ))}
          {lines.map(({ name, values, slot, steps: own = steps }) => (
            <path
              key={name}
              class={slot === 0 ? "limit" : "ln"}
              style={slot === 0 ? {} : { color: `var(--cat-${slot})` }}
              d={linePath({ x: own, y: values }, toX, toY)}
            />
          ))}
        </g>
        <Cursors toX={toX} axis={axis} />
      </svg>
    </div>
  );
}

function ticksOf({ low, high, isLog }: ValueAxis): number[] {
  return isLog ? logTicks({ low, high }) : linearTicks({ low, high }, 4);
}

function StepNames({ axis, toX }: { axis: Axis; toX: (step: number) => number }) {
  const ticks = stepTicks(axis, 64);
  return (
    <>
      {formatTicks(ticks).map((name, at) => (
        <text key={name} class={toX(ticks[at]!) > axis.width + 10 ? "e" : "c"} x={toX(ticks[at]!)} y={HEIGHT - 4}>
          {name}
        </text>
      ))}
    </>
  );
}

function Cursors({ toX, axis }: { toX: (step: number) => number; axis: Span }) {
  const isSeen = (step: number): boolean => step >= axis.low && step <= axis.high;
  const [step, at] = [state.step.value, state.pointed.value?.step ?? null];
  return (
    <>
      {step !== null && isSeen(step) && <path class="now" d={`M${toX(step)} ${TOP}V${HEIGHT - BOTTOM}`} />}
      {at !== null && isSeen(at) && <path class="cursor" d={`M${toX(at)} ${TOP}V${HEIGHT - BOTTOM}`} />}
    </>
  );
}

// --- The axis of values of a small chart: from where to where, straight or logarithmic.

interface ValueAxis extends Span {
  readonly isLog: boolean;
}

interface Choice {
  readonly isShare: boolean;
  readonly mayBeLog: boolean;
}

/** Sizes further apart than this are shown by their powers of ten. */
const WIDE = 30;

export function limitsOf(columns: readonly Float32Array[], { isShare, mayBeLog }: Choice): ValueAxis {
  let [low, high, positive] = [Infinity, -Infinity, Infinity];
  for (const values of columns) {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
      if (value > 0) positive = Math.min(positive, value);
    }
  }
  if (low > high) return { low: 0, high: 1, isLog: false };
  if (isShare) return { low: 0, high: high > 0.5 ? 1 : Math.max(0.01, high * 1.1), isLog: false };
  if (mayBeLog && low >= 0 && high > WIDE * positive) return { low: positive, high, isLog: true };
  return { ...niceSpan(roomy(low, high, mayBeLog)), isLog: false };
}

function roomy(low: number, high: number, isSize: boolean): Span {
  if (low === high) {
    const room = low === 0 ? 1 : Math.abs(low) / 10;
    return { low: low - room, high: high + room };
  }
  // A size is never below nought, and nought is near.
  return { low: isSize && low < high / 2 ? 0 : low, high };
}

/** From 0 to 1; what lies outside, outside. Of a logarithmic axis, nought is its lower end. */
export function placeValue({ low, high, isLog }: ValueAxis, value: number): number {
  if (!isLog) return (value - low) / (high - low);
  return value <= low ? 0 : Math.log(value / low) / Math.log(high / low);
}
