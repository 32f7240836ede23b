/** The selected row in full: its figures over steps as charts or as a table, its histograms, the way to its tensor. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatShape } from "../../data/format";
import { addressOf } from "../../data/route";
import { stepsText } from "../../data/run-events";
import * as runs from "../../data/runs";
import { TableTwin } from "../../plot/NumberTable";
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
  const { first_steps: firsts, last_steps: lasts } = figures;
  const names = figures.columns.filter((name) => hasColumn(figures, name));
  const step = state.step.value;
  return (
    <div class="row-figures">
      <TableTwin
        label="Figures over steps"
        heads={["step", ...names.map((name) => [figureOf(name).title, figureOf(name).hint] as const)]}
        at={step === null ? -1 : firsts.findIndex((first, at) => step >= first && step <= lasts[at]!)}
        rows={firsts.map((first, at) => [
          <button class="link" onClick={() => state.chooseRow(state.rowName.peek(), lasts[at]!)}>
            {first === lasts[at] ? formatCount(first) : `${formatCount(first)}\u2013${formatCount(lasts[at]!)}`}
          </button>,
          ...names.map((name) => {
            const isBad = (name === "nan" || name === "inf") && columnOf(figures, name)[at]! > 0;
            return (
              <span class={isBad ? "bad" : ""} title={sampleText(figures, name, at)}>
                {valueText(figures, name, at, 4, "\u2013")}
              </span>
            );
          }),
        ])}
      />
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
  return (
    <div class="row-charts">
      {plansOf(figures).map((plan) => plan !== null && <RowChart key={plan.title} figures={figures} plan={plan} />)}
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

const BANDS = [
  ["q01", "q99", 0.14],
  ["q05", "q95", 0.2],
  ["q25", "q75", 0.32],
] as const;

/** Each with the number of its colour. */
const SHARES = [
  ["zeros", 1],
  ["dead", 2],
  ["saturated", 3],
  ["nan", 8],
  ["inf", 4],
] as const;

/** Null for a chart of figures that the row does not have; of shares, only those are drawn of which there is anything. */
function plansOf(figures: RowFigures): readonly (ChartPlan | null)[] {
  const column = (name: string): Float32Array => columnOf(figures, name);
  const common = { x: middleSteps(figures), end: "none" } as const;
  const line = (name: string, slot = 1): Line => ({ ...common, name, colour: `var(--cat-${slot})`, y: column(name) });
  const band = (low: Float32Array, high: Float32Array, opacity: number): Line => ({ ...line(""), low, high, opacity });
  const limit = (name: string): Line => ({ ...line(name), look: "limit", ...exactLine(figures, name) });
  const std = column("std");
  const away = (sign: 1 | -1): Float32Array => column("mean").map((value, at) => value + sign * std[at]!);
  const text = (name: string, at: number, digits?: number): string => valueText(figures, name, at, digits);
  const plan = (name: string, title: string, lines: () => Line[], read: (at: number) => string): ChartPlan | null =>
    hasColumn(figures, name)
      ? { title, lines: lines(), read: (at) => <Reading text={read(at)} sample={sampleText(figures, name, at)} /> }
      : null;
  const size = (name: string, title: string): ChartPlan | null => {
    const found = plan(name, title, () => [line(name)], (at) => text(name, at));
    return found && { ...found, mayBeLog: true };
  };
  const shares = SHARES.filter(([name]) => column(name).some((value) => value > 0));
  const fan = (): Line[] => [...BANDS.map(([low, high, opacity]) => band(column(low), column(high), opacity)), line("q50")];
  const spread = (): Line[] => [band(away(-1), away(1), 0.18), limit("min"), limit("max"), line("mean")];
  return [
    plan("q50", "Quantiles", fan, (at) => `median ${text("q50", at)}`),
    plan("mean", "Mean ± std", spread, (at) => `${text("mean", at, 3)} ± ${text("std", at, 3)}`),
    size("norm", "Norm"),
    size("ratio", "Update ratio"),
    shares.length === 0 ? null : {
      title: "Shares",
      lines: shares.map(([name, slot]) => line(name, slot)),
      isShare: true,
      read: (at) => (
        <span class="chart-values">
          {shares.map(([name, slot]) => (
            <span key={name} title={[figureOf(name).hint, sampleText(figures, name, at)].join(" ").trim()}>
              <i class="sw" style={{ background: `var(--cat-${slot})` }} />
              {figureOf(name).title} {text(name, at)}
            </span>
          ))}
        </span>
      ),
    },
  ];
}

function Reading({ text, sample }: { text: string; sample: string }) {
  const whole = sample === "" ? text : `${text} (${sample})`;
  return (
    <span class="dim fs-1" title={whole}>
      {whole}
    </span>
  );
}
