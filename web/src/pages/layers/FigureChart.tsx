/** A small chart over the steps of the map: bands, lines, the steps of alarms, the step under the pointer. */
import { formatCount } from "../../data/format";
import { Lines, SmallChart } from "../../plot/SmallChart";
import type { Line } from "../../plot/lines";
import { axisOf, extentOf, labelled, roomy, type Scale, shareAxis } from "../../plot/scale";
import { niceSpan } from "../../plot/ticks";
import * as state from "./state";
import { stepTicks } from "./steps";

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

export function FigureChart({ title, steps, bands, lines, isShare = false, mayBeLog = false, marks, onPoint, onGo }: Props) {
  const columns = [...lines.map(({ values }) => values), ...bands.flatMap(({ low, high }) => [low, high])];
  const scale = limitsOf(columns, { isShare, mayBeLog });
  // Of a logarithmic axis, nought is its lower end.
  const shown = (values: Float32Array): Float32Array => (scale.isLog === true ? values.map((one) => Math.max(one, scale.low)) : values);
  const drawn: Line[] = [
    ...bands.map((band) => ({ ...band, name: "", colour: "var(--cat-1)", x: steps, y: [], low: shown(band.low), high: shown(band.high), end: "none" as const })),
    ...lines.map(({ name, values, slot, steps: own = steps }) => ({
      ...{ name, x: own, y: shown(values), end: "none" as const },
      ...(slot === 0 ? { colour: "", look: "limit" as const } : { colour: `var(--cat-${slot})` }),
    })),
  ];
  const { low, high } = state.axis.value;
  return (
    <SmallChart
      label={`${title} over ${formatCount(steps.length)} places from step ${formatCount(Math.ceil(low))} to ${formatCount(Math.floor(high))}`}
      class="figure-chart"
      height={HEIGHT}
      x={(width) => ({ low, high, ticks: labelled(stepTicks({ low, high, width }, 64)) })}
      y={isShare ? shareAxis(scale, 4) : axisOf(scale, 4)}
      marks={[
        { at: state.step.value, look: "now" },
        { at: state.pointed.value?.step ?? null, look: "cursor" },
      ]}
      onPoint={onPoint}
      onGo={onGo}
    >
      {(space) => (
        <>
          {marks.map((step, at) => (
            <path key={at} class="alarm-step" d={`M${space.x(step)} ${space.top}V${space.bottom}`} />
          ))}
          <Lines lines={drawn} space={space} />
        </>
      )}
    </SmallChart>
  );
}

// --- The axis of values of a small chart: from where to where, straight or logarithmic.

/** Sizes further apart than this are shown by their powers of ten. */
const WIDE = 30;

export function limitsOf(columns: readonly Float32Array[], { isShare, mayBeLog }: { isShare: boolean; mayBeLog: boolean }): Scale {
  const span = extentOf(columns);
  if (span === null) return { low: 0, high: 1 };
  if (isShare) return { low: 0, high: span.high > 0.5 ? 1 : Math.max(0.01, span.high * 1.1) };
  const positive = extentOf(columns, true)?.low ?? Infinity;
  if (mayBeLog && span.low >= 0 && span.high > WIDE * positive) return { low: positive, high: span.high, isLog: true };
  return niceSpan(roomy(span));
}
