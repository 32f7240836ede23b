/** The numbers of a chart as a table for other programs: one row for each point, or for each bucket of them. */
import { toCsv, type Cell } from "../files/csv";
import type { Curve } from "./curve";

export interface CsvSeries {
  readonly run: string;
  readonly name: string;
  readonly curve: Curve;
  /** When the run began. */
  readonly started: number;
}

const HEAD = ["run", "name", "step", "time", "relative_seconds", "value", "min", "max", "points", "not_finite"];

export function csvOf(series: readonly CsvSeries[]): string {
  const rows: Cell[][] = [HEAD];
  for (const { run, name, curve, started } of series) {
    for (let at = 0; at < curve.size; at++) {
      const time = curve.time[at]!;
      // What double arithmetic adds beyond a microsecond is no time.
      const relative = Math.round((time - started) * 1e6) / 1e6;
      const values = [curve.mean[at]!, curve.low[at]!, curve.high[at]!, curve.count[at]!, curve.bad[at]!];
      rows.push([run, name, curve.step[at]!, time, relative, ...values]);
    }
  }
  return toCsv(rows);
}
