/** The selected unit over time, all its variables, with a cursor at the moment. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { formatCount, formatExact, formatValue } from "../../data/format";
import { goTo, moments, nearestMoment, step } from "../../data/network/moments";
import { chosenUnit } from "../../data/network/network-state";
import { type Line, seriesFailure, unitSeries } from "../../data/network/unit-readings";
import { unitName } from "../../data/network/words";
import { pathOf } from "../../plot/over-time";
import { formatTicks, linearTicks, niceSpan, type Span } from "../../plot/ticks";
import { useWidth } from "../../ui/useWidth";

const HEIGHT = 96;
/** At the left is room for the numbers of the axis, and not less than this. */
const LEAST_LEFT = 52;
const DIGIT_WIDTH = 7;
const BEFORE_AXIS = 6;
const RIGHT = 16;
const TOP = 8;
const AXIS = 18;
const MOST_ROWS = 200;
const STEP_TICKS = 7;

/** Variables that were switched off. */
const off = signal<ReadonlySet<string>>(new Set());

export function UnitStrip() {
  const chosen = chosenUnit.value;
  const [isTable, setIsTable] = useState(false);
  if (chosen === null) return null;
  const series = unitSeries.value;
  const strip = series === null ? null : stripOf(series.lines, (variable) => off.value.has(variable));
  return (
    <section class="net-strip" aria-label="Unit over time" aria-busy={series === null && seriesFailure.value === ""}>
      <div class="panel-head">
        <h2 class="clip">{unitName(chosen.layer, chosen.unit)}</h2>
        <span class="muted fs-1">by step</span>
        <span class="grow" />
        {series !== null && <Legend lines={series.lines} strip={strip} />}
        <button class="btn quiet sm" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          Table
        </button>
      </div>
      {isTable && series !== null ? <StripTable lines={series.lines} /> : <Chart strip={strip} isKnown={series !== null} />}
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
            <i class="sw" style={{ background: isOff ? "transparent" : `var(--cat-${(index % 8) + 1})` }} />
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

interface Space {
  readonly left: number;
  readonly width: number;
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
}

function Chart({ strip, isKnown }: { strip: Strip | null; isKnown: boolean }) {
  const [box, width] = useWidth<HTMLDivElement>(800);
  const bottom = HEIGHT - AXIS;
  const { steps, values } = strip ?? { steps: { low: 0, high: 1 }, values: { low: -1, high: 1 } };
  const ticks = strip === null ? [] : ticksOf(values);
  const left = leftFor(ticks);
  const space: Space = {
    left,
    width,
    x: (at) => left + ((at - steps.low) / Math.max(1, steps.high - steps.low)) * (width - left - RIGHT),
    y: (value) => TOP + (1 - (value - values.low) / (values.high - values.low)) * (bottom - TOP),
  };
  const stepUnder = (x: number): number =>
    steps.low + ((x - left) / Math.max(1, width - left - RIGHT)) * (steps.high - steps.low);
  const onPointer = (event: PointerEvent): void => {
    if (event.type === "pointermove" && (event.buttons & 1) === 0) return;
    const at = nearestMoment(moments.peek(), stepUnder(event.offsetX));
    if (at >= 0 && strip !== null) goTo(at);
  };
  return (
    <div ref={box} class="strip-chart">
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={strip === null ? "No values over time" : saidOf(strip)}
        onPointerDown={onPointer}
        onPointerMove={onPointer}
      >
        <Axes strip={strip} ticks={ticks} space={space} />
        {strip?.lines.map((one) => <LinePath key={one.line.variable} one={one} space={space} />)}
        {strip !== null && <Cursor strip={strip} space={space} />}
        {strip === null && (
          <text class="c" x={width / 2} y={HEIGHT / 2 - 4}>
            {isKnown ? "No variable of this unit is shown" : seriesFailure.value}
          </text>
        )}
      </svg>
    </div>
  );
}

/** So that no number is cut. */
function leftFor(ticks: readonly Tick[]): number {
  const most = Math.max(0, ...ticks.map(({ text }) => text.length));
  return Math.max(LEAST_LEFT, Math.ceil(most * DIGIT_WIDTH) + 2 * BEFORE_AXIS);
}

function Axes({ strip, ticks, space }: { strip: Strip | null; ticks: readonly Tick[]; space: Space }) {
  if (strip === null) return <path class="base" d={`M${space.left} ${HEIGHT - AXIS}H${space.width - RIGHT}`} />;
  const most = Math.max(2, Math.min(STEP_TICKS, Math.floor(space.width / 110)));
  const stepTicks = linearTicks(strip.steps, most).filter((at) => Number.isInteger(at));
  return (
    <g aria-hidden="true">
      {ticks.map(({ value, text }) => (
        <g key={value}>
          <path class="grid" d={`M${space.left} ${space.y(value)}H${space.width - RIGHT}`} />
          <text class="e" x={space.left - BEFORE_AXIS} y={space.y(value) + 4}>
            {text}
          </text>
        </g>
      ))}
      {stepTicks.map((at) => (
        <text key={at} class="c" x={space.x(at)} y={HEIGHT - 4}>
          {formatCount(at)}
        </text>
      ))}
    </g>
  );
}

function LinePath({ one: { line, factor, slot }, space }: { one: ScaledLine; space: Space }) {
  const points = Array.from(line.values, (value, at): readonly [number, number] | null =>
    Number.isFinite(value) ? [space.x(line.steps[at]!), space.y(value * factor)] : null,
  );
  const isDot = points.length === 1 && points[0] != null;
  return (
    <>
      <path class="strip-line" d={pathOf(points)} stroke={`var(--cat-${slot})`} stroke-dasharray={slot > 4 ? "4 2" : undefined} />
      {isDot && <circle cx={points[0]![0]} cy={points[0]![1]} r={2} fill={`var(--cat-${slot})`} />}
      {Array.from(line.values, (value, at) =>
        Number.isFinite(value) ? null : (
          <path key={at} class="strip-bad" d={`M${space.x(line.steps[at]!)} ${TOP}v6`} />
        ),
      )}
    </>
  );
}

function Cursor({ strip, space }: { strip: Strip; space: Space }) {
  const now = step.value;
  if (now === null) return null;
  const x = Math.max(space.left, Math.min(space.width - RIGHT, space.x(now)));
  return (
    <g aria-hidden="true">
      <path class="cursor" d={`M${x} ${TOP}V${HEIGHT - AXIS}`} />
      {strip.lines.map(({ line, factor, slot }) => {
        const value = line.values[lastUpTo(line.steps, now)];
        if (value === undefined || !Number.isFinite(value)) return null;
        return <circle key={line.variable} class="pt" cx={x} cy={space.y(value * factor)} r={3} fill={`var(--cat-${slot})`} />;
      })}
    </g>
  );
}

function saidOf({ lines, steps }: Strip): string {
  const names = lines.map(({ line }) => line.variable).join(", ");
  return `${names} from step ${steps.low} to ${steps.high}; the time bar goes to a step`;
}

function StripTable({ lines }: { lines: readonly Line[] }) {
  const { rows, numAll } = tableOf(lines, MOST_ROWS);
  return (
    <div class="strip-table">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Step</th>
            {lines.map(({ variable }) => (
              <th key={variable} scope="col">
                {variable}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([at, ...values]) => (
            <tr key={at} aria-selected={at === step.value}>
              <th scope="row">{formatCount(at ?? 0)}</th>
              {values.map((value, column) => (
                <td key={column}>{value === null ? "" : formatExact(value, "f4")}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
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

const MAX_COLOURS = 8;
const MOST_TICKS = 4;
/** Of the distance between two ticks, after its first: 2.5 and 1.25 are round numbers. */
const SPARE_DIGITS = 2;
/** A line that is not smaller than this share of the largest is left as it is. */
const VISIBLE = 0.2;
/** Values nearer to each other than this share of them differ by rounding: that is no course. */
const ROUNDING = 1e-6;

/** Null where no variable has a value. */
export function stripOf(lines: readonly Line[], isOff: (variable: string) => boolean): Strip | null {
  const all = lines.map((line, at) => ({ line, slot: (at % MAX_COLOURS) + 1, most: mostOf(line.values) }));
  const shown = all.filter(({ line }) => line.steps.length > 0 && !isOff(line.variable));
  if (shown.length === 0) return null;
  const largest = Math.max(0, ...shown.map(({ most }) => most));
  const scaled = shown.map(({ line, slot, most }) => ({ line, slot, factor: factorOf(most, largest) }));
  const steps = { low: Infinity, high: -Infinity };
  const values = { low: Infinity, high: -Infinity };
  for (const { line, factor } of scaled) {
    for (const step of line.steps) widen(steps, step);
    for (const value of line.values) if (Number.isFinite(value)) widen(values, value * factor);
  }
  if (values.low > values.high) [values.low, values.high] = [-1, 1];
  if (values.low === values.high) [values.low, values.high] = around(values.low, 0.5);
  else if (isRounding(values)) [values.low, values.high] = around((values.low + values.high) / 2, ROUNDING);
  return { lines: scaled, steps, values: niceSpan(values) };
}

interface Tick {
  readonly value: number;
  readonly text: string;
}

/** With the digits that tell them apart, and no more. */
export function ticksOf(values: Span): readonly Tick[] {
  const ticks = linearTicks(values, MOST_TICKS);
  const gap = Math.min(...ticks.slice(1).map((value, at) => value - ticks[at]!));
  const decimals = Number.isFinite(gap) && gap > 0 ? Math.ceil(-Math.log10(gap)) + SPARE_DIGITS : 0;
  const rounded = ticks.map((value) => (decimals > 0 && decimals <= 100 ? Number(value.toFixed(decimals)) : value));
  const texts = formatTicks(rounded);
  return ticks.map((value, at) => ({ value, text: texts[at]! }));
}

function widen(span: { low: number; high: number }, value: number): void {
  span.low = Math.min(span.low, value);
  span.high = Math.max(span.high, value);
}

function isRounding({ low, high }: Span): boolean {
  return high - low < ROUNDING * Math.max(Math.abs(low), Math.abs(high));
}

/** With room for a share of the value on both sides. */
function around(value: number, share: number): [number, number] {
  const room = Math.abs(value) * share || share;
  return [value - room, value + room];
}

function mostOf(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}

/** The power of ten that brings it nearest to the largest, and not above it. */
export function factorOf(most: number, largest: number): number {
  if (most === 0 || most >= VISIBLE * largest) return 1;
  const power = Math.floor(Math.log10(largest / most));
  return 10 ** Math.max(0, Math.min(300, power));
}

/** Where the last record up to a step stands in a line; -1 where there is none. */
export function lastUpTo(steps: Float64Array, step: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]! <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A row for each step at which any of them was recorded, the newest first. */
export function tableOf(lines: readonly Line[], most: number): { readonly rows: readonly (readonly (number | null)[])[]; readonly numAll: number } {
  const steps = [...new Set(lines.flatMap(({ steps: its }) => [...its]))].sort((a, b) => b - a);
  const rows = steps.slice(0, most).map((step) => [
    step,
    ...lines.map((line) => {
      const at = lastUpTo(line.steps, step);
      return at >= 0 && line.steps[at] === step ? line.values[at]! : null;
    }),
  ]);
  return { rows, numAll: steps.length };
}
