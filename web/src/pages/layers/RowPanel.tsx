/** The selected row in full: its figures over steps as charts or as a table, its histograms, the way to its tensor. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatShape } from "../../data/format";
import { addressOf } from "../../data/route";
import { stepsText } from "../../data/run-events";
import * as runs from "../../data/runs";
import { Lines, SmallChart } from "../../plot/SmallChart";
import { Distribution } from "../../plot/distribution/Distribution";
import type { Line } from "../../plot/lines";
import { axisOf, extentOf, roomy, type Scale, shareAxis } from "../../plot/scale";
import { niceSpan } from "../../plot/ticks";
import { Blank, Skeletons } from "../../ui/Blank";
import { IconButton } from "../../ui/IconButton";
import { roleTitle } from "./rows";
import * as state from "./state";
import { bucketSpans, nearestBucket, stepsAlong } from "./steps";
import {
  columnOf,
  exactLine,
  figureOf,
  formatFigure,
  hasColumn,
  isEstimate,
  middleSteps,
  type RowFigures,
  sampleText,
} from "./watched";
import "../../plot/figures.css";

export function RowPanel() {
  const [isTable, setIsTable] = useState(false);
  const figures = state.figures.value;
  const [name, step, at] = [state.rowName.value, state.step.value, state.shownBucket.value];
  const { first_steps: firsts = [], last_steps: lasts = [], tensor_name: tensor = "" } = figures ?? {};
  const place = { tensor, run: state.runId.value, kind: null, with: null, step: step === null ? null : String(step) };
  return (
    <section class="panel row-panel" aria-label="Selected row">
      <div class="panel-head row-head">
        <h2 class="mono clip" title={name}>
          {name}
        </h2>
        <span class="muted fs-1 clip row-facts">{factsOf(figures)}</span>
        {/* Which steps the numbers above the charts are of. */}
        {!isTable && at in firsts && (
          <span class="muted fs-1 row-step">values at {stepsText(firsts[at]!, lasts[at]!)}</span>
        )}
        <span class="grow" />
        {tensor !== "" && (
          <a class="link fs-2" href={addressOf("tensors", place)}>
            Open in Tensors
          </a>
        )}
        <button class="link quiet fs-2" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          {isTable ? "show as charts" : "show as table"}
        </button>
        <IconButton look="btn quiet sm square" icon="close" label="Close the row" onClick={() => state.chooseRow(null, null)} />
      </div>
      <div class="panel-body">
        {figures === null ? (
          <Skeletons widths={["block low"]} style="section late" label="Loading the figures of the row" />
        ) : (
          <Body figures={figures} isTable={isTable} />
        )}
      </div>
    </section>
  );
}

function Body({ figures, isTable }: { figures: RowFigures; isTable: boolean }) {
  if (figures.row === null)
    return (
      <Blank icon="search" title="There is no such row">
        <span>
          “{state.rowName.value}” is not watched in this run on rank {state.rank.value}.
        </span>
      </Blank>
    );
  return (
    <>
      {isTable ? <RowTable figures={figures} /> : <RowCharts figures={figures} />}
      <Histograms figures={figures} />
    </>
  );
}

function factsOf(figures: RowFigures | null): string {
  const row = figures?.row ?? null;
  if (row === null) return "";
  const shape = row.shape === null ? "not seen yet" : formatShape(row.shape);
  return [row.module, roleTitle(row.role).toLowerCase(), shape].filter((part) => part !== "").join(" \u00b7 ");
}

function Histograms({ figures: { histogram_name: histogram, tensor_name: tensor } }: { figures: RowFigures }) {
  const run = state.run.value;
  const [kind, name] = histogram !== "" ? (["histogram", histogram] as const) : (["tensor", tensor] as const);
  const series = run === null || name === "" ? undefined : runs.seriesOf(run.id, kind, name);
  if (run === null || series === undefined) return null;
  return (
    <div class="sections row-histograms">
      <Distribution kind={kind} name={name} holder={{ run, series }} isNamed={false} />
    </div>
  );
}

/** The figures of a row as numbers, one line for each stretch of steps. */
function RowTable({ figures }: { figures: RowFigures }) {
  const names = figures.columns.filter((name) => hasColumn(figures, name));
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
          {figures.first_steps.map((first, at) => {
            const last = figures.last_steps[at]!;
            return (
              <tr key={first} aria-selected={step !== null && step >= first && step <= last}>
                <td>
                  <button class="link" onClick={() => state.chooseRow(state.rowName.peek(), last)}>
                    {first === last ? formatCount(first) : `${formatCount(first)}\u2013${formatCount(last)}`}
                  </button>
                </td>
                {names.map((name) => {
                  const isBad = (name === "nan" || name === "inf") && columnOf(figures, name)[at]! > 0;
                  return (
                    <td key={name} class={isBad ? "bad" : ""} title={sampleText(figures, name, at)}>
                      {valueText(figures, name, at, 4, "\u2013")}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function valueText(figures: RowFigures, name: string, at: number, digits = 4, unknown = "unknown"): string {
  const value = columnOf(figures, name)[at] ?? NaN;
  if (Number.isNaN(value)) return unknown;
  return formatFigure(figureOf(name), value, { digits, isEstimate: isEstimate(figures, name, at) });
}

interface ChartPlan {
  readonly title: string;
  readonly lines: readonly Line[];
  /** From 0 to 1, written as per cent. */
  readonly isShare?: boolean;
  /** Logarithmic where all is positive and spans decades. */
  readonly mayBeLog?: boolean;
  /** What stands above the chart: its values at a place. */
  readonly read: (at: number) => ComponentChildren;
}

/** The figures of a row over steps: how its values are spread, mean and deviation, size, shares. */
function RowCharts({ figures }: { figures: RowFigures }) {
  const sizes = [sizeOf(figures, "norm", "Norm"), sizeOf(figures, "ratio", "Update ratio")];
  const plans = [fanOf(figures), spreadOf(figures), ...sizes, sharesOf(figures)];
  return (
    <div class="row-charts">
      {plans.map((plan) => plan !== null && <RowChart key={plan.title} figures={figures} plan={plan} />)}
    </div>
  );
}

const HEIGHT = 124;

function RowChart({ figures, plan: { title, lines, isShare = false, mayBeLog = false, read } }: { figures: RowFigures; plan: ChartPlan }) {
  const name = state.rowName.value;
  const scale = limitsOf(
    lines.flatMap(({ y, low = [], high = [] }) => [y, low, high]),
    { isShare, mayBeLog },
  );
  // Of a logarithmic axis, nought is its lower end.
  const lift = (values: ArrayLike<number>): ArrayLike<number> => Array.from(values, (one) => Math.max(one, scale.low));
  const lifted = lines.map((line) => (scale.isLog === true ? { ...line, y: lift(line.y) } : line));
  const { low, high } = state.axis.value;
  const spans = bucketSpans(figures);
  return (
    <figure class="row-chart" aria-label={title}>
      <figcaption>
        <b>{title}</b>
        {read(state.shownBucket.value)}
      </figcaption>
      <SmallChart
        label={`${title} over ${formatCount(spans.length)} places from step ${formatCount(Math.ceil(low))} to ${formatCount(Math.floor(high))}`}
        class="figure-chart"
        height={HEIGHT}
        x={(width) => stepsAlong({ low, high, width }, 64)}
        y={isShare ? shareAxis(scale, 4) : axisOf(scale, 4)}
        marks={[
          { at: state.step.value, look: "now" },
          { at: state.pointed.value?.step ?? null, look: "cursor" },
        ]}
        onPoint={(step) => (state.pointed.value = step === null ? null : { row: name, step })}
        onGo={(step) => state.chooseRow(name, figures.last_steps[nearestBucket(spans, step)] ?? Math.round(step))}
      >
        {(space) => (
          <>
            {state.events.value.alarms.map(
              ({ row, step }, at) =>
                row === name && <path key={at} class="alarm-step" d={`M${space.x(step)} ${space.top}V${space.bottom}`} />,
            )}
            <Lines lines={lifted} space={space} />
          </>
        )}
      </SmallChart>
    </figure>
  );
}

/** Sizes further apart than this are shown by their powers of ten. */
const WIDE = 30;

/** From where to where the axis of values goes, straight or logarithmic. */
export function limitsOf(columns: readonly ArrayLike<number>[], { isShare, mayBeLog }: { isShare: boolean; mayBeLog: boolean }): Scale {
  const span = extentOf(columns);
  if (span === null) return { low: 0, high: 1 };
  if (isShare) return { low: 0, high: span.high > 0.5 ? 1 : Math.max(0.01, span.high * 1.1) };
  const positive = extentOf(columns, true)?.low ?? Infinity;
  if (mayBeLog && span.low >= 0 && span.high > WIDE * positive) return { low: positive, high: span.high, isLog: true };
  return niceSpan(roomy(span));
}

function lineOf(figures: RowFigures, name: string, slot = 1): Line {
  return { name, colour: `var(--cat-${slot})`, x: middleSteps(figures), y: columnOf(figures, name), end: "none" };
}

function bandOf(figures: RowFigures, low: Float32Array, high: Float32Array, opacity: number): Line {
  return { name: "", colour: "var(--cat-1)", x: middleSteps(figures), y: [], low, high, opacity, end: "none" };
}

function plain(text: string, sample: string): ComponentChildren {
  const whole = sample === "" ? text : `${text} (${sample})`;
  return (
    <span class="dim fs-1" title={whole}>
      {whole}
    </span>
  );
}

const FAN = [
  ["q01", "q99", 0.14],
  ["q05", "q95", 0.2],
  ["q25", "q75", 0.32],
] as const;

function fanOf(figures: RowFigures): ChartPlan | null {
  if (!hasColumn(figures, "q50")) return null;
  const bands = FAN.map(([low, high, opacity]) => bandOf(figures, columnOf(figures, low), columnOf(figures, high), opacity));
  return {
    title: "Quantiles",
    lines: [...bands, lineOf(figures, "q50")],
    read: (at) => plain(`median ${valueText(figures, "q50", at)}`, sampleText(figures, "q50", at)),
  };
}

function spreadOf(figures: RowFigures): ChartPlan | null {
  if (!hasColumn(figures, "mean")) return null;
  const [mean, std] = [columnOf(figures, "mean"), columnOf(figures, "std")];
  const away = (sign: 1 | -1): Float32Array => mean.map((value, at) => value + sign * std[at]!);
  const limits = ["min", "max"].map((name): Line => ({ name, colour: "", look: "limit", end: "none", ...exactLine(figures, name) }));
  const text = (name: string, at: number): string => valueText(figures, name, at, 3);
  return {
    title: "Mean ± std",
    lines: [bandOf(figures, away(-1), away(1), 0.18), ...limits, lineOf(figures, "mean")],
    read: (at) => plain(`${text("mean", at)} ± ${text("std", at)}`, sampleText(figures, "mean", at)),
  };
}

function sizeOf(figures: RowFigures, name: string, title: string): ChartPlan | null {
  if (!hasColumn(figures, name)) return null;
  const read = (at: number) => plain(valueText(figures, name, at), sampleText(figures, name, at));
  return { title, lines: [lineOf(figures, name)], mayBeLog: true, read };
}

/** Each with the number of its colour. */
const SHARES = [
  ["zeros", 1],
  ["dead", 2],
  ["saturated", 3],
  ["nan", 8],
  ["inf", 4],
] as const;

function sharesOf(figures: RowFigures): ChartPlan | null {
  const shown = SHARES.filter(([name]) => columnOf(figures, name).some((value) => value > 0));
  if (shown.length === 0) return null;
  return {
    title: "Shares",
    lines: shown.map(([name, slot]) => lineOf(figures, name, slot)),
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
