/** The numbers of a chart in rows, of which only those in view are in the page. */
import type { ReadonlySignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { formatCount, formatExact, formatNumberOf, formatValue, groupDigits } from "../../data/format";
import { Gap } from "../../ui/Table";
import { useRowsInView } from "../../ui/scroll";
import { colourOfLine, type Curve, describePlace, type Line, type Model } from "./model";

const ROW_HEIGHT = 24;
const AXIS_TITLES = { step: "step", relative: "after", time: "time" };

export function ChartTable({ model }: { model: ReadonlySignal<Model | null> }) {
  return model.value === null ? null : <Numbers now={model.value} />;
}

function Numbers({ now }: { now: Model }) {
  const box = useRef<HTMLDivElement>(null);
  // What is only there for comparison comes last.
  const lines = useMemo(() => [...now.lines].sort((one, other) => Number(one.isBehind) - Number(other.isBehind)), [now]);
  const rows = useMemo(() => rowsOf(now, lines), [now]);
  const { first, end } = useRowsInView(box, rows.length, ROW_HEIGHT);
  const isCoarse = lines.some(({ curve }) => curve.hasBuckets);
  return (
    <div ref={box} class="chart-table" tabIndex={0} role="region" aria-label={`Numbers of ${now.chart.fullTitle}`}>
      <table class="table" aria-rowcount={rows.length + 1}>
        <caption class="fs-1 muted">
          {formatNumberOf(rows.length, "row")}
          {isCoarse && ", means of many points"}
        </caption>
        <thead>
          <tr>
            <th class="num">{AXIS_TITLES[now.axis]}</th>
            {lines.map((line) => (
              <th key={line.key} class="num" title={line.label}>
                <i class="sw" style={{ background: colourOfLine(line) }} /> <span>{line.label}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap height={first * ROW_HEIGHT} />
          {rows.slice(first, end).map(({ x, items }, at) => (
            <tr key={first + at} aria-rowindex={first + at + 2}>
              <td class="num">{now.axis === "step" ? formatStep(x) : describePlace(x, now.axis)}</td>
              {lines.map((line, column) => (
                <Cell key={line.key} line={line} at={items[column]!} />
              ))}
            </tr>
          ))}
          <Gap height={(rows.length - end) * ROW_HEIGHT} />
        </tbody>
      </table>
    </div>
  );
}

/** As far as the axis is seen. */
function rowsOf({ x }: Model, lines: readonly Line[]) {
  const rows = tableRows(lines.map(({ curve }) => curve));
  return x === null || x.isLog ? rows : rows.filter((row) => row.x >= x.low && row.x <= x.high);
}

/** Of a bucket it is a mean. */
function formatStep(step: number): string {
  const [whole, tenth] = (Math.round(step * 10) / 10).toFixed(1).split(".") as [string, string];
  return tenth === "0" ? formatCount(Number(whole)) : `${groupDigits(whole)}.${tenth}`;
}

function Cell({ line: { curve }, at }: { line: Line; at: number }) {
  if (at < 0) return <td />;
  const [value, count, bad] = [curve.mean[at]!, curve.count[at]!, curve.bad[at]!];
  const title =
    count > 1
      ? `${formatCount(count)} points from ${formatValue(curve.low[at]!)} to ${formatValue(curve.high[at]!)}` +
        (bad > 0 ? `, ${formatCount(bad)} NaN or infinite` : "")
      : formatExact(value, "f8");
  return (
    <td class={bad > 0 ? "num bad" : "num"} title={title}>
      {formatValue(value, 5)}
    </td>
  );
}

// --- The numbers of a chart in rows: one for each place of the axis where any line has an item.

interface TableRow {
  readonly x: number;
  /** The item of each line; -1 where it has none here. */
  readonly items: readonly number[];
}

/** All places in order. Items of one line at one place get rows of their own. */
export function tableRows(curves: readonly Pick<Curve, "x">[]): TableRow[] {
  const next = curves.map(() => 0);
  const rows: TableRow[] = [];
  for (;;) {
    let x = Infinity;
    curves.forEach((curve, at) => {
      const place = curve.x[next[at]!];
      if (place !== undefined && place < x) x = place;
    });
    if (x === Infinity) return rows;
    const items = curves.map((curve, at) => (curve.x[next[at]!] === x ? next[at]!++ : -1));
    rows.push({ x, items });
  }
}
