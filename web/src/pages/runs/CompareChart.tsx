/** The loss of the chosen runs in one small chart. */
import { useState } from "preact/hooks";
import { isConnected } from "../../data/connection";
import { formatCount, formatValue } from "../../data/format";
import * as runs from "../../data/runs";
import { LineChart } from "../../plot/SmallChart";
import { lastFinite, type Line, type LineEnd } from "../../plot/lines";
import { type Curve, smooth } from "../../plot/scalars/model";
import { useSeries } from "../../plot/scalars/Plot";
import type { RunListing } from "../../wire";

/** More lines than these say nothing in so small a chart. */
const MAX_LINES = 16;
const MAX_NAMED = 6;
const HEIGHT = 176;
const SMOOTHING = 0.6;

interface Reading {
  readonly at: number;
  readonly values: readonly (number | null)[];
}

export function CompareChart() {
  const drawn = runs.chosen.value.filter((run) => run.spark_name !== "").slice(0, MAX_LINES);
  const series = useSeries(drawn.map((run) => ({ run_id: run.id, name: run.spark_name })));
  const [reading, setReading] = useState<Reading | null>(null);
  const lines = drawn.map((run) => lineOf(run, series.of(run.id, run.spark_name)));
  const hasPoints = lines.some((line) => line.y.length > 0);
  return (
    <section class="section compare-chart" aria-label="Loss of the chosen runs">
      <div class="compare-head">
        <span class="muted fs-1">
          {reading === null ? titleOf(drawn) : `step ${formatCount(reading.at)}`}
        </span>
        <Legend drawn={drawn} values={reading?.values ?? null} />
      </div>
      {hasPoints ? (
        <LineChart
          lines={lines}
          summary={summaryOf(drawn, lines)}
          height={HEIGHT}
          isCut
          onPoint={(at, values) => setReading(at === null ? null : { at, values })}
        />
      ) : (
        <p class="compare-empty muted fs-2">{whyEmpty(drawn.length, series.isWaiting, series.refusal)}</p>
      )}
      {runs.chosen.value.length > MAX_LINES && (
        <p class="muted fs-1">
          The {MAX_LINES} newest of {formatCount(runs.chosen.value.length)} are drawn here.
        </p>
      )}
    </section>
  );
}

function Legend({ drawn, values }: { drawn: readonly RunListing[]; values: Reading["values"] | null }) {
  const named = drawn.slice(0, MAX_NAMED);
  return (
    <span class="legend">
      {named.map((run, at) => (
        <span key={run.id} title={run.name}>
          <i class="sw" style={{ "--c": runs.colourOf(run.id) }} />
          {values === null ? <span class="legend-name clip">{run.name}</span> : readOf(values[at] ?? null)}
        </span>
      ))}
      {drawn.length > MAX_NAMED && <span>+{drawn.length - MAX_NAMED}</span>}
    </span>
  );
}

function lineOf(run: RunListing, { x, mean: raw }: Curve): Line {
  const y = smooth(raw, new Float64Array(raw.length).fill(1), new Float64Array(raw.length), SMOOTHING);
  return { name: run.name, colour: runs.colourOf(run.id), x, y, raw, end: endOf(run) };
}

function endOf({ state }: RunListing): LineEnd {
  if (state === "died") return "cross";
  if (state !== "running") return "none";
  return isConnected.value ? "dot" : "open";
}

function readOf(value: number | null): string {
  return value === null ? "\u2013" : formatValue(value, 3);
}

function titleOf(drawn: readonly RunListing[]): string {
  const names = new Set(drawn.map((run) => run.spark_name));
  return names.size === 1 ? [...names][0]! : names.size === 0 ? "" : "loss";
}

function summaryOf(drawn: readonly RunListing[], lines: readonly Line[]): string {
  const ends = lines.map((line, at) => {
    const last = lastFinite(line.y);
    return `${drawn[at]!.name} ${last < 0 ? "has no value" : `at ${formatValue(line.y[last]!, 3)}`}`;
  });
  return `${titleOf(drawn)} over steps: ${ends.join(", ")}`;
}

function whyEmpty(numDrawn: number, isWaiting: boolean, refusal: string): string {
  if (refusal !== "") return refusal;
  if (numDrawn === 0) return "Choose runs with x, or with their boxes, to see them together.";
  return isWaiting ? "" : "The chosen runs have no numbers yet.";
}
