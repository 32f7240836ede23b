/** The selected row in full: its figures over steps as charts or as a table, its histograms, the way to its tensor. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatShape } from "../../data/format";
import { addressOf } from "../../data/route";
import { stepsText } from "../../data/run-events";
import * as runs from "../../data/runs";
import { Distribution } from "../../plot/distribution/Distribution";
import { Blank } from "../../ui/Blank";
import { IconButton } from "../../ui/IconButton";
import { type ChartBand, type ChartLine, FigureChart } from "./FigureChart";
import {
  columnOf,
  exactLine,
  figureOf,
  formatFigure,
  hasColumn,
  isEstimate,
  middleSteps,
  roleTitle,
  type RowFigures,
  sampleText,
} from "./rows";
import * as state from "./state";
import { bucketSpans, nearestBucket } from "./steps";
import "../../plot/figures.css";

export function RowPanel() {
  const [isTable, setIsTable] = useState(false);
  const figures = state.figures.value;
  const name = state.rowName.value;
  return (
    <section class="panel row-panel" aria-label="Selected row">
      <div class="panel-head row-head">
        <h2 class="mono clip" title={name}>
          {name}
        </h2>
        <span class="muted fs-1 clip row-facts">{factsOf(figures)}</span>
        {!isTable && <StepOfValues figures={figures} />}
        <span class="grow" />
        <TensorLink figures={figures} />
        <button class="link quiet fs-2" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          {isTable ? "show as charts" : "show as table"}
        </button>
        <IconButton look="btn quiet sm square" icon="close" label="Close the row" onClick={() => state.chooseRow(null, null)} />
      </div>
      <div class="panel-body">
        {figures === null ? <Loading /> : <Body figures={figures} isTable={isTable} />}
      </div>
    </section>
  );
}

function factsOf(figures: RowFigures | null): string {
  const row = figures?.row ?? null;
  if (row === null) return "";
  const shape = row.shape === null ? "not seen yet" : formatShape(row.shape);
  return [row.module, roleTitle(row.role).toLowerCase(), shape].filter((part) => part !== "").join(" \u00b7 ");
}

/** Which steps the numbers above the charts are of. */
function StepOfValues({ figures }: { figures: RowFigures | null }) {
  const at = state.shownBucket.value;
  const [first, last] = [figures?.firstSteps[at], figures?.lastSteps[at]];
  if (first === undefined || last === undefined) return null;
  return <span class="muted fs-1 row-step">values at {stepsText(first, last)}</span>;
}

function TensorLink({ figures }: { figures: RowFigures | null }) {
  const tensor = figures?.tensorName ?? "";
  if (tensor === "") return null;
  const step = state.step.value;
  const place = { tensor, run: state.runId.value, kind: null, with: null, step: step === null ? null : String(step) };
  return (
    <a class="link fs-2" href={addressOf("tensors", place)}>
      Open in Tensors
    </a>
  );
}

function Loading() {
  return (
    <div class="section late" aria-busy="true" aria-label="Loading the figures of the row">
      <i class="skeleton block low" />
    </div>
  );
}

function Body({ figures, isTable }: { figures: RowFigures; isTable: boolean }) {
  if (figures.row === null)
    return (
      <Blank icon="search" title="There is no such row">
        <span>“{figures.name}” is not watched in this run on rank {figures.rank}.</span>
      </Blank>
    );
  return (
    <>
      {isTable ? <RowTable figures={figures} /> : <RowCharts figures={figures} />}
      <Histograms figures={figures} />
    </>
  );
}

function Histograms({ figures: { histogramName, tensorName } }: { figures: RowFigures }) {
  const run = state.run.value;
  const [kind, name] = histogramName !== "" ? (["histogram", histogramName] as const) : (["tensor", tensorName] as const);
  const series = run === null || name === "" ? undefined : runs.seriesOf(run.id, kind, name);
  if (run === null || series === undefined) return null;
  return (
    <div class="sections row-histograms">
      <Distribution kind={kind} name={name} holder={{ run, series }} isNamed={false} />
    </div>
  );
}

// --- The figures of a row as numbers, one line for each stretch of steps.

function RowTable({ figures }: { figures: RowFigures }) {
  const names = [...figures.columns.keys()].filter((name) => hasColumn(figures, name));
  const { firstSteps, lastSteps } = figures;
  const step = state.step.value;
  return (
    <div class="row-table">
      <table class="table" aria-label="Figures over steps">
        <thead>
          <tr>
            <th>step</th>
            {names.map((name) => (
              <th key={name} title={figureOf(name).hint}>
                {figureOf(name).title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {firstSteps.map((first, at) => (
            <tr key={first} aria-selected={step !== null && step >= first && step <= lastSteps[at]!}>
              <td>
                <button class="link" onClick={() => state.chooseRow(figures.name, lastSteps[at]!)}>
                  {first === lastSteps[at] ? formatCount(first) : `${formatCount(first)}\u2013${formatCount(lastSteps[at]!)}`}
                </button>
              </td>
              {names.map((name) => {
                const value = columnOf(figures, name)[at]!;
                return (
                  <td
                    key={name}
                    class={(name === "nan" || name === "inf") && value > 0 ? "bad" : ""}
                    title={sampleText(figures, name, at)}
                  >
                    {Number.isNaN(value)
                      ? "\u2013"
                      : formatFigure(figureOf(name), value, { digits: 4, isEstimate: isEstimate(figures, name, at) })}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// --- The figures of a row over steps: how its values are spread, mean and deviation, size, shares.

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

function RowCharts({ figures }: { figures: RowFigures }) {
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
