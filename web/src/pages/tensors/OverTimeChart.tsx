/** The chart of figures over steps. */
import { Lines, SmallChart, type Space } from "../../plot/SmallChart";
import { type Line, linePath, nearest } from "../../plot/lines";
import type { Figure } from "../../plot/over-time";
import { axisOf, extentOf, roomy, stepAxis } from "../../plot/scale";

interface Props {
  figures: readonly Figure[];
  at: number;
  /** The other one of two that are compared. */
  other: number | null;
  hover: number | null;
  onHover: (at: number | null) => void;
  onGo: (at: number) => void;
}

const HEIGHT = 124;
const ZEROS = 26;

export function OverTimeChart({ figures, at, other, hover, onHover, onGo }: Props) {
  const steps = figures.map(({ step }) => step);
  const lines = linesOf(figures, steps);
  const hasZeros = figures.some(({ zeros }) => zeros !== null && zeros > 0);
  const across = extentOf([steps]) ?? { low: 0, high: 1 };
  const up = extentOf(lines.flatMap(({ y, low = [], high = [] }) => [y, low, high])) ?? { low: 0, high: 1 };
  return (
    <>
      <SmallChart
        label={`Figures over ${figures.length} steps from ${across.low} to ${across.high}; the time bar goes to a step`}
        class="overtime"
        height={HEIGHT + (hasZeros ? ZEROS : 0)}
        edges={{ left: 44, bottom: 20 + (hasZeros ? ZEROS : 0) }}
        x={(room) => stepAxis(across, Math.max(2, Math.min(7, Math.floor(room / 110))))}
        y={axisOf(up.low === up.high ? roomy(up) : up)}
        marks={[
          { at: steps[at] ?? null, look: "now", name: other === null ? "" : "A" },
          { at: other === null ? null : (steps[other] ?? null), look: "now", name: "B" },
          { at: hover === null ? null : (steps[hover] ?? null), look: "cursor" },
        ]}
        onPoint={(step) => onHover(step === null ? null : nearest(steps, step))}
        onGo={(step) => onGo(nearest(steps, step))}
        over={(space) => (
          <>
            {hasZeros && <Zeros figures={figures} steps={steps} space={space} />}
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
      <Legend figures={figures} hasZeros={hasZeros} />
    </>
  );
}

/** The mean with its deviation as a band, between the extremes. */
function linesOf(figures: readonly Figure[], x: readonly number[]): Line[] {
  const column = (pick: (figure: Figure) => number | null): number[] => figures.map((figure) => pick(figure) ?? NaN);
  const [mean, std] = [column((figure) => figure.mean), column((figure) => figure.std)];
  const limit = { x, colour: "", end: "none", look: "limit" } as const;
  return [
    { ...limit, name: "min", y: column(({ min }) => min) },
    { ...limit, name: "max", y: column(({ max }) => max) },
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

function Legend({ figures, hasZeros }: { figures: readonly Figure[]; hasZeros: boolean }) {
  const keys = [
    ["mean-key", "mean ± std"],
    ["limit-key", "min, max"],
    ...(hasZeros ? [["zeros-key", "share of zeros"]] : []),
    ...(figures.some(({ numNan, numInf }) => numNan + numInf > 0) ? [["bad-key", "NaN or infinite"]] : []),
  ];
  return (
    <div class="legend overtime-legend" aria-hidden="true">
      {keys.map(([key, words]) => (
        <span key={key}>
          <i class={`key ${key}`} /> {words}
        </span>
      ))}
    </div>
  );
}
