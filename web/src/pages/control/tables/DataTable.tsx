/** Rows under heads that sort them. Of many, only those in view are in the page. */
import { useEffect, useRef, useState } from "preact/hooks";
import { about } from "../../../data/control";
import { formatExact, formatNumberOf } from "../../../data/format";
import { askOf } from "../../../data/requests";
import { useAsked } from "../../../data/useAsked";
import { rowKeys, Table } from "../../../ui/Table";
import { ScaleLine } from "../../../ui/controls";
import { actOn } from "../../../ui/keys";
import { useRowsInView } from "../../../ui/scroll";
import type { Order } from "../../../ui/sorting";
import type { TableGroup, TableRows, TableStatisticsAnswer } from "../../../wire";
import { ANSWER, columnFormat, type ShownColumn } from "./columns";
import { type Cell, cellOf, isUntested, isWrong, numberIn, type Row, rowKey, RUNS, type TableData } from "./table-data";
import { gridOfCell, PictureCell, useCells } from "./tensor-cells";

const ROW = 28;
const PICTURE_ROW = 36;
const HEAD = 28;
const PICTURE_HEAD = 44;

/** What pressing a row does, where that is something. */
interface Picking {
  readonly press: (row: Row) => void;
  readonly isPicked: (row: Row) => boolean;
  readonly hint: string;
}

interface Props {
  label: string;
  columns: readonly ShownColumn[];
  /** Of all rows, whether they pass the filter or not. */
  parts: readonly TableRows[];
  rows: readonly Row[];
  order: Order | null;
  sort: (column: string) => void;
  /** Of the row that was written last; empty for none. */
  currentKey: string;
  picking: Picking | null;
}

export function DataTable({ label, columns, parts, rows, order, sort, currentKey, picking }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(-1);
  const hasPictures = columns.some(({ form }) => form === "tensor");
  const [rowHeight, headHeight] = hasPictures ? [PICTURE_ROW, PICTURE_HEAD] : [ROW, HEAD];
  const { first, end, top, height, reveal } = useRowsInView(box, rows.length, rowHeight, headHeight);
  const seenFirst = Math.max(first, Math.floor(top / rowHeight));
  const seenEnd = Math.min(end, Math.ceil((top + height) / rowHeight));
  const cells = useCells(columns, parts, hasPictures ? rows.slice(seenFirst, seenEnd) : []);
  useEffect(() => setActive((now) => Math.min(now, rows.length - 1)), [rows.length]);
  const move = (to: number): void => {
    setActive(to);
    reveal(to);
  };
  const press = (at: number): void => {
    setActive(at);
    if (rows[at] !== undefined) picking?.press(rows[at]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter on a button of the head is that button's.
    if (event.target !== event.currentTarget) return;
    actOn(event, { ...rowKeys(active, rows.length, move), Enter: () => press(active) });
  };
  const headOf = (column: ShownColumn) => {
    const { key, title, form, names } = column;
    if (form !== "tensor") return { key, title, style: form === "text" ? "text" : "num" };
    const [scale, grid] = [cells.scales.get(names[0]!), rows[0] && gridOfCell(rows[0], column)];
    const head = (
      <>
        <span class="clip">{title}</span>
        {scale && (
          <ScaleLine style="column-scale" low={scale.low} high={scale.high}>
            <i class={grid?.is_colour === true ? "ramp rgb" : `ramp smooth ${scale.map}`} />
          </ScaleLine>
        )}
      </>
    );
    return { key, title, style: "text", head };
  };
  const idOf = (at: number): string => `${label.replaceAll(/\W+/g, "-")}-row-${at}`;
  const styleOf = (row: Row, at: number): string =>
    [at === active && "active", isWrong(row) && "wrong", picking !== null && "pickable"].filter(Boolean).join(" ");
  return (
    <div ref={box} class="panel-body data-table-box">
      <Table
        class={hasPictures ? "table data-table pictures" : "table data-table"}
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-activedescendant={active >= first && active < end ? idOf(active) : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        columns={columns.map(headOf)}
        order={order}
        sort={sort}
        rows={rows}
        inView={{ first, end, rowHeight }}
        renderRow={(row, at) => (
          <tr
            key={rowKey(row)}
            id={idOf(at)}
            class={styleOf(row, at)}
            aria-rowindex={at + 2}
            aria-selected={picking?.isPicked(row)}
            aria-current={rowKey(row) === currentKey ? "true" : undefined}
            title={picking?.hint}
            onClick={picking === null ? undefined : () => press(at)}
          >
            {columns.map((column) =>
              column.form === "tensor" ? (
                <PictureCell key={column.key} row={row} column={column} cells={cells} />
              ) : (
                <CellView key={column.key} row={row} column={column} />
              ),
            )}
          </tr>
        )}
      />
      {/* Only the filter of errors leaves none. */}
      {rows.length === 0 && <p class="no-rows muted fs-2">No trial was wrong.</p>}
    </div>
  );
}

function CellView({ row, column: { key, form, format } }: { row: Row; column: ShownColumn }) {
  const cell = isUntested(row, key) ? null : cellOf(row, key);
  const value = form === "text" ? null : numberIn(cell);
  if (value !== null && form === "error") {
    return isWrong(row) ? <td class="num bad">wrong</td> : <td class="num muted">right</td>;
  }
  // Of a wrong row the answer is what is wrong.
  const bad = (isWrong(row) && key === ANSWER) || (value !== null && !Number.isFinite(value)) ? " bad" : "";
  if (value === null) return <td class={`text${bad}`}>{cell}</td>;
  return (
    <td class={`num${bad}`} title={formatExact(value, "f8")}>
      {format(value)}
    </td>
  );
}

/** They say how it is shown, and nothing of what is learned. */
const VIEW = "View";
/** Numbers that tell runs apart, and are no results. */
const NO_FIGURES = ["run", "seed", "step"];

/** What the runs came to, for each set of parameters that they were run with. */
export function StatisticsTable({ data, runIds }: { data: TableData; runIds: readonly string[] }) {
  const by = parametersIn(data);
  const ask = async (): Promise<TableStatisticsAnswer> =>
    (await askOf({ type: "table_statistics", run_ids: [...runIds], name: RUNS, by }, "table_statistics")).answer;
  const asked = useAsked({ key: [...runIds, ...by].join("\n"), version: String(data.rows.length), ask });
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
          <GroupRows key={at} group={group} words={groupWords(found, group)} />
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

/** The parameters in which it differs from another set; of one set alone, all of them. */
function groupWords({ by, groups }: TableStatisticsAnswer, { cells }: TableGroup): string {
  const isTold = (place: number): boolean =>
    groups.length === 1 || groups.some((other) => other.cells[place] !== cells[place]);
  const words = by.map((name, place) => `${labelOf(name)} ${cellText(cells[place] ?? null)}`);
  return words.filter((_, place) => isTold(place)).join(", ");
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
      {shown.map(({ column, count, mean, std, low, high }) => {
        const numbers = [mean, std, low, high];
        const format = columnFormat(numbers.filter((value) => value !== null));
        return (
          <tr key={column}>
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
      })}
    </tbody>
  );
}
