/** The selected unit over time, all its variables, with a cursor at the moment. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { formatCount, formatExact, formatValue } from "../../data/format";
import { goTo, moments, step } from "../../data/network/moments";
import { chosenUnit } from "../../data/network/network-state";
import { type Line, seriesFailure, unitSeries } from "../../data/network/unit-readings";
import { unitName } from "../../data/network/words";
import { nearestAt } from "../../data/time-steps";
import { Lines, SmallChart, TableTwin } from "../../plot/SmallChart";
import { lastUpTo, type Line as Drawn } from "../../plot/lines";
import { axisOf, extentOf, roomy, stepAxis } from "../../plot/scale";
import { niceSpan, type Span } from "../../plot/ticks";

const HEIGHT = 96;
const MOST_ROWS = 200;
const STEP_TICKS = 7;
const MOST_TICKS = 4;

const off = signal<ReadonlySet<string>>(new Set());

export function UnitStrip() {
  const chosen = chosenUnit.value;
  const [isTable, setIsTable] = useState(false);
  if (chosen === null) return null;
  const series = unitSeries.value;
  const strip = series === null ? null : stripOf(series, (variable) => off.value.has(variable));
  return (
    <section class="net-strip" aria-label="Unit over time" aria-busy={series === null && seriesFailure.value === ""}>
      <div class="panel-head">
        <h2 class="clip">{unitName(chosen.layer, chosen.unit)}</h2>
        <span class="muted fs-1">by step</span>
        <span class="grow" />
        {series !== null && <Legend lines={series} strip={strip} />}
        <button class="btn quiet sm" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          Table
        </button>
      </div>
      {isTable && series !== null ? <StripTable lines={series} /> : <Chart strip={strip} isKnown={series !== null} />}
    </section>
  );
}

/** Each with its value at the moment; pressing one takes its line away, or brings it back. */
function Legend({ lines, strip }: { lines: readonly Line[]; strip: Strip | null }) {
  const now = step.value ?? 0;
  return (
    <div class="legend" role="group" aria-label="Variables of the chart">
      {lines.map((line, index) => {
        const { variable } = line;
        const isOff = off.value.has(variable);
        const at = lastUpTo(line.steps, now);
        const factor = strip?.lines.find((one) => one.line === line)?.factor ?? 1;
        return (
          <button
            key={variable}
            class={isOff ? "legend-key off" : "legend-key"}
            aria-pressed={!isOff}
            title={isOff ? `Show ${variable}` : `Hide ${variable}`}
            onClick={() => flip(variable)}
          >
            <i class="sw" style={{ background: isOff ? "transparent" : `var(--cat-${(index % NUM_COLOURS) + 1})` }} />
            {variable}
            {factor !== 1 && <span class="muted" title="Its line is drawn larger by this; the number is its value">(×{factor >= 1e4 ? `10^${Math.round(Math.log10(factor))}` : formatCount(factor)})</span>}
            <b>{at < 0 ? "–" : formatValue(line.values[at]!, 3)}</b>
          </button>
        );
      })}
    </div>
  );
}

function flip(variable: string): void {
  const next = new Set(off.peek());
  if (!next.delete(variable)) next.add(variable);
  off.value = next;
}

const EMPTY = { low: 0, high: 1, ticks: [] };

function Chart({ strip, isKnown }: { strip: Strip | null; isKnown: boolean }) {
  const now = step.value;
  if (strip === null) {
    return (
      <SmallChart label="No values over time" class="strip-chart" height={HEIGHT} x={() => EMPTY} y={EMPTY}>
        {({ width }) => (
          <text class="c" x={width / 2} y={HEIGHT / 2 - 4}>
            {isKnown ? "No variable of this unit is shown" : seriesFailure.value}
          </text>
        )}
      </SmallChart>
    );
  }
  const { lines, steps, values } = strip;
  const at = now === null ? null : Math.max(steps.low, Math.min(steps.high, now));
  return (
    <SmallChart
      label={`${lines.map(({ line }) => line.variable).join(", ")} from step ${steps.low} to ${steps.high}; the time bar goes to a step`}
      class="strip-chart"
      height={HEIGHT}
      x={(room) => stepAxis(steps, Math.max(2, Math.min(STEP_TICKS, Math.floor(room / 110))))}
      y={axisOf(values, MOST_TICKS)}
      marks={[{ at, look: "cursor" }]}
      onGo={(under) => {
        const moment = nearestAt(moments.peek(), under);
        if (moment >= 0) goTo(moment);
      }}
      over={({ x, y, top }) =>
        lines.map(({ line, factor, slot }) => {
          const value = now === null ? undefined : line.values[lastUpTo(line.steps, now)];
          return (
            <g key={line.variable} aria-hidden="true">
              {Array.from(line.values, (one, nth) =>
                Number.isFinite(one) ? null : <path key={nth} class="strip-bad" d={`M${x(line.steps[nth]!)} ${top}v6`} />,
              )}
              {value !== undefined && Number.isFinite(value) && (
                <circle class="pt" cx={x(at!)} cy={y(value * factor)} r={3} fill={`var(--cat-${slot})`} />
              )}
            </g>
          );
        })
      }
    >
      {(space) => <Lines lines={lines.map(drawnOf)} space={space} />}
    </SmallChart>
  );
}

function drawnOf({ line, factor, slot }: ScaledLine): Drawn {
  return {
    ...{ name: line.variable, colour: `var(--cat-${slot})`, x: line.steps, y: line.values.map((value) => value * factor) },
    ...(slot > 4 ? { look: "dashed" as const } : {}),
    end: line.values.length === 1 ? "dot" : "none",
  };
}

function StripTable({ lines }: { lines: readonly Line[] }) {
  const { rows, numAll } = tableOf(lines, MOST_ROWS);
  return (
    <div class="strip-table">
      <TableTwin
        label="Values over time"
        heads={["Step", ...lines.map(({ variable }) => variable)]}
        rows={rows.map(([at, ...values]) => [formatCount(at ?? 0), ...values.map((value) => (value === null ? "" : formatExact(value, "f4")))])}
        at={rows.findIndex(([at]) => at === step.value)}
      />
      {numAll > rows.length && <p class="muted fs-1 pad-s">{formatCount(numAll - rows.length)} earlier steps are not listed.</p>}
    </div>
  );
}

// --- The lines of a unit over time on one axis: each by a power of ten, so that small ones can be seen
//   beside large ones.

interface ScaledLine {
  readonly line: Line;
  /** What its values are multiplied with: 1, 10, 100… */
  readonly factor: number;
  /** Its colour, from 1 to 8. */
  readonly slot: number;
}

interface Strip {
  readonly lines: readonly ScaledLine[];
  readonly steps: Span;
  readonly values: Span;
}

const NUM_COLOURS = 8;
/** A line that is not smaller than this share of the largest is left as it is. */
const VISIBLE = 0.2;

export function stripOf(lines: readonly Line[], isOff: (variable: string) => boolean): Strip | null {
  const all = lines.map((line, at) => ({ line, slot: (at % NUM_COLOURS) + 1, most: mostOf(line.values) }));
  const shown = all.filter(({ line }) => line.steps.length > 0 && !isOff(line.variable));
  if (shown.length === 0) return null;
  const largest = Math.max(...shown.map(({ most }) => most));
  const scaled = shown.map(({ most, ...one }) => ({ ...one, factor: factorOf(most, largest) }));
  const steps = extentOf(shown.map(({ line }) => line.steps)) ?? { low: 0, high: 1 };
  const values = extentOf(scaled.map(({ line, factor }) => line.values.map((value) => value * factor))) ?? { low: -1, high: 1 };
  return { lines: scaled, steps, values: niceSpan(roomy(values)) };
}

function mostOf(values: Float64Array): number {
  return values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
}

/** The power of ten that brings it nearest to the largest, and not above it. */
export function factorOf(most: number, largest: number): number {
  if (most === 0 || most >= VISIBLE * largest) return 1;
  const power = Math.floor(Math.log10(largest / most));
  return 10 ** Math.max(0, Math.min(300, power));
}

/** A row for each step at which any of them was recorded, the newest first. */
export function tableOf(lines: readonly Line[], most: number): { rows: (readonly (number | null)[])[]; numAll: number } {
  const all = [...new Set(lines.flatMap(({ steps }) => [...steps]))].sort((a, b) => b - a);
  const valueAt = ({ steps, values }: Line, wanted: number): number | null => {
    const at = lastUpTo(steps, wanted);
    return steps[at] === wanted ? values[at]! : null;
  };
  return { rows: all.slice(0, most).map((one) => [one, ...lines.map((line) => valueAt(line, one))]), numAll: all.length };
}
