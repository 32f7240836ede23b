/** The runs with their parameters and metrics: sorted, filtered, saved. */
import { formatCount } from "../format";
import { addressOf } from "../route";
import { Group } from "../sections/Group";
import { RunTag } from "../sections/RunTag";
import { fileName, save } from "../files/saving";
import { toCsv, type Cell } from "../files/csv";
import { ToolButton } from "../sections/ToolButton";
import type { RunListing } from "../wire";
import type { Column } from "./columns";
import { allRuns, columns, keptRuns, shownColumns } from "./sheet";
import { filterText, hoveredRun, order, setFilter, sortBy } from "./state";
import { valueText } from "./words";

const MAX_ROWS = 1000;

export function HparamsTable() {
  const runs = keptRuns.value;
  const shown = shownColumns.value;
  const tools = (
    <>
      <span class="muted fs-1" role="status">
        {formatCount(runs.length)} of {formatCount(allRuns.value.length)}
      </span>
      <input
        class="input sm par-filter"
        type="search"
        placeholder="Filter: adam lr<0.01"
        aria-label="Filter runs by name, word or comparison"
        value={filterText.value}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      <ToolButton
        glyph="save"
        name="Save the table as CSV"
        press={() => save(fileName(["parameters"], "csv"), toCsv(csvRows()), "text/csv")}
      />
    </>
  );
  return (
    <Group name="table" tools={tools}>
      <div class="par-scroll" tabIndex={0} role="region" aria-label="Table of parameters">
        <table class="sec-table par-table">
          <thead>
            <tr>
              <Head title="run" sortKey="run" isNumeric={false} family="run" />
              {shown.map(({ key, name, isNumeric, family }) => (
                <Head key={key} title={name} sortKey={key} isNumeric={isNumeric} family={family} />
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, MAX_ROWS).map((run) => (
              <Row key={run.id} run={run} shown={shown} />
            ))}
          </tbody>
        </table>
        {runs.length === 0 && <p class="muted fs-2 par-few">No run passes the filter and the brushes.</p>}
        {runs.length > MAX_ROWS && (
          <p class="muted fs-1 par-few">The first {formatCount(MAX_ROWS)} are shown; the CSV has all.</p>
        )}
      </div>
    </Group>
  );
}

interface HeadProps {
  title: string;
  sortKey: string;
  isNumeric: boolean;
  family: "run" | Column["family"];
}

function Head({ title, sortKey, isNumeric, family }: HeadProps) {
  const now = order.value;
  const isSorted = now.key === sortKey;
  return (
    <th
      scope="col"
      class={isNumeric ? family : `${family} word`}
      aria-sort={isSorted ? (now.isDown ? "descending" : "ascending") : undefined}
    >
      <button title={`Sort by ${title}`} onClick={() => sortBy(sortKey, isNumeric)}>
        <span class="clip">{title}</span>
        {isSorted && <span aria-hidden="true">{now.isDown ? "\u2193" : "\u2191"}</span>}
      </button>
    </th>
  );
}

function Row({ run, shown }: { run: RunListing; shown: readonly Column[] }) {
  return (
    <tr
      class={hoveredRun.value === run.id ? "on" : undefined}
      onPointerEnter={() => (hoveredRun.value = run.id)}
      onPointerLeave={() => (hoveredRun.value = null)}
    >
      <th scope="row" class="word">
        <a
          href={addressOf("training", { runs: run.id })}
          onFocus={() => (hoveredRun.value = run.id)}
          onBlur={() => (hoveredRun.value = null)}
        >
          <RunTag run={run} />
        </a>
      </th>
      {shown.map(({ key, values, isNumeric }) => (
        <td
          key={key}
          class={isNumeric ? undefined : "word"}
          title={String(values.get(run.id) ?? "not known")}
        >
          {valueText(values.get(run.id))}
        </td>
      ))}
    </tr>
  );
}

/** All columns, shown or not, of the runs in the table. */
function csvRows(): Cell[][] {
  const all = columns.value;
  const head: Cell[] = ["run", ...all.map(({ name }) => name)];
  return [
    head,
    ...keptRuns.value.map((run): Cell[] => [
      run.name,
      ...all.map(({ values }) => values.get(run.id) ?? null),
    ]),
  ];
}
