/** One table: its head with what can be done with it, and its rows. */
import { signal } from "@preact/signals";
import { messageOf } from "../../../data/message-of";
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { isConnected } from "../../../data/connection";
import { about, control } from "../../../data/control";
import { formatCount } from "../../../data/format";
import * as net from "../../../data/network/store";
import { askOf } from "../../../data/requests";
import * as runs from "../../../data/runs";
import { fileName, save } from "../../../data/save-file";
import { Blank, Skeletons } from "../../../ui/Blank";
import { ColumnBoxes, ColumnChooser } from "../../../ui/Table";
import { Segments } from "../../../ui/controls";
import type { Order } from "../../../ui/sorting";
import { itemText, reasonAgainst, testItem } from "../commands";
import { DataTable, StatisticsTable } from "./DataTable";
import { choicesFor, inOrder, nextOrder, type ShownColumn, shownColumns } from "./columns";
import * as tables from "./table-data";
import { cellOf, isWrong, numberIn, type Row, RUNS, type TableData, tableTitle, type TableWish, TEST_TRIALS } from "./table-data";

interface Props {
  name: string;
  /** What stands at the left of the head: its title, or the tabs of all tables. */
  title: (count: ComponentChildren) => ComponentChildren;
  isTab?: boolean;
}

export function TableView({ name, title, isTab = false }: Props) {
  const wish = tables.wishFor(name);
  const { data: all, isAnswered, note } = tables.useTable(wish);
  const data = useMemo(() => (wish.isOnlyLast ? tables.tableOf(all.parts.slice(-1)) : all), [all]);
  const columns = useColumns(name, data);
  const rows = useRows(data, !wish.isOnlyLast);
  const [isStatistics, setIsStatistics] = useState(false);
  const head = (
    <>
      {name === RUNS && <FormSwitch isStatistics={isStatistics} choose={setIsStatistics} />}
      {!isStatistics && <Chooser table={name} columns={columns} />}
      <SaveButton wish={shownOf(wish, data)} />
      <ErrorFilter rows={rows} numAll={data.rows.length} />
    </>
  );
  const body = isStatistics ? (
    <StatisticsTable data={data} runIds={wish.runIds} />
  ) : (
    <DataTable
      label={tableTitle(name)}
      columns={columns.filter(({ isShown }) => isShown)}
      parts={data.parts}
      rows={rows.rows}
      order={rows.order}
      sort={rows.sort}
      // Of a test rows can be picked; of other tables the row that was written last is marked.
      {...(name === TEST_TRIALS ? { picking: picking(), currentKey: "" } : { picking: null, currentKey: lastKey(data) })}
    />
  );
  const hasRows = data.rows.length > 0;
  return (
    <>
      <div class="panel-head">
        {title(hasRows ? countWords(name, data) : null)}
        <span class="grow" />
        {hasRows && head}
      </div>
      <Body panelName={isTab ? tableTitle(name) : undefined} note={note}>
        {hasRows ? body : <NoRows name={name} isAnswered={isAnswered} />}
      </Body>
    </>
  );
}

/** Under tabs it is the panel of one of them. */
function Body({ panelName, note, children }: { panelName: string | undefined; note: string; children: ComponentChildren }) {
  return (
    <div class="table-body" role={panelName === undefined ? undefined : "tabpanel"} aria-label={panelName}>
      {note !== "" && (
        <p class="fs-1 dim pad-s" role="status">
          {note}
        </p>
      )}
      {children}
    </div>
  );
}

function FormSwitch({ isStatistics, choose }: { isStatistics: boolean; choose: (isStatistics: boolean) => void }) {
  return (
    <Segments
      label="Rows or statistics"
      words={[
        ["rows", "Rows"],
        ["statistics", "Statistics"],
      ]}
      chosen={isStatistics ? "statistics" : "rows"}
      choose={(word) => choose(word === "statistics")}
    />
  );
}

function ErrorFilter({ rows: { numWrong, isOnlyWrong, showOnlyWrong }, numAll }: { rows: Rows; numAll: number }) {
  if (numWrong === null) return null;
  return (
    <Segments
      label="Filter trials"
      words={[
        ["all", `All ${formatCount(numAll)}`],
        ["errors", `Errors ${formatCount(numWrong)}`],
      ]}
      chosen={isOnlyWrong ? "errors" : "all"}
      choose={(word) => showOnlyWrong(word === "errors")}
    />
  );
}

/** Of what came last, only the run whose rows are shown. */
function shownOf(wish: TableWish, { parts }: TableData): TableWish {
  return wish.isOnlyLast ? { ...wish, runIds: parts.map((part) => part.run_id) } : wish;
}

/** How many rows there are; of a test, when it was. */
function countWords(name: string, { rows }: TableData): string {
  const [first] = rows;
  if (name !== TEST_TRIALS || first === undefined) return formatCount(rows.length);
  const { run_id: id, step } = first.part;
  const [run, epoch] = [numberIn(cellOf(first, "run")), numberIn(cellOf(first, "epoch"))];
  const when = epoch === null ? `trial ${formatCount(step)}` : `epoch ${formatCount(epoch)}`;
  // That of the run before, until this one is tested.
  return run === null || id === tables.currentRun.value ? when : `run ${formatCount(run)} · ${when}`;
}

/** The row that was written last, where it is of the run that is written now. */
function lastKey({ rows }: TableData): string {
  const last = rows.at(-1);
  return last?.part.run_id === tables.currentRun.value ? tables.rowKey(last) : "";
}

const WHEN: Readonly<Record<string, string>> = {
  [tables.TRAIN_EPOCHS]: "There is a row for each epoch, as soon as it is over.",
  [TEST_TRIALS]: "“Test all” tests every item, and so does the training, as often as its parameters say.",
  [tables.TEST_ITEMS]: "There is a row for each item that “Test item” has tested.",
  [tables.TEST_EPOCHS]: "There is a row for each test of all items.",
  [RUNS]: "There is a row for each run, as soon as it is over.",
};

/** What stands in the place of a table that has no rows. */
function NoRows({ name, isAnswered }: { name: string; isAnswered: boolean }) {
  if (!isAnswered) return <Skeletons widths={["auto", "auto", "auto"]} style="panel-body skeletons late" label={`Loading ${name}`} />;
  return (
    <div class="panel-body">
      <Blank icon="details" title={`No ${name} yet`}>
        <span>{WHEN[name] ?? "Its rows show up here as they are logged."}</span>
      </Blank>
    </div>
  );
}

// --- Which item of the test set somebody has picked from the table of trials.

const pickedItem = signal<number | null>(null);

function itemOf(row: Row): number {
  return numberIn(cellOf(row, "trial")) ?? row.at;
}

function picking() {
  const isPicked = (row: Row): boolean => itemOf(row) === pickedItem.value;
  return { press: pick, isPicked, hint: reasonAgainst("test") || "Test this item, and see it in the network" };
}

/** Show the item in the network, by testing it there. While something else is under way it is only marked. */
function pick(row: Row): void {
  const item = itemOf(row);
  pickedItem.value = item;
  itemText.value = String(item);
  // It is the only one of its batch there.
  net.item.value = 0;
  if (reasonAgainst("test") === "") tables.announceTable(tables.TEST_ITEMS);
  testItem(item);
}

// --- The rows of a table in the order and with the filter that somebody chose.

type Rows = ReturnType<typeof useRows>;

/** `isGrowing`: what is added row by row is read from its end. */
function useRows(data: TableData, isGrowing: boolean) {
  const [isWanted, showOnlyWrong] = useState(false);
  const [order, setOrder] = useState<Order | null>(null);
  const hasErrors = data.columns.some(({ name }) => name === tables.ERROR);
  const isOnlyWrong = isWanted && hasErrors;
  const wrong = useMemo(() => (hasErrors ? data.rows.filter(isWrong) : []), [data]);
  const rows = useMemo(() => {
    const passed = isOnlyWrong ? wrong : data.rows;
    return inOrder(isGrowing && order === null ? [...passed].reverse() : passed, order);
  }, [data, isOnlyWrong, order, isGrowing]);
  return {
    rows,
    /** Null where the table does not say what was wrong. */
    numWrong: hasErrors ? wrong.length : null,
    isOnlyWrong,
    showOnlyWrong,
    order,
    sort: (key: string): void => setOrder(nextOrder(order, key, data.columns.find(({ name }) => name === key)?.form !== "text")),
  };
}

/** Which columns of a table are shown. */
function useColumns(name: string, data: TableData): readonly ShownColumn[] {
  const choices = choicesFor(name).choices.value;
  const fields = about.value?.fields;
  return useMemo(() => {
    const settings = name === RUNS ? new Set(fields?.map((field) => field.name)) : undefined;
    return shownColumns(data, choices, settings);
  }, [data, choices, fields]);
}

function Chooser({ table, columns }: { table: string; columns: readonly ShownColumn[] }) {
  const tensors = columns.filter(({ form }) => form === "tensor");
  const others = columns.filter(({ form }) => form !== "tensor");
  const { show, reset } = choicesFor(table);
  return (
    <div class="column-chooser">
      <ColumnChooser label={`Columns of ${table}`} isSmall reset={reset}>
        {tensors.length > 0 && <h3>Tensors</h3>}
        <ColumnBoxes columns={tensors} show={show} />
        <h3>Columns</h3>
        <ColumnBoxes columns={others} show={show} />
      </ColumnChooser>
    </div>
  );
}

/** A table as a file: all of its rows, with the numbers of its tensors. */
function SaveButton({ wish }: { wish: TableWish }) {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const press = (): void => {
    setIsBusy(true);
    setProblem("");
    saveCsv(wish)
      .catch((reason: unknown) => setProblem(messageOf(reason)))
      .finally(() => setIsBusy(false));
  };
  return (
    <>
      {problem !== "" && (
        <span class="hint clip" role="alert" title={problem}>
          {problem}
        </span>
      )}
      <button
        class="btn quiet sm"
        disabled={isBusy || !isConnected.value}
        title={isConnected.value ? undefined : "The connection to the server is lost."}
        onClick={press}
      >
        Save as CSV
      </button>
    </>
  );
}

async function saveCsv({ name, runIds, isOnlyLast }: TableWish): Promise<void> {
  const { answer } = await askOf({ type: "table_text", run_ids: [...runIds], name, only_last: isOnlyLast }, "table_text");
  save(fileName([name, sourceName(runIds)], "csv"), answer.text, "text/csv");
}

/** Of one run its name; of several what their names have in common, which is the folder of the Init. */
function sourceName(runIds: readonly string[]): string {
  const names = runIds.flatMap((id) => runs.runsById.peek().get(id)?.name ?? []);
  const common = names.length === 1 ? names[0]! : commonFolder(names);
  return common === "" ? (control.peek()?.listing.name ?? "") : common;
}

export function commonFolder(names: readonly string[]): string {
  const [first = [], ...others] = names.map((name) => name.split("/").slice(0, -1));
  const end = first.findIndex((part, at) => others.some((other) => other[at] !== part));
  return (end < 0 ? first : first.slice(0, end)).join("/");
}
