/** What the server knows of the watched rows: one figure of all of them, all figures of one; and how figures are written. */
import { formatNumberOf, formatShare, formatValue } from "../../data/format";
import { alarmKind, stepsText } from "../../data/run-events";
import type { ReplyOf } from "../../data/requests";
import type { Reply } from "../../data/source";
import type { CellKind } from "../../plot/cells";
import type { AlarmListing, WatchedAnswer, WatchedRowAnswer } from "../../wire";

/** What was in a cell beside its figure, which is of the finite values. */
export const HAS_NAN = 1;
export const HAS_INF = 2;
/** The figure is that of a sample at some of its steps. */
export const IS_ESTIMATE = 4;

interface Numbers {
  /** [row or column][bucket]; NaN where nothing is known. */
  readonly values: Float32Array;
  readonly marks: Uint8Array;
}

/** Null where an answer is damaged. */
function numbersIn({ buffer, offset }: Reply, count: number): Numbers | null {
  if (buffer.byteLength - offset < 5 * count) return null;
  return {
    values: new Float32Array(buffer, offset, count),
    marks: new Uint8Array(buffer, offset + 4 * count, count),
  };
}

/** The marks are HAS_NAN, HAS_INF, IS_ESTIMATE. */
export interface WatchedGrid extends Omit<WatchedAnswer, "type" | "id">, Numbers {
  readonly column: string;
}

/** Null for a damaged answer. */
export function gridOf(reply: ReplyOf<"watched">, column: string): WatchedGrid | null {
  const { answer } = reply;
  const numbers = numbersIn(reply, answer.rows.length * answer.first_steps.length);
  return numbers === null ? null : { ...answer, ...numbers, column };
}

export function rowsWithAny({ rows, first_steps: { length: width }, values }: WatchedGrid): readonly boolean[] {
  return rows.map((_, row) => values.subarray(row * width, (row + 1) * width).some((value) => !Number.isNaN(value)));
}

/**
 * The names of rows that were never seen, such as those of layers that are not called. Before anything is seen, a row
 * has no shape; and where all steps are shown, with a figure that every row has, one without any was not seen either.
 */
export function neverSeen(grid: WatchedGrid, isWhole: boolean, before: ReadonlySet<string>): ReadonlySet<string> {
  const width = grid.first_steps.length;
  if (width === 0) return before;
  const hasAny = rowsWithAny(grid);
  const found = grid.rows.filter(({ name, shape }, row) => {
    if (hasAny[row] === true || grid.marks.subarray(row * width, (row + 1) * width).some((mark) => mark !== 0)) return false;
    return isWhole || shape === null || before.has(name);
  });
  return new Set(found.map(({ name }) => name));
}

// --- All figures of one row. The marks are 1 where a figure is that of a sample.

export interface RowFigures extends WatchedRowAnswer, Numbers {}

/** Null for a damaged answer. */
export function rowFiguresOf(reply: ReplyOf<"watched_row">): RowFigures | null {
  const { answer } = reply;
  const numbers = numbersIn(reply, answer.columns.length * answer.first_steps.length);
  return numbers === null ? null : { ...answer, ...numbers };
}

export function middleSteps({ first_steps, last_steps }: Pick<RowFigures, "first_steps" | "last_steps">): number[] {
  return first_steps.map((first, at) => (first + last_steps[at]!) / 2);
}

const NOTHING = new Float32Array(0);

export function columnOf({ columns, first_steps: { length: width }, values }: RowFigures, name: string): Float32Array {
  const at = columns.indexOf(name);
  return at < 0 ? NOTHING : values.subarray(at * width, (at + 1) * width);
}

export function hasColumn(figures: RowFigures, name: string): boolean {
  return columnOf(figures, name).some((value) => !Number.isNaN(value));
}

export function isEstimate({ columns, first_steps, marks }: RowFigures, name: string, at: number): boolean {
  return marks[columns.indexOf(name) * first_steps.length + at] === 1;
}

/**
 * The values of whole tensors alone and their steps, where there are some: a line that went through the extremes of
 * samples, too, would jump up and down.
 */
export function exactLine(figures: RowFigures, name: string): { x: number[]; y: Float32Array } {
  const [y, x] = [columnOf(figures, name), middleSteps(figures)];
  const isKept = (_: number, at: number): boolean => !Number.isNaN(y[at]!) && !isEstimate(figures, name, at);
  return y.some(isKept) ? { x: x.filter(isKept), y: y.filter(isKept) } : { x, y };
}

/** `from 512 values`; empty for a figure of the whole tensor. */
export function sampleText(figures: RowFigures, name: string, at: number): string {
  if (!isEstimate(figures, name, at)) return "";
  return figures.num_values === null ? "from a sample" : `from ${formatNumberOf(figures.num_values, "value")}`;
}

// --- A cell of the map in words.


export function kindOf(value: number, marks: number): CellKind {
  if ((marks & HAS_NAN) !== 0) return "nan";
  if ((marks & HAS_INF) !== 0 || value === Infinity || value === -Infinity) return "inf";
  return Number.isNaN(value) ? "missing" : "value";
}

/** The name of a row with its steps and its figure. */
interface Reading {
  readonly name: string;
  readonly steps: string;
  readonly value: string;
  readonly isBad: boolean;
}

export function readingOf(grid: WatchedGrid, row: number, bucket: number): Reading | null {
  const name = grid.rows[row]?.name;
  if (name === undefined) return null;
  const [first, last] = [grid.first_steps[bucket], grid.last_steps[bucket]];
  if (first === undefined || last === undefined) return { name, steps: "", value: "not recorded", isBad: false };
  const at = row * grid.first_steps.length + bucket;
  const [value, marks] = [grid.values[at]!, grid.marks[at]!];
  const kind = kindOf(value, marks);
  const text = valueText(grid.column, value, kind, (marks & IS_ESTIMATE) !== 0);
  return { name, steps: stepsText(first, last), value: text, isBad: kind === "nan" || kind === "inf" };
}

function valueText(column: string, value: number, kind: CellKind, isEstimate: boolean): string {
  const figure = figureOf(column);
  if (kind === "missing") return "not recorded";
  const text = formatFigure(figure, value, { isEstimate });
  const sample = isEstimate ? " (from a sample)" : "";
  if (kind === "value") return `${figure.title} ${text}${sample}`;
  const has = kind === "nan" ? "NaN" : "Inf";
  if (!Number.isFinite(value)) return `${figure.title} ${Number.isNaN(value) ? "unknown" : text}: has ${has}`;
  const rest = figure.kind === "share" ? "" : " of the finite values";
  return `${figure.title} ${text}${rest}${sample}, has ${has}`;
}

export function sentenceOf({ name, steps, value }: Reading): string {
  return [name, steps, value].filter((part) => part !== "").join(" \u00b7 ");
}

/** Of either sign; a size, which may span decades; a share from 0 to 1. */
export type FigureKind = "signed" | "size" | "share";

interface Figure {
  readonly id: string;
  readonly title: string;
  readonly kind: FigureKind;
  /** Only some rows have it: those that do not are left out of the map. */
  readonly isRare?: boolean;
  readonly hint: string;
}

const KNOWN: readonly Figure[] = [
  { id: "mean", title: "mean", kind: "signed", hint: "of the finite values" },
  { id: "std", title: "std", kind: "size", hint: "standard deviation of the finite values" },
  { id: "min", title: "min", kind: "signed", hint: "least finite value" },
  { id: "max", title: "max", kind: "signed", hint: "largest finite value" },
  { id: "norm", title: "norm", kind: "size", hint: "square root of the sum of squares" },
  { id: "zeros", title: "zeros", kind: "share", hint: "share of values that are exactly 0" },
  { id: "nan", title: "NaN", kind: "share", hint: "share of values that are NaN" },
  { id: "inf", title: "Inf", kind: "share", hint: "share of values that are infinite" },
  { id: "ratio", title: "update ratio", kind: "size", isRare: true, hint: "norm of an update by that of its weight" },
  { id: "dead", title: "dead units", kind: "share", isRare: true, hint: "share of units that are 0 throughout" },
  { id: "saturated", title: "saturated", kind: "share", isRare: true, hint: "share of values near a bound" },
  { id: "q50", title: "median", kind: "signed", hint: "half of the finite values are below" },
];

/** Also one that this page does not know yet: it is shown by its name. */
export function figureOf(id: string): Figure {
  const known = KNOWN.find((figure) => figure.id === id);
  if (known !== undefined) return known;
  const digits = /^q(\d\d)$/.exec(id)?.[1];
  if (digits === undefined) return { id, title: id, kind: "signed", hint: "" };
  const share = Number(digits);
  return { id, title: `${share} % quantile`, kind: "signed", hint: `${share} % of the finite values are below` };
}

/** A figure of a sample is written with ≈ before it. */
export function formatFigure({ kind }: Figure, value: number, { digits = 5, isEstimate = false } = {}): string {
  const about = isEstimate ? "\u2248 " : "";
  if (kind !== "share" || !Number.isFinite(value)) return about + formatValue(value, digits);
  return about + formatShare(value, 1);
}

/** The value of an alarm with what it is: `norm 118`, `25.0 %`; empty where it has none. */
export function alarmValue({ alarm, value }: Pick<AlarmListing, "alarm" | "value">): string {
  const { value: what } = alarmKind(alarm);
  if (value === null || what === "none") return "";
  if (what === "share") return formatFigure(figureOf("nan"), value);
  return what === "norm" ? `norm ${formatValue(value, 3)}` : formatValue(value, 3);
}
