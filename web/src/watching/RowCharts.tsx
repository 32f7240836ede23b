/** The figures of a row over steps: how its values are spread, mean and deviation, size, shares. */
import type { ComponentChildren } from "preact";
import { FigureChart, type ChartBand, type ChartLine } from "./FigureChart";
import { figureOf, formatFigure } from "./figures";
import { columnOf, exactLine, hasColumn, isEstimate, middleSteps, sampleText, type RowFigures } from "./rowfigures";
import * as state from "./state";
import { bucketSpans, nearestBucket } from "./steps";

interface ChartPlan {
  readonly title: string;
  readonly bands: readonly ChartBand[];
  readonly lines: readonly ChartLine[];
  /** From 0 to 1, written as per cent. */
  readonly isShare?: boolean;
  readonly mayBeLog?: boolean;
  /** What stands above the chart: its values at a place. */
  readonly read: (at: number) => ComponentChildren;
}

export function RowCharts({ figures }: { figures: RowFigures }) {
  const steps = middleSteps(figures);
  const spans = bucketSpans(figures);
  const shown = state.shownBucket.value;
  const marks = state.events.value.alarms.filter(({ row }) => row === figures.name).map(({ step }) => step);
  return (
    <div class="row-charts">
      {plansOf(figures).map(({ title, read, ...plan }) => (
        <figure key={title} class="row-chart" aria-label={title}>
          <figcaption>
            <b>{title}</b>
            {read(shown)}
          </figcaption>
          <FigureChart
            {...plan}
            title={title}
            steps={steps}
            marks={marks}
            onPoint={(step) => (state.pointed.value = step === null ? null : { row: figures.name, step })}
            onGo={(step) => state.chooseRow(figures.name, stepNear(figures, spans, step))}
          />
        </figure>
      ))}
    </div>
  );
}

function stepNear({ lastSteps }: RowFigures, spans: Parameters<typeof nearestBucket>[0], step: number): number {
  return lastSteps[nearestBucket(spans, step)] ?? Math.round(step);
}

/** A figure at a place, as it stands above a chart. */
function valueText(figures: RowFigures, name: string, at: number, digits = 4): string {
  const value = columnOf(figures, name)[at] ?? NaN;
  if (Number.isNaN(value)) return "unknown";
  return formatFigure(figureOf(name), value, { digits, isEstimate: isEstimate(figures, name, at) });
}

function plain(text: string, sample: string): ComponentChildren {
  const whole = sample === "" ? text : `${text} (${sample})`;
  return (
    <span class="dim fs-1" title={whole}>
      {whole}
    </span>
  );
}

function plansOf(figures: RowFigures): readonly ChartPlan[] {
  return [fanOf(figures), spreadOf(figures), ...sizesOf(figures), sharesOf(figures)].filter((plan) => plan !== null);
}

const FAN = [
  ["q01", "q99", 0.14],
  ["q05", "q95", 0.2],
  ["q25", "q75", 0.32],
] as const;

function fanOf(figures: RowFigures): ChartPlan | null {
  if (!hasColumn(figures, "q50")) return null;
  const column = (name: string): Float32Array => columnOf(figures, name);
  return {
    title: "Quantiles",
    bands: FAN.map(([low, high, opacity]) => ({ low: column(low), high: column(high), opacity })),
    lines: [{ name: "median", values: column("q50"), slot: 1 }],
    read: (at) => plain(`median ${valueText(figures, "q50", at)}`, sampleText(figures, "q50", at)),
  };
}

function spreadOf(figures: RowFigures): ChartPlan | null {
  if (!hasColumn(figures, "mean")) return null;
  const [mean, std] = [columnOf(figures, "mean"), columnOf(figures, "std")];
  return {
    title: "Mean ± std",
    bands: [
      { low: mean.map((value, at) => value - std[at]!), high: mean.map((value, at) => value + std[at]!), opacity: 0.18 },
    ],
    lines: [
      { name: "min", ...exactLine(figures, "min"), slot: 0 },
      { name: "max", ...exactLine(figures, "max"), slot: 0 },
      { name: "mean", values: mean, slot: 1 },
    ],
    read: (at) =>
      plain(
        `${valueText(figures, "mean", at, 3)} ± ${valueText(figures, "std", at, 3)}`,
        sampleText(figures, "mean", at),
      ),
  };
}

function sizesOf(figures: RowFigures): readonly ChartPlan[] {
  return ["norm", "ratio"]
    .filter((name) => hasColumn(figures, name))
    .map((name) => ({
      title: name === "norm" ? "Norm" : "Update ratio",
      bands: [],
      lines: [{ name, values: columnOf(figures, name), slot: 1 }],
      mayBeLog: true,
      read: (at: number) => plain(valueText(figures, name, at), sampleText(figures, name, at)),
    }));
}

const SHARES = [
  ["zeros", 1],
  ["dead", 2],
  ["saturated", 3],
  ["nan", 8],
  ["inf", 4],
] as const;

/** Only those of which there is anything. */
function sharesOf(figures: RowFigures): ChartPlan | null {
  const shown = SHARES.filter(([name]) => columnOf(figures, name).some((value) => value > 0));
  if (shown.length === 0) return null;
  return {
    title: "Shares",
    bands: [],
    lines: shown.map(([name, slot]) => ({ name: figureOf(name).title, values: columnOf(figures, name), slot })),
    isShare: true,
    read: (at) => (
      <span class="chart-values">
        {shown.map(([name, slot]) => (
          <span key={name} title={[figureOf(name).hint, sampleText(figures, name, at)].join(" ").trim()}>
            <i class="sw" style={{ background: `var(--cat-${slot})` }} />
            {figureOf(name).title} {valueText(figures, name, at)}
          </span>
        ))}
      </span>
    ),
  };
}
