/** What the runs came to, for each set of parameters that they were run with. */
import { formatNumberOf } from "../../format";
import { askOf } from "../../sections/asking";
import { useAsked } from "../../sections/useAsked";
import type { TableFigures, TableGroup, TableStatisticsAnswer } from "../../wire";
import { about } from "../store";
import { columnFormat } from "./numbers";
import { numberIn, type Cell, type TableData } from "./tabledata";
import { RUNS } from "./tablelist";

interface Props {
  data: TableData;
  runIds: readonly string[];
}

/** They say how it is shown, and nothing of what is learned. */
const VIEW = "View";
/** Numbers that tell runs apart, and are no results. */
const NO_FIGURES = ["run", "seed", "step"];

export function StatisticsTable({ data, runIds }: Props) {
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
