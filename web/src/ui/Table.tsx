/** Rows under heads that sort them; of many rows, only those in view are in the page. Which columns are shown. */
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { recall, remember } from "../data/remembered";
import { Check } from "./Check";
import { Icon } from "./Icon";
import { Popover } from "./Picker";
import type { Order } from "./sorting";
import type { Rows } from "./scroll";

export interface Column {
  readonly key: string;
  readonly title: string;
  readonly style: string;
  /** What stands in the head of a column that sorts nothing. */
  readonly head?: ComponentChildren;
}

interface Props<Row> extends Omit<JSX.IntrinsicElements["table"], "rows" | "label"> {
  columns: readonly Column[];
  order: Order | null;
  sort: (column: string) => void;
  rows: readonly Row[];
  /** The rows that are in the page, and how high each is; all where there are never many. */
  inView?: Rows & { readonly rowHeight: number };
  renderRow: (row: Row, at: number) => ComponentChildren;
}

export function Table<Row>({ columns, order, sort, rows, inView, renderRow, ...attributes }: Props<Row>) {
  const { first, end, rowHeight } = inView ?? { first: 0, end: rows.length, rowHeight: 0 };
  return (
    <table {...attributes}>
      <thead>
        <tr>
          {columns.map((column) => (
            <Head key={column.key} column={column} isDown={order?.column === column.key ? order.isDown : null} sort={sort} />
          ))}
        </tr>
      </thead>
      <tbody>
        <Gap height={first * rowHeight} />
        {rows.slice(first, end).map((row, nth) => renderRow(row, first + nth))}
        <Gap height={(rows.length - end) * rowHeight} />
      </tbody>
    </table>
  );
}

/** `isDown` is null where the rows are sorted by another column. */
function Head({ column: { key, title, style, head }, isDown, sort }: { column: Column; isDown: boolean | null } & Pick<Props<never>, "sort">) {
  return (
    <th class={style} scope="col" aria-sort={isDown === null ? undefined : isDown ? "descending" : "ascending"}>
      {head ?? (
        <button title={`Sort by ${title}`} onClick={() => sort(key)}>
          <span class="clip">{title}</span>
          {isDown !== null && <span aria-hidden="true">{isDown ? "\u2193" : "\u2191"}</span>}
        </button>
      )}
    </th>
  );
}

/** In the place of rows that are not in view. */
export function Gap({ height }: { height: number }) {
  return height > 0 ? <tr class="gap" aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}

const PAGE = 10;

/** Where the keys lead from a row; `at` is -1 where one is at none yet: the first key shows where one is. */
export function rowKeys(at: number, count: number, go: (to: number) => void): Record<string, () => void> {
  const to = (row: number) => () => go(Math.max(0, Math.min(count - 1, row)));
  const by = (rows: number) => to(at < 0 ? 0 : at + rows);
  return { ArrowDown: by(1), ArrowUp: by(-1), PageDown: by(PAGE), PageUp: by(-PAGE), Home: to(0), End: to(count - 1) };
}

/** What somebody has chosen to see, or not to see, by the key of the column. */
export type ColumnChoices = ReadonlyMap<string, boolean>;

/** Kept between visits. */
export function rememberedColumns(memory: string) {
  const choices = signal(choicesIn(recall(memory) ?? "[]"));
  const keep = (next: ColumnChoices): void => {
    choices.value = next;
    remember(memory, JSON.stringify([...next]));
  };
  return {
    choices,
    /** What was chosen last stands last. */
    show: (key: string, isShown: boolean): void =>
      keep(new Map([...choices.peek()].filter(([other]) => other !== key)).set(key, isShown)),
    reset: (): void => keep(new Map()),
  };
}

/** Whatever else stands there is passed over. */
function choicesIn(text: string): ColumnChoices {
  const isChoice = (pair: unknown): pair is [string, boolean] =>
    Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "boolean";
  try {
    const pairs = JSON.parse(text) as unknown;
    return new Map(Array.isArray(pairs) ? pairs.filter(isChoice) : []);
  } catch {
    return new Map();
  }
}

interface ColumnBoxesProps {
  columns: readonly { readonly key: string; readonly title: string; readonly isShown: boolean }[];
  show: (key: string, isShown: boolean) => void;
}

export function ColumnBoxes({ columns, show }: ColumnBoxesProps) {
  return columns.map(({ key, title, isShown }) => (
    <Check key={key} hint={title} isOn={isShown} set={(isOn) => show(key, isOn)}>
      <span class="clip">{title}</span>
    </Check>
  ));
}

interface ChooserProps {
  label: string;
  /** Has its button no word on it? */
  isSmall?: boolean;
  reset: () => void;
  children: ComponentChildren;
}

/** A button, and under it the boxes of all columns. */
export function ColumnChooser({ label, isSmall = false, reset, children }: ChooserProps) {
  const button = (
    <>
      <Icon name="columns" />
      <span class={isSmall ? "sr" : undefined}>Columns</span>
    </>
  );
  return (
    <Popover label={label} button={button}>
      <div class="column-list">
        {children}
        <button class="link fs-1" onClick={reset}>
          As at first
        </button>
      </div>
    </Popover>
  );
}
