/** Rows under heads that sort them. Of many, only those in view are in the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { about } from "../../../data/control";
import { formatNumberOf, formatValue } from "../../../data/format";
import { askOf } from "../../../data/requests";
import { useAsked } from "../../../data/useAsked";
import type { Scale } from "../../../ui/colour-scale";
import { actOn } from "../../../ui/keys";
import { useRowsInView } from "../../../ui/scroll";
import type { TableFigures, TableGroup, TableRows, TableStatisticsAnswer } from "../../../wire";
import { gridOfCell, RowView } from "./RowView";
import { useCells } from "./cells";
import { columnFormat, type Order, type ShownColumn } from "./columns";
import { type Cell, isWrong, numberIn, type Row, rowKey, RUNS, type TableData } from "./table-data";

const ROW = 28;
const PICTURE_ROW = 36;
const HEAD = 28;
const PICTURE_HEAD = 44;
const PAGE = 10;

interface Props {
  label: string;
  columns: readonly ShownColumn[];
  /** Of all rows, whether they pass the filter or not. */
  parts: readonly TableRows[];
  rows: readonly Row[];
  order: Order | null;
  onSort: (column: ShownColumn) => void;
  /** Of the row that was written last; empty for none. */
  currentKey: string;
  /** What pressing a row does; null where that is nothing. */
  pick: ((row: Row) => void) | null;
  /** Of the row that was picked. */
  isPicked: (row: Row) => boolean;
  pickHint: string;
  /** Under the rows. */
  children?: ComponentChildren;
}

export function DataTable(props: Props) {
  const { label, columns, parts, rows, order, onSort, currentKey, pick, isPicked, pickHint, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(-1);
  const hasPictures = columns.some(({ form }) => form === "tensor");
  const [rowHeight, headHeight] = hasPictures ? [PICTURE_ROW, PICTURE_HEAD] : [ROW, HEAD];
  const { first, end, top, height, reveal } = useRowsInView(box, rows.length, rowHeight, headHeight);
  const seenFirst = Math.max(first, Math.floor(top / rowHeight));
  const seenEnd = Math.min(end, Math.ceil((top + height) / rowHeight));
  const cells = useCells({ columns, parts, inView: hasPictures ? rows.slice(seenFirst, seenEnd) : [] });
  const scales = new Map(columns.flatMap((column) => [...cells.scalesOf(column)]));
  useEffect(() => setActive((now) => Math.min(now, rows.length - 1)), [rows.length]);
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setActive(next);
    reveal(next);
  };
  const press = (at: number): void => {
    const row = rows[at];
    setActive(at);
    if (row !== undefined) pick?.(row);
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => move(active + 1),
    ArrowUp: () => move(active - 1),
    PageDown: () => move(active + PAGE),
    PageUp: () => move(active - PAGE),
    Home: () => move(0),
    End: () => move(rows.length - 1),
    Enter: () => press(active),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter on a button of the head is that button's.
    if (event.target === event.currentTarget) actOn(event, keys);
  };
  const idOf = (at: number): string => `${label.replaceAll(/\W+/g, "-")}-row-${at}`;
  return (
    <div ref={box} class="panel-body data-table-box">
      <table
        class={hasPictures ? "table data-table pictures" : "table data-table"}
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-activedescendant={active >= first && active < end ? idOf(active) : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <thead>
          <tr>
            {columns.map((column) => (
              <ColumnHead
                key={column.key}
                column={column}
                order={order?.column === column.key ? order : null}
                scale={scales.get(column.names[0]!) ?? null}
                isColour={rows[0] !== undefined && gridOfCell(rows[0], column)?.is_colour === true}
                onSort={() => onSort(column)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={first * rowHeight} width={columns.length} />
          {rows.slice(first, end).map((row, nth) => (
            <RowView
              key={rowKey(row)}
              id={idOf(first + nth)}
              index={first + nth}
              row={row}
              columns={columns}
              cells={cells}
              scales={scales}
              isActive={first + nth === active}
              isCurrent={rowKey(row) === currentKey}
              isPicked={isPicked(row)}
              hint={pickHint}
              isWrong={isWrong(row)}
              onPress={pick === null ? null : () => press(first + nth)}
            />
          ))}
          <Spacer height={(rows.length - end) * rowHeight} width={columns.length} />
        </tbody>
      </table>
      {children}
    </div>
  );
}

function Spacer({ height, width }: { height: number; width: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" style={{ height: `${height}px` }}>
      <td colSpan={width} />
    </tr>
  );
}

// --- The head of a column: a button that sorts by it or, of pictures, what their colours stand for.

interface ColumnHeadProps {
  column: ShownColumn;
  /** Where the rows are sorted by it. */
  order: Order | null;
  scale: Scale | null;
  /** Are the pictures in colours of their own? */
  isColour: boolean;
  onSort: () => void;
}

function ColumnHead({ column: { title, form }, order, scale, isColour, onSort }: ColumnHeadProps) {
  if (form === "tensor") {
    return (
      <th scope="col" class="text">
        <span class="clip">{title}</span>
        {scale !== null && <ScaleLine scale={scale} isColour={isColour} />}
      </th>
    );
  }
  return (
    <th
      scope="col"
      class={form === "text" ? "text" : "num"}
      aria-sort={order === null ? undefined : order.isDown ? "descending" : "ascending"}
    >
      <button title={`Sort by ${title}`} onClick={onSort}>
        <span>{title}</span>
        {order !== null && <span aria-hidden="true">{order.isDown ? "\u2193" : "\u2191"}</span>}
      </button>
    </th>
  );
}

function ScaleLine({ scale: { map, low, high }, isColour }: { scale: Scale; isColour: boolean }) {
  return (
    <span class="column-scale" role="img" aria-label={`Colours from ${formatValue(low)} to ${formatValue(high)}`}>
      <span aria-hidden="true">{formatValue(low, 2)}</span>
      <i class={isColour ? "ramp rgb" : `ramp smooth ${map}`} />
      <span aria-hidden="true">{formatValue(high, 2)}</span>
    </span>
  );
}

// --- What the runs came to, for each set of parameters that they were run with.

interface StatisticsTableProps {
  data: TableData;
  runIds: readonly string[];
}

/** They say how it is shown, and nothing of what is learned. */
const VIEW = "View";
/** Numbers that tell runs apart, and are no results. */
const NO_FIGURES = ["run", "seed", "step"];

export function StatisticsTable({ data, runIds }: StatisticsTableProps) {
  const by = parametersIn(data);
  const key = JSON.stringify([runIds, by]);
  const asked = useAsked({ key, version: String(data.rows.length), ask: () => askStatistics(runIds, by) });
  const found = asked.value;
  if (found === null) {
    return (
      <div class="panel-body pad-s" aria-busy={asked.problem === ""}>
        {asked.problem !== "" && <p class="hint">{asked.problem}</p>}
      </div>
    );
  }
  return (
    <div class="panel-body data-table-box" tabIndex={0} role="region" aria-label="Statistics by parameter set">
      <table class="table data-table statistics" aria-label="Statistics of runs">
        <thead>
          <tr>
            {["Figure", "Count", "Mean", "Std", "Lowest", "Highest"].map((title, at) => (
              <th key={title} scope="col" class={at === 0 ? "text" : "num"}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        {found.groups.map((group, at) => (
          <GroupRows key={at} group={group} words={groupWords(found, at)} />
        ))}
      </table>
    </div>
  );
}

/** The parameters of the form that stand in the table. */
function parametersIn({ columns }: TableData): string[] {
  const names = new Set(columns.map(({ name }) => name));
  const fields = about.value?.fields ?? [];
  return fields.filter(({ name, section }) => section !== VIEW && names.has(name)).map(({ name }) => name);
}

async function askStatistics(runIds: readonly string[], by: readonly string[]): Promise<TableStatisticsAnswer> {
  return (await askOf({ type: "table_statistics", run_ids: [...runIds], name: RUNS, by: [...by] }, "table_statistics")).answer;
}

/** The parameters in which it differs from another set; of one set alone, all of them. */
function groupWords({ by, groups }: TableStatisticsAnswer, at: number): string {
  const { cells } = groups[at]!;
  const differs = (place: number): boolean => groups.some((other) => other.cells[place] !== cells[place]);
  const isTold = (place: number): boolean => groups.length === 1 || differs(place);
  return by.flatMap((name, place) => (isTold(place) ? [`${labelOf(name)} ${cellText(cells[place] ?? null)}`] : [])).join(", ");
}

function labelOf(name: string): string {
  return about.value?.fields.find((field) => field.name === name)?.label ?? name;
}

function cellText(cell: Cell): string {
  const number = numberIn(cell);
  return number === null ? String(cell ?? "none") : String(number).replace("-", "\u2212");
}

function GroupRows({ group, words }: { group: TableGroup; words: string }) {
  const shown = group.figures.filter(({ column, count }) => count > 0 && !NO_FIGURES.includes(column));
  return (
    <tbody>
      <tr class="group-row">
        <th scope="rowgroup" colSpan={6} class="text">
          {formatNumberOf(group.num_rows, "run")}
          {words !== "" && <span class="muted"> · {words}</span>}
        </th>
      </tr>
      {shown.map((figures) => (
        <FigureRow key={figures.column} figures={figures} />
      ))}
    </tbody>
  );
}

function FigureRow({ figures: { column, count, mean, std, low, high } }: { figures: TableFigures }) {
  const numbers = [mean, std, low, high];
  const format = columnFormat(numbers.filter((value) => value !== null));
  return (
    <tr>
      <th scope="row" class="text">
        {column}
      </th>
      <td class="num">{count}</td>
      {numbers.map((value, at) => (
        <td key={at} class="num" title={value === null ? undefined : String(value)}>
          {value === null ? "" : format(value)}
        </td>
      ))}
    </tr>
  );
}
