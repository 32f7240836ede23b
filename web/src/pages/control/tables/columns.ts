/** What stands in the columns of a table: which are shown, under which title, and how their cells are written. */
import { obtain } from "../../../data/collections";
import { formatCount, formatSpecial, formatValue } from "../../../data/format";
import { type ColumnChoices, rememberedColumns } from "../../../ui/Table";
import * as sorting from "../../../ui/sorting";
import { type Cell, cellOf, type Column, ERROR, numberIn, type Row, sizeOf, type TableData, tableTitle } from "./table-data";

export interface ShownColumn {
  readonly key: string;
  readonly title: string;
  readonly form: "number" | "text" | "tensor" | "error";
  /** Several where tensors stand over each other. */
  readonly names: readonly string[];
  readonly format: (value: number) => string;
  /** Does it say at first glance what a row is about? The others can be had. */
  readonly isShown: boolean;
}

/** Of many tensors these are shown where nobody chose: what goes in, the last before what comes out, and that. */
const MOST_TENSORS = 4;
/** The same in all rows of a test: its head says it. */
const SAID_IN_HEAD = ["run", "epoch", "step"];
export const ANSWER = "answer";

/** `settings` are columns that are the same in most rows, such as parameters: they are shown where they differ. */
export function shownColumns(data: TableData, choices: ColumnChoices, settings: ReadonlySet<string> = NO_SETTINGS): ShownColumn[] {
  const made = columnsOf(data);
  const isOfTrials = made.some(({ key }) => key === "trial");
  const tensors = made.filter(({ form }) => form === "tensor");
  const first = new Set(tensors.length <= MOST_TENSORS ? tensors : [tensors[0], ...tensors.slice(-2)]);
  const hasAnswers = made.some(({ key }) => key === ANSWER);
  const isTelling = (column: Omit<ShownColumn, "isShown">): boolean => {
    if (column.form === "tensor") return first.has(column);
    // A wrong answer is seen as such.
    if (column.form === "error") return !hasAnswers;
    if (isOfTrials && SAID_IN_HEAD.includes(column.key)) return false;
    return !settings.has(column.key) || isVarying(data, column.key);
  };
  return errorFirst(made).map((column) => ({ ...column, isShown: choices.get(column.key) ?? isTelling(column) }));
}

const NO_SETTINGS: ReadonlySet<string> = new Set();

function isVarying({ rows }: TableData, name: string): boolean {
  return rows.some((row) => cellOf(row, name) !== cellOf(rows[0]!, name));
}

/** Beside the number of the trial, where it is seen however narrow the table is. */
function errorFirst<One extends Pick<ShownColumn, "key">>(columns: readonly One[]): readonly One[] {
  const [error, trial] = [columns.find(({ key }) => key === ERROR), columns.findIndex(({ key }) => key === "trial")];
  if (error === undefined) return columns;
  const others = columns.filter((column) => column !== error);
  return [...others.slice(0, trial + 1), error, ...others.slice(trial + 1)];
}

function columnsOf({ columns, rows }: TableData): Omit<ShownColumn, "isShown">[] {
  const pair = pairOf(columns);
  return columns
    .filter((column) => column !== pair?.under)
    .map((column) => {
      const { name, form } = column;
      const isNumber = form === "number" || form === "integer";
      const over = column === pair?.over ? pair : null;
      // Layers are called as in the network.
      const title = form === "tensor" ? name : tableTitle(name.replaceAll("_", " "));
      return {
        key: name,
        title: over === null ? title : `${name} and target`,
        form: form === "tensor" || form === "text" ? form : name === ERROR ? "error" : "number",
        names: over === null ? [name] : [name, over.under.name],
        format: isNumber ? columnFormat(rows.map((row) => numberIn(cellOf(row, name)) ?? NaN)) : String,
      };
    });
}

/** What the network says and what it should say: under each other they are compared at a glance. */
function pairOf(columns: readonly Column[]): { readonly over: Column; readonly under: Column } | null {
  const tensor = (name: string): Column | undefined =>
    columns.find((column) => column.form === "tensor" && column.name.toLowerCase() === name);
  const [over, under] = [tensor("output"), tensor("target")];
  if (over === undefined || under === undefined) return null;
  return sizeOf(over.shape) === sizeOf(under.shape) ? { over, under } : null;
}

const choices = new Map<string, ReturnType<typeof rememberedColumns>>();

/** What somebody has chosen for the columns of a table. */
export function choicesFor(table: string) {
  return obtain(choices, table, () => rememberedColumns(`control-columns-${table}`));
}

/** Of the largest, so many digits are seen. */
const DIGITS = 4;
const MOST_DECIMALS = 6;
const LARGE = 1e7;

/** How the numbers of a column are written: all with as many decimals, so that they line up. */
export function columnFormat(numbers: Iterable<number>): (value: number) => string {
  let [largest, isWhole] = [0, true];
  for (const value of numbers) {
    if (!Number.isFinite(value)) continue;
    largest = Math.max(largest, Math.abs(value));
    isWhole &&= Number.isInteger(value);
  }
  if (isWhole && largest <= Number.MAX_SAFE_INTEGER) return (value) => (Number.isFinite(value) ? formatCount(value) : formatSpecial(value));
  const power = largest === 0 ? 0 : Math.floor(Math.log10(largest));
  const decimals = Math.max(0, Math.min(MOST_DECIMALS, DIGITS - 1 - power));
  // What would be nought with so many decimals, or is too long with any, is written alone.
  const least = 0.5 * 10 ** -decimals;
  return (value) => {
    const size = Math.abs(value);
    if (!Number.isFinite(value) || size >= LARGE || (size < least && value !== 0)) return formatValue(value, 3);
    return value.toFixed(decimals).replace("-", "\u2212");
  };
}

/** Pressed a third time, it is as it was. */
export function nextOrder(now: sorting.Order | null, column: string, isNumeric: boolean): sorting.Order | null {
  return now?.column === column && now.isDown !== isNumeric ? null : sorting.nextOrder(now, column, !isNumeric);
}

export function inOrder(rows: readonly Row[], order: sorting.Order | null): readonly Row[] {
  if (order === null) return rows;
  const keyOf = (row: Row): Cell => {
    const cell = cellOf(row, order.column);
    const number = numberIn(cell) ?? cell;
    return number === "" || Number.isNaN(number) ? null : number;
  };
  return sorting.sortedBy(rows, keyOf, order.isDown);
}
