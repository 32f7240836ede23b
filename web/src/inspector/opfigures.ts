/** The figures of an op over the passes of its run, as lines for small charts. */
import type { Line } from "../runs/chart/lines";
import type { OpSeriesAnswer } from "../wire";

export interface FigureChart {
  readonly title: string;
  readonly lines: readonly Line[];
}

const COLOUR = "var(--accent)";

/** One chart for each figure that is known in some pass: mean with its limits, spread, zeros, gradients. */
export function figureCharts(answer: OpSeriesAnswer): readonly FigureChart[] {
  const column = (name: string): number[] | null => {
    const at = answer.figures.indexOf(name);
    if (at < 0) return null;
    const values = answer.rows.map((row) => row[at] ?? NaN);
    return values.some(Number.isFinite) ? values : null;
  };
  const chart = (title: string, name: string, low?: string, high?: string): FigureChart | null => {
    const y = column(name);
    if (y === null) return null;
    const [lowest, highest] = [
      low === undefined ? null : column(low),
      high === undefined ? null : column(high),
    ];
    const band = lowest === null || highest === null ? {} : { low: lowest, high: highest };
    return { title, lines: [{ name: title, colour: COLOUR, x: answer.steps, y, end: "dot", ...band }] };
  };
  const nan = column("nan");
  return [
    chart("mean, from min to max", "mean", "min", "max"),
    chart("std", "std"),
    chart("share of zeros", "zeros"),
    // As a rule there are none, which needs no chart.
    nan?.some((count) => count > 0) === true ? chart("NaN", "nan") : null,
    chart("gradient: mean, from min to max", "grad_mean", "grad_min", "grad_max"),
    chart("gradient: std", "grad_std"),
    chart("gradient: share of zeros", "grad_zeros"),
  ].filter((one) => one !== null);
}
