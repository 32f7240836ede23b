/** What is under the pointer, in words: row, steps, value. */
import { stepsText } from "./events";
import { figureOf, formatFigure } from "./figures";
import { cellAt, IS_ESTIMATE, type WatchedGrid } from "./grid";
import { kindOf } from "./painting";

/** The name of a row with its steps and its figure. */
export interface Reading {
  readonly name: string;
  readonly steps: string;
  readonly value: string;
  readonly isBad: boolean;
}

export function readingOf(grid: WatchedGrid, row: number, bucket: number): Reading | null {
  const watched = grid.rows[row];
  const [first, last] = [grid.firstSteps[bucket], grid.lastSteps[bucket]];
  if (watched === undefined) return null;
  if (first === undefined || last === undefined)
    return { name: watched.name, steps: "", value: "not recorded", isBad: false };
  const { value, marks } = cellAt(grid, row, bucket);
  const kind = kindOf(value, marks);
  return {
    name: watched.name,
    steps: stepsText(first, last),
    value: valueText(grid.column, value, kind, (marks & IS_ESTIMATE) !== 0),
    isBad: kind === "nan" || kind === "inf",
  };
}

function valueText(column: string, value: number, kind: ReturnType<typeof kindOf>, isEstimate: boolean): string {
  const figure = figureOf(column);
  if (kind === "missing") return "not recorded";
  const has = kind === "nan" ? "NaN" : kind === "inf" ? "Inf" : "";
  const text = formatFigure(figure, value, { isEstimate });
  const sample = isEstimate ? " (from a sample)" : "";
  if (has === "") return `${figure.title} ${text}${sample}`;
  if (!Number.isFinite(value)) return `${figure.title} ${Number.isNaN(value) ? "unknown" : text}: has ${has}`;
  const rest = figure.kind === "share" ? "" : " of the finite values";
  return `${figure.title} ${text}${rest}${sample}, has ${has}`;
}

export function sentenceOf({ name, steps, value }: Reading): string {
  return [name, steps, value].filter((part) => part !== "").join(" \u00b7 ");
}
