/** Hyperparameters of the runs, as a table and as parallel coordinates. */
import { useEffect } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { askOf } from "../../data/requests";
import { addressOf } from "../../data/route";
import { runs, runsById } from "../../data/runs";
import { type Cell, fileName, save, toCsv } from "../../data/save-file";
import { useAsked } from "../../data/useAsked";
import { Group, RunTag, ToolButton, Waiting } from "../../plot/Figure";
import { SmallChart, type Spot } from "../../plot/SmallChart";
import type { Tick } from "../../plot/ticks";
import { Blank } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { RunsFrame } from "../../ui/RunsFrame";
import { Select } from "../../ui/Select";
import { ColumnBoxes, Table } from "../../ui/Table";
import { Segments } from "../../ui/controls";
import type { HparamsRow, RunListing } from "../../wire";
import { Coordinates } from "./Coordinates";
import { type Axis, clipped, type Column, type Family, type Value } from "./columns";
import * as sheet from "./sheet";
import "../../plot/figures.css";
import "./parameters.css";

const LINE = 'run.log_hparams({"lr": 0.1})';
const REFRESH_SECONDS = 5;

export function ParametersPage() {
  const asked = useAsked<readonly HparamsRow[]>({ key: "hparams", version: versionOfRuns(), ask });
  useEffect(() => {
    if (asked.value !== null) sheet.answered.value = asked.value;
  }, [asked.value]);
  const isEmpty = asked.value?.length === 0 && sheet.answered.value.length === 0;
  return (
    <RunsFrame isForAll options={sheet.answered.value.length > 0 && <ParametersOptions />}>
      {sheet.answered.value.length > 0 ? (
        <div class="sections parameters">
          <h1 class="sr">Parameters</h1>
          <Coordinates />
          <div class="par-halves">
            <HparamsTable />
            <Scatter />
          </div>
        </div>
      ) : isEmpty ? (
        <Blank icon="details" title="No hyperparameters yet">
          <span>Log them once in each run; the runs then stand side by side here.</span>
          <pre>{LINE}</pre>
        </Blank>
      ) : (
        <Waiting problem={asked.problem} height={280} retry={asked.retry} />
      )}
    </RunsFrame>
  );
}

/** Changes with the runs, and every few seconds while one is running: parameters are not pushed. */
function versionOfRuns(): string {
  return runs.value
    .map(({ id, state, num_series, updated }) => {
      const beat = state === "running" ? Math.floor(updated / REFRESH_SECONDS) : state;
      return `${id} ${num_series} ${beat}`;
    })
    .join(",");
}

async function ask(): Promise<readonly HparamsRow[]> {
  const { answer } = await askOf({ type: "hparams" }, "hparams");
  return answer.rows;
}

/** Which runs and which columns are looked at. */
function ParametersOptions() {
  return (
    <section class="section parameters-options" aria-label="Parameters">
      <h3>Parameters</h3>
      <Segments label="Which runs" {...sheet.whichRuns} />
      <Check isOn={!sheet.sameColumns.isOn} set={(isOn) => sheet.sameColumns.set(!isOn)}>
        Hide what does not differ
      </Check>
      <ColumnsOf family="hparam" title="Hyperparameters" />
      <ColumnsOf family="metric" title="Metrics" />
    </section>
  );
}

function ColumnsOf({ family, title }: { family: Family; title: string }) {
  const some = sheet.columns.value.filter((column) => column.family === family);
  if (some.length === 0) return null;
  return (
    <fieldset class="par-columns">
      <legend>{title}</legend>
      <ColumnBoxes
        columns={some.map(({ key, name }) => ({ key, title: name, isShown: sheet.isColumnShown(key) }))}
        show={sheet.showColumn}
      />
    </fieldset>
  );
}

const MAX_ROWS = 1000;

/** The runs with their parameters and metrics: sorted, filtered, saved. */
function HparamsTable() {
  const runs = sheet.keptRuns.value;
  const shown = sheet.shownColumns.value;
  const tools = (
    <>
      <span class="muted fs-1" role="status">
        {formatCount(runs.length)} of {formatCount(sheet.allRuns.value.length)}
      </span>
      <input
        class="input sm par-filter"
        type="search"
        placeholder="Filter: adam lr<0.01"
        aria-label="Filter runs by name, word or comparison"
        value={sheet.filterText.value}
        onInput={(event) => sheet.filterText.set(event.currentTarget.value)}
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
        <Table
          class="sec-table par-table"
          columns={[{ key: "run", title: "run", style: "run word" }, ...shown.map(headOf)]}
          order={sheet.order.value}
          sort={sheet.sortBy}
          rows={runs.slice(0, MAX_ROWS)}
          renderRow={(run) => <Row key={run.id} run={run} shown={shown} />}
        />
        {runs.length === 0 && <p class="muted fs-2 par-few">No run passes the filter and the brushes.</p>}
        {runs.length > MAX_ROWS && (
          <p class="muted fs-1 par-few">The first {formatCount(MAX_ROWS)} are shown; the CSV has all.</p>
        )}
      </div>
    </Group>
  );
}

function headOf({ key, name, isNumeric, family }: Column) {
  return { key, title: name, style: isNumeric ? family : `${family} word` };
}

function Row({ run, shown }: { run: RunListing; shown: readonly Column[] }) {
  return (
    <tr
      class={sheet.hoveredRun.value === run.id ? "on" : undefined}
      onPointerEnter={() => (sheet.hoveredRun.value = run.id)}
      onPointerLeave={() => (sheet.hoveredRun.value = null)}
    >
      <th scope="row" class="word">
        <a
          href={addressOf("training", { runs: run.id })}
          onFocus={() => (sheet.hoveredRun.value = run.id)}
          onBlur={() => (sheet.hoveredRun.value = null)}
        >
          <RunTag run={run} />
        </a>
      </th>
      {shown.map(({ key, values, isNumeric }) => (
        <td key={key} class={isNumeric ? undefined : "word"} title={String(values.get(run.id) ?? "not known")}>
          {valueText(values.get(run.id))}
        </td>
      ))}
    </tr>
  );
}

/** All columns, shown or not, of the runs in the table. */
function csvRows(): Cell[][] {
  const all = sheet.columns.value;
  const rows = sheet.keptRuns.value.map(({ id, name }) => [name, ...all.map(({ values }) => values.get(id) ?? null)]);
  return [["run", ...all.map(({ name }) => name)], ...rows];
}

const MAX_TEXT = 8;
const REACH = 12;
const TICK_ROOM = 44; // pixels

/** One column against another: a point for each run. */
function Scatter() {
  const x = columnFor(sheet.scatterKeys.x.value, "hparam");
  const y = columnFor(sheet.scatterKeys.y.value, "metric");
  const [across, up] = [x && sheet.axisFor(x), y && sheet.axisFor(y)];
  const hovered = sheet.hoveredRun.value === null ? undefined : runsById.value.get(sheet.hoveredRun.value);
  return (
    <Group
      name="scatter"
      tools={
        <>
          <Choice label="Across" side="x" chosen={x} />
          <Choice label="Up" side="y" chosen={y} />
        </>
      }
    >
      <div class="par-place scatter">
        <p class="sec-remark clip par-remark">
          {hovered !== undefined && x !== null && y !== null
            ? `${hovered.name}: ${valueText(x.values.get(hovered.id))}, ${valueText(y.values.get(hovered.id))}`
            : "\u00a0"}
        </p>
        {across === null || up === null ? (
          <p class="muted par-few">It takes a hyperparameter and a metric.</p>
        ) : (
          <Points across={across} up={up} />
        )}
      </div>
    </Group>
  );
}

function Points({ across, up }: { across: Axis; up: Axis }) {
  const points = sheet.allRuns.value.flatMap(({ id }) => {
    const [x, y] = [across.place(across.column.values.get(id)), up.place(up.column.values.get(id))];
    return x === null || y === null ? [] : [{ id, x, y }];
  });
  const numMissing = sheet.allRuns.value.length - points.length;
  const point = (spot: Spot | null): void => {
    let [found, least]: [string | null, number] = [null, REACH];
    for (const { id, x, y } of spot === null ? [] : points) {
      const distance = Math.hypot(spot!.space.x(x) - spot!.x, spot!.space.y(y) - spot!.y);
      if (distance <= least && sheet.keptIds.value.has(id)) [found, least] = [id, distance];
    }
    sheet.hoveredRun.value = found;
  };
  const ticked = (ticks: readonly Tick[]) => ({ low: 0, high: 1, ticks: ticks.map(({ value, label }) => ({ value, label: clipped(label, MAX_TEXT) })) });
  return (
    <>
      <SmallChart
        label={`${up.column.name} over ${across.column.name}: ${formatNumberOf(points.length, "run")}`}
        height={(width) => Math.max(180, Math.min(300, Math.round(width * 0.66)))}
        edges={{ top: 10, right: 14, bottom: 22 }}
        x={(room) => ticked(spaced(across.ticks, TICK_ROOM / room))}
        y={ticked(up.ticks)}
        onPoint={(_, spot) => point(spot)}
        over={({ x, y }) =>
          points.map(({ id, ...at }) => {
            const isOn = sheet.hoveredRun.value === id;
            const look = !sheet.keptIds.value.has(id) ? "par-point off" : isOn ? "par-point on" : "par-point";
            return <circle key={id} class={look} style={{ fill: sheet.lineColour(id) }} r={isOn ? 6 : 4} cx={x(at.x)} cy={y(at.y)} />;
          })
        }
      />
      {numMissing > 0 && <p class="muted fs-1">{formatNumberOf(numMissing, "run")} without both values</p>}
    </>
  );
}

function spaced(ticks: readonly Tick[], least: number): readonly Tick[] {
  let before = -Infinity;
  return [...ticks]
    .sort((a, b) => a.value - b.value)
    .filter(({ value }) => {
      if (value - before < least) return false;
      before = value;
      return true;
    });
}

/** The column that was chosen, or the first of its family that can show something. */
function columnFor(key: string, family: Column["family"]): Column | null {
  const all = sheet.columns.value;
  const its = all.filter((one) => one.family === family);
  return all.find((one) => one.key === key) ?? its.find(({ isNumeric }) => isNumeric) ?? its[0] ?? null;
}

function Choice({ label, side, chosen }: { label: string; side: "x" | "y"; chosen: Column | null }) {
  return (
    <Select
      label={`${label}: column of the scatter`}
      look="input sm sec-select"
      value={chosen?.key ?? ""}
      options={sheet.columns.value.map(({ key, name }) => [key, name])}
      set={sheet.scatterKeys[side].set}
    />
  );
}

/** Exactly what was given where it is short, so that 0.1 does not become 0.1000; a dash for nothing. */
export function valueText(value: Value | undefined): string {
  if (value === undefined || value === null) return "–";
  if (typeof value !== "number") return String(value);
  const exact = String(value);
  return exact.length <= 7 ? exact.replace("-", "\u2212") : formatValue(value, 4);
}
