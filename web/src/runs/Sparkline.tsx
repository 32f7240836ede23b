/** The course of a run's loss, without axes: it ends in a dot, or in a cross where the run died. */
import { formatValue } from "../format";
import type { RunState } from "../wire";
import { linePath } from "./chart/lines";

const [WIDTH, HEIGHT] = [112, 28];
const [LEFT, RIGHT, TOP, BOTTOM] = [2, 106, 4, 23];

interface Props {
  name: string;
  /** Means of a few points each. */
  values: readonly (number | null)[];
  /** The last value itself; null where it is no number, undefined where nobody knows it. */
  last: number | null | undefined;
  state: RunState;
  isLive: boolean;
  /** From 0 to 1, how much of all its steps are done; 1 where nobody said how many there are. */
  share: number;
}

export function Sparkline({ name, values, last, state, isLive, share }: Props) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return <span class="muted">{"\u2013"}</span>;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const right = LEFT + Math.max(0.08, Math.min(1, share)) * (RIGHT - LEFT);
  const toX = (at: number): number => LEFT + (at / Math.max(1, values.length - 1)) * (right - LEFT);
  const toY = (value: number): number =>
    high === low ? (TOP + BOTTOM) / 2 : BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);
  const y = values.map((value) => value ?? NaN);
  const end = values.findLastIndex((value) => value !== null);
  const [endX, endY] = [toX(end), toY(values[end]!)];
  const style = state === "died" ? "died" : isLive ? "live" : "";
  return (
    <svg
      class={`spark ${style}`}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={describeSpark(name, known, last)}
    >
      <path class="base" d={`M${LEFT} 25.5H${RIGHT + 2}`} />
      <path class="ln" d={linePath({ x: y.map((_, at) => at), y }, toX, toY)} />
      {state === "died" ? (
        <path class="ln" d={`M${endX - 3} ${endY - 3}l6 6m0-6l-6 6`} />
      ) : (
        <circle class={isLive ? "end pulse" : "end"} cx={endX} cy={endY} r={2} />
      )}
    </svg>
  );
}

/** `loss, from about 0.208 to 0.00495`: only the last value is known exactly. */
export function describeSpark(name: string, known: readonly number[], last: number | null | undefined): string {
  const about = (value: number): string => `about ${formatValue(value, 3)}`;
  const end = last === undefined ? about(known.at(-1)!) : formatValue(last ?? NaN, 3);
  return `${name}, from ${about(known[0]!)} to ${end}`;
}
