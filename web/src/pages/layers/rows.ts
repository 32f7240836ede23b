/** The rows of the map: watched tensors in groups, which fold, with a filter and a place for each. */
import { formatNumberOf, formatShare, formatValue } from "../../data/format";
import { alarmKind, stepsText } from "../../data/run-events";
import type { Reply } from "../../data/source";
import type { AlarmListing, WatchedRow } from "../../wire";
import { cellAt, IS_ESTIMATE, type WatchedGrid } from "./grid";
import { kindOf } from "./paint";

const TITLES: readonly (readonly [role: string, title: string])[] = [
  ["activation", "Activations"],
  ["gradient", "Gradients"],
  ["weight", "Weights"],
  ["weight_gradient", "Weight gradients"],
  ["update", "Updates"],
  ["state", "Optimizer"],
  ["tensor", "Tensors"],
];

/** In the place of a role: the group of rows that were never seen, whatever they are. It is closed at first. */
export const UNSEEN = "never seen";

/** How the variable of a role ends: it stands in the title of the group already. */
const ENDINGS: Readonly<Record<string, string>> = {
  activation: "Act",
  gradient: "Grad",
  weight_gradient: "Grad",
  update: "Delta",
};

export interface GroupLine {
  readonly kind: "group";
  readonly role: string;
  readonly title: string;
  readonly isOpen: boolean;
  readonly count: number;
  readonly hint: string;
  readonly top: number;
  readonly height: number;
}

export interface RowLine {
  readonly kind: "row";
  readonly row: WatchedRow;
  /** Its place in the answer. */
  readonly index: number;
  readonly label: string;
  readonly top: number;
  readonly height: number;
}

export type Line = GroupLine | RowLine;

export interface Lines {
  readonly all: readonly Line[];
  readonly rows: readonly RowLine[];
  /** By the name of the row. */
  readonly byName: ReadonlyMap<string, RowLine>;
  readonly height: number;
}

export interface Sizes {
  readonly group: number;
  readonly row: number;
}

export const TALL: Sizes = { group: 26, row: 17 };
export const THIN: Sizes = { group: 22, row: 6 };

/** What is written beside a row: what the title of its group does not say. The model itself has no address. */
export function labelOf({ layer, variable, role, name }: WatchedRow): string {
  const ending = ENDINGS[role];
  const rest = ending === undefined ? variable : withoutEnding(variable, ending);
  const label = [layer, rest].filter((part) => part !== "").join(".");
  return label === "" ? (role === "tensor" ? name : "(model)") : label;
}

function withoutEnding(variable: string, ending: string): string {
  if (variable === ending) return "";
  return variable.endsWith(`.${ending}`) ? variable.slice(0, -ending.length - 1) : variable;
}

export function roleTitle(role: string): string {
  return TITLES.find(([one]) => one === role)?.[1] ?? role;
}

/** Does it have every word of the filter, in its name or in the type of its layer? */
export function matches({ name, module }: WatchedRow, filter: string): boolean {
  const text = `${name} ${module}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface Choice {
  readonly filter: string;
  readonly closed: ReadonlySet<string>;
  /** Which rows have something to show, by their place; all where it is not given. */
  readonly isShown?: (index: number) => boolean;
  /** The names of those that were never seen; they stand in a group of their own, at the end. */
  readonly unseen?: ReadonlySet<string>;
}

interface Placed {
  readonly row: WatchedRow;
  /** Its place in the answer. */
  readonly index: number;
}

/** The rows that are chosen, by the role of their group, those that were never seen last. */
function rowsByGroup(rows: readonly WatchedRow[], { filter, isShown, unseen }: Choice): ReadonlyMap<string, Placed[]> {
  const groups = new Map<string, Placed[]>(TITLES.map(([role]) => [role, []]));
  const left: Placed[] = [];
  for (const [index, row] of rows.entries()) {
    if (!matches(row, filter) || isShown?.(index) === false) continue;
    const its = unseen?.has(row.name) === true ? left : groups.get(row.role);
    if (its === undefined) groups.set(row.role, [{ row, index }]);
    else its.push({ row, index });
  }
  return groups.set(UNSEEN, [...(groups.get(UNSEEN) ?? []), ...left]);
}

export function linesOf(rows: readonly WatchedRow[], choice: Choice, sizes: Sizes): Lines {
  const all: Line[] = [];
  const shown: RowLine[] = [];
  let top = 0;
  for (const [role, its] of rowsByGroup(rows, choice)) {
    if (its.length === 0) continue;
    const isOpen = !choice.closed.has(role);
    const count = its.length;
    all.push({ ...headOf(role, count), kind: "group", role, isOpen, count, top, height: sizes.group });
    top += sizes.group;
    if (!isOpen) continue;
    for (const { row, index } of its) {
      const line: RowLine = { kind: "row", row, index, label: role === UNSEEN ? row.name : labelOf(row), top, height: sizes.row };
      all.push(line);
      shown.push(line);
      top += sizes.row;
    }
  }
  return { all, rows: shown, byName: new Map(shown.map((line) => [line.row.name, line])), height: top };
}

function headOf(role: string, count: number): Pick<GroupLine, "title" | "hint"> {
  if (role !== UNSEEN) return { title: roleTitle(role), hint: "" };
  return {
    title: `${formatNumberOf(count, "row was", "rows were")} never seen`,
    hint: "layers that are not called, or that no gradient reaches",
  };
}

/** The lines between two heights; they stand in the order of their places. */
export function linesBetween<One extends Line>(lines: readonly One[], from: number, to: number): readonly One[] {
  const first = firstBelow(lines, from);
  let end = first;
  while (end < lines.length && lines[end]!.top < to) end += 1;
  return lines.slice(first, end);
}

/** The line at a height; undefined below the last one. */
export function lineAt(lines: readonly Line[], y: number): Line | undefined {
  const found = lines[firstBelow(lines, y)];
  return found !== undefined && found.top <= y ? found : undefined;
}

/** The first line that ends below a height. */
function firstBelow(lines: readonly Line[], y: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { top, height } = lines[middle]!;
    if (top + height > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Where the heads of groups stand when the view is scrolled: at its upper edge while rows of theirs are below it. */
export function pinnedTops({ all, height }: Lines, scrollTop: number): readonly { line: GroupLine; top: number }[] {
  const heads = all.filter((line) => line.kind === "group");
  return heads.map((line, at) => {
    const end = heads[at + 1]?.top ?? height;
    return { line, top: Math.max(line.top, Math.min(scrollTop, end - line.height)) };
  });
}

// --- All figures of one watched row over steps, as the server sends them.

export interface RowFigures {
  readonly runId: string;
  readonly rank: number;
  readonly name: string;
  /** Null: there is none of this name. */
  readonly row: WatchedRow | null;
  readonly firstSteps: readonly number[];
  readonly lastSteps: readonly number[];
  /** By the name of the figure; NaN where nothing is known. */
  readonly columns: ReadonlyMap<string, Float32Array>;
  /** By the name of the figure: 1 where it is that of a sample. */
  readonly estimates: ReadonlyMap<string, Uint8Array>;
  /** How many values the latest estimates are of; null where there are none, or nobody knows. */
  readonly numValues: number | null;
  /** Empty where there is none. */
  readonly tensorName: string;
  readonly histogramName: string;
}

interface Asked {
  readonly runId: string;
  readonly rank: number;
  readonly name: string;
}

/** Null for an answer to something else, or one that is damaged. */
export function rowFiguresOf({ answer, buffer, offset }: Reply, asked: Asked): RowFigures | null {
  if (answer.type !== "watched_row") return null;
  const { first_steps: firstSteps, last_steps: lastSteps } = answer;
  const width = firstSteps.length;
  const count = width * answer.columns.length;
  if (lastSteps.length !== width || buffer.byteLength - offset < 5 * count) return null;
  const columns = answer.columns.map(
    (name, at) => [name, new Float32Array(buffer, offset + 4 * width * at, width)] as const,
  );
  const estimates = answer.columns.map(
    (name, at) => [name, new Uint8Array(buffer, offset + 4 * count + width * at, width)] as const,
  );
  return {
    ...asked,
    ...{ firstSteps, lastSteps },
    row: answer.row,
    columns: new Map(columns),
    estimates: new Map(estimates),
    numValues: answer.num_values,
    tensorName: answer.tensor_name,
    histogramName: answer.histogram_name,
  };
}

/** The step in the middle of each bucket. */
export function middleSteps({ firstSteps, lastSteps }: Pick<RowFigures, "firstSteps" | "lastSteps">): number[] {
  return firstSteps.map((first, at) => (first + lastSteps[at]!) / 2);
}

const NOTHING = new Float32Array(0);

/** Is there any value? */
export function hasColumn({ columns }: RowFigures, name: string): boolean {
  return (columns.get(name) ?? NOTHING).some((value) => !Number.isNaN(value));
}

export function columnOf({ columns }: RowFigures, name: string): Float32Array {
  return columns.get(name) ?? NOTHING;
}

export function isEstimate({ estimates }: RowFigures, name: string, at: number): boolean {
  return estimates.get(name)?.[at] === 1;
}

/**
 * The values of whole tensors alone and their steps, where there are some: a line that went through the extremes of
 * samples, too, would jump up and down.
 */
export function exactLine(figures: RowFigures, name: string): { steps: number[]; values: Float32Array } {
  const [values, steps] = [columnOf(figures, name), middleSteps(figures)];
  const isKept = (at: number): boolean => !Number.isNaN(values[at]!) && !isEstimate(figures, name, at);
  const kept = [...values.keys()].filter(isKept);
  if (kept.length === 0) return { steps, values };
  return { steps: kept.map((at) => steps[at]!), values: values.filter((_, at) => isKept(at)) };
}

/** `from 512 values`; empty for a figure of the whole tensor. */
export function sampleText(figures: RowFigures, name: string, at: number): string {
  if (!isEstimate(figures, name, at)) return "";
  return figures.numValues === null ? "from a sample" : `from ${formatNumberOf(figures.numValues, "value")}`;
}

// --- What is under the pointer, in words: row, steps, value.

/** The name of a row with its steps and its figure. */
interface Reading {
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

// --- The figures of a watched tensor: what they are called, and what kind of number each is.

/** Of either sign; a size, which may span decades; a share from 0 to 1. */
export type FigureKind = "signed" | "size" | "share";

interface Figure {
  /** As the server names it. */
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
];

const BY_ID = new Map(KNOWN.map((figure) => [figure.id, figure]));

export const FIRST_FIGURE = "norm";

/** Also one that this page does not know yet: it is shown by its name. */
export function figureOf(id: string): Figure {
  const known = BY_ID.get(id);
  if (known !== undefined) return known;
  const digits = /^q(\d\d)$/.exec(id)?.[1];
  if (digits === undefined) return { id, title: id, kind: "signed", hint: "" };
  const share = Number(digits);
  if (share === 50) return { id, title: "median", kind: "signed", hint: "half of the finite values are below" };
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
