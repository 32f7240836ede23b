/** Mean with its deviation, extremes, zeros and what is no number, over all steps; a click goes to a step. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatShare, formatValue } from "../../data/format";
import { Lines, SmallChart, type Space, TableTwin } from "../../plot/SmallChart";
import { type Line, linePath, nearest } from "../../plot/lines";
import { type Figure, figureOf, withSign } from "../../plot/over-time";
import { axisOf, extentOf, roomy, stepAxis } from "../../plot/scale";
import { TwinSection } from "../../plot/tensor/Facts";
import * as store from "./store";

export function OverTime() {
  const [hover, setHover] = useState<number | null>(null);
  const records = store.records.value;
  const figures = useMemo(() => records.map(figureOf).filter((one) => one !== null), [records]);
  const shown = figures[hover ?? store.at.value];
  return (
    <TwinSection
      title="Over time"
      remark={shown !== undefined && describe(shown)}
      table={<FigureTable figures={figures} />}
      chart={<Chart figures={figures} hover={hover} onHover={setHover} />}
    />
  );
}

function describe(figure: Figure): string {
  const { step, mean, std } = figure;
  const value = mean === null ? "no finite values" : `mean ${withSign(figure, "mean", formatValue(mean, 3))}`;
  return `step ${formatCount(step)}: ${value}${std === null ? "" : ` ± ${formatValue(std, 3)}`} ·`;
}

function FigureTable({ figures }: { figures: readonly Figure[] }) {
  return (
    <TableTwin
      label="Figures over time"
      class="figure-table"
      heads={["step", "mean", "std", "min", "max", "zeros", "NaN / Inf"]}
      at={store.at.value}
      rows={figures.map((figure, nth) => [
        <button class="link" onClick={() => store.goTo(nth)}>
          {formatCount(figure.step)}
        </button>,
        ...(["mean", "std", "min", "max"] as const).map((name) => {
          const value = figure[name];
          return value === null ? "none" : withSign(figure, name, formatValue(value));
        }),
        figure.zeros === null ? "unknown" : formatShare(figure.zeros, 1),
        <span class={figure.numNan + figure.numInf > 0 ? "bad" : ""}>
          {formatCount(figure.numNan)} / {formatCount(figure.numInf)}
        </span>,
      ])}
    />
  );
}

interface ChartProps {
  figures: readonly Figure[];
  hover: number | null;
  onHover: (at: number | null) => void;
}

const HEIGHT = 124;
const ZEROS = 26;

/** The chart. */
function Chart({ figures, hover, onHover }: ChartProps) {
  const steps = figures.map(({ step }) => step);
  const lines = linesOf(figures, steps);
  const zerosHeight = figures.some(({ zeros }) => zeros !== null && zeros > 0) ? ZEROS : 0;
  const hasBad = figures.some(({ numNan, numInf }) => numNan + numInf > 0);
  const across = extentOf([steps]) ?? { low: 0, high: 1 };
  const up = extentOf(lines.flatMap(({ y, low = [], high = [] }) => [y, low, high])) ?? { low: 0, high: 1 };
  const other = store.otherAt.value;
  const stepAt = (at: number | null): number | null => (at === null ? null : (steps[at] ?? null));
  return (
    <>
      <SmallChart
        label={`Figures over ${figures.length} steps from ${across.low} to ${across.high}; the time bar goes to a step`}
        class="overtime"
        height={HEIGHT + zerosHeight}
        edges={{ left: 44, bottom: 20 + zerosHeight }}
        x={(room) => stepAxis(across, Math.max(2, Math.min(7, Math.floor(room / 110))))}
        y={axisOf(up.low === up.high ? roomy(up) : up)}
        marks={[
          { at: stepAt(store.at.value), look: "now", name: other === null ? "" : "A" },
          { at: stepAt(other), look: "now", name: "B" },
          { at: stepAt(hover), look: "cursor" },
        ]}
        onPoint={(step) => onHover(step === null ? null : nearest(steps, step))}
        onGo={(step) => store.goTo(nearest(steps, step))}
        over={(space) => (
          <>
            {zerosHeight > 0 && <Zeros figures={figures} steps={steps} space={space} />}
            {figures.map(({ step, numNan, numInf }, nth) =>
              numNan + numInf === 0 ? null : (
                <path key={nth} class="bad-step" d={`M${space.x(step)} ${space.top}V${space.bottom}`}>
                  <title>{`step ${step}: ${numNan} NaN, ${numInf} infinite`}</title>
                </path>
              ),
            )}
          </>
        )}
      >
        {(space) => <Lines lines={lines} space={space} />}
      </SmallChart>
      <div class="legend overtime-legend" aria-hidden="true">
        <Key look="mean-key" words="mean ± std" />
        <Key look="limit-key" words="min, max" />
        {zerosHeight > 0 && <Key look="zeros-key" words="share of zeros" />}
        {hasBad && <Key look="bad-key" words="NaN or infinite" />}
      </div>
    </>
  );
}

function Key({ look, words }: { look: string; words: string }) {
  return (
    <span>
      <i class={`key ${look}`} /> {words}
    </span>
  );
}

/** The mean with its deviation as a band, between the extremes. */
function linesOf(figures: readonly Figure[], x: readonly number[]): Line[] {
  const column = (name: "mean" | "std" | "min" | "max"): number[] => figures.map((figure) => figure[name] ?? NaN);
  const [mean, std] = [column("mean"), column("std")];
  const limit = (name: "min" | "max"): Line => ({ name, x, y: column(name), colour: "", end: "none", look: "limit" });
  return [
    limit("min"),
    limit("max"),
    {
      name: "mean",
      colour: "var(--cat-1)",
      x,
      y: mean,
      low: mean.map((one, at) => one - std[at]!),
      high: mean.map((one, at) => one + std[at]!),
      // A line of one point would not be seen.
      end: figures.length === 1 ? "dot" : "none",
    },
  ];
}

function Zeros({ figures, steps, space }: { figures: readonly Figure[]; steps: readonly number[]; space: Space }) {
  const y = (share: number): number => space.bottom + ZEROS + 2 - share * (ZEROS - 8);
  return (
    <>
      <path class="base" d={`M${space.left} ${y(0)}H${space.right}`} />
      <text class="e" x={space.left - 6} y={y(0)}>
        zeros
      </text>
      <path class="zeros" d={linePath({ x: steps, y: figures.map(({ zeros }) => zeros ?? NaN) }, space.x, y)} />
    </>
  );
}
