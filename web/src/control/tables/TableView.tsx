/** One table: its head with what can be done with it, and its rows. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { formatCount } from "../../format";
import { Segments } from "../../shell/Segments";
import { about } from "../store";
import { ColumnChooser } from "./ColumnChooser";
import { choicesFor, shownColumns } from "./columns";
import { DataTable } from "./DataTable";
import { NoRows } from "./NoRows";
import { isPicked, pick, pickHint } from "./picking";
import { SaveButton } from "./SaveButton";
import { StatisticsTable } from "./StatisticsTable";
import { cellOf, numberIn, rowKey, tableOf, type TableData } from "./tabledata";
import { useTable, type TableWish } from "./tablefeed";
import { currentRun, RUNS, tableTitle, TEST_TRIALS, wishFor } from "./tablelist";
import { useRows, type Rows } from "./useRows";

interface Props {
  name: string;
  /** What stands at the left of the head: its title, or the tabs of all tables. */
  title: (count: ComponentChildren) => ComponentChildren;
  isTab?: boolean;
}

export function TableView({ name, title, isTab = false }: Props) {
  const wish = wishFor(name);
  const { data: all, isAnswered, note } = useTable(wish).value;
  const data = useMemo(() => (wish.isOnlyLast ? tableOf(all.parts.slice(-1)) : all), [all]);
  const choices = choicesFor(name);
  const fields = about.value?.fields;
  const columns = useMemo(() => {
    const settings = name === RUNS ? new Set(fields?.map((field) => field.name)) : undefined;
    return shownColumns(data, choices, settings);
  }, [data, choices, fields]);
  const rows = useRows(data, !wish.isOnlyLast);
  const [isStatistics, setIsStatistics] = useState(false);
  const head = (
    <>
      {name === RUNS && <FormSwitch isStatistics={isStatistics} choose={setIsStatistics} />}
      {!isStatistics && <ColumnChooser table={name} columns={columns} />}
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
      onSort={rows.sort}
      {...(name === TEST_TRIALS ? picked() : marked(data))}
    >
      {rows.rows.length === 0 && <p class="no-rows muted fs-2">No trial was wrong.</p>}
    </DataTable>
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

/** Of a test, rows can be picked. */
function picked() {
  return { pick, isPicked, pickHint: pickHint.value, currentKey: "" };
}

/** Of other tables, the row that was written last is marked. */
function marked(data: TableData) {
  return { pick: null, isPicked: () => false, pickHint: "", currentKey: lastKey(data) };
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
  return run === null || id === currentRun.value ? when : `run ${formatCount(run)} · ${when}`;
}

/** The row that was written last, where it is of the run that is written now. */
function lastKey({ rows }: TableData): string {
  const last = rows.at(-1);
  return last?.part.run_id === currentRun.value ? rowKey(last) : "";
}
