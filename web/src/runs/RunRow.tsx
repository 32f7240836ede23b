/** One run in the table. */
import type { ComponentChildren } from "preact";
import { formatBytes, formatCount, formatValue } from "../format";
import { addressOf } from "../route";
import type { RunListing } from "../wire";
import { AlarmBadge } from "./AlarmBadge";
import { now } from "./clock";
import { FIXED, metricOf, type FixedColumn } from "./columns";
import { NetworkBadge } from "./NetworkBadge";
import { RunStep } from "./RunStep";
import { Sparkline } from "./Sparkline";
import { StateBadge } from "./StateBadge";
import { isLive } from "./states";
import * as runs from "./store";
import { formatAgo, formatDuration, formatMoment } from "./times";

interface Props {
  run: RunListing;
  /** Its place in the table, from 0. */
  at: number;
  fixed: ReadonlySet<FixedColumn>;
  metrics: readonly string[];
  isCursor: boolean;
  onFocus: (id: string) => void;
}

const CELLS: Record<FixedColumn, (run: RunListing) => ComponentChildren> = {
  state: (run) => (
    <span class="row">
      <StateBadge run={run} />
      <AlarmBadge run={run} />
      <NetworkBadge run={run} />
    </span>
  ),
  spark: (run) => (
    <Sparkline
      name={run.spark_name}
      values={run.spark}
      last={metricOf(run, run.spark_name)}
      state={run.state}
      isLive={isLive(run)}
      share={shareDone(run)}
    />
  ),
  step: (run) => <RunStep run={run} />,
  duration: (run) => formatDuration(run.updated - run.started),
  updated: (run) => (isLive(run) ? "now" : formatAgo(run.updated, now.value)),
  started: (run) => formatAgo(run.started, now.value),
  host: (run) => run.host,
  tags: (run) => run.tags.join(", "),
  series: (run) => formatCount(run.num_series),
  size: (run) => formatBytes(run.num_bytes),
};

/** Those that are no numbers, and stand left. */
const TEXTS: ReadonlySet<FixedColumn> = new Set(["state", "spark", "host", "tags"]);
const QUIET: ReadonlySet<FixedColumn> = new Set(["updated", "started", "host", "tags"]);

/** The fixed columns before the metrics, as in the head. */
export const BEFORE: readonly FixedColumn[] = ["state", "spark"];
export const AFTER: readonly FixedColumn[] = FIXED.map(({ id }) => id).filter((id) => !BEFORE.includes(id));

export function styleOf(id: FixedColumn): string {
  return `${TEXTS.has(id) ? "" : "num"}${QUIET.has(id) ? " muted" : ""}`;
}

export function RunRow({ run, at, fixed, metrics, isCursor, onFocus }: Props) {
  const fixedCell = (id: FixedColumn): ComponentChildren =>
    fixed.has(id) && (
      <td key={id} class={styleOf(id)} title={titleOf(run, id)}>
        {CELLS[id](run)}
      </td>
    );
  return (
    <tr
      id={`run-${run.id}`}
      aria-rowindex={at + 2}
      aria-selected={isCursor}
      tabIndex={isCursor ? 0 : -1}
      onFocus={() => onFocus(run.id)}
    >
      <td>
        <NameCell run={run} />
      </td>
      {BEFORE.map(fixedCell)}
      {metrics.map((name) => (
        <MetricCell key={name} value={metricOf(run, name)} />
      ))}
      {AFTER.map(fixedCell)}
    </tr>
  );
}

function NameCell({ run }: { run: RunListing }) {
  const isChosen = runs.isChosen(run.id);
  return (
    <span class="row">
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={`Compare ${run.name}`}
        checked={isChosen}
        onChange={(event) => runs.choose(run.id, event.currentTarget.checked)}
      />
      <i class={isChosen ? "sw" : "sw none"} style={{ "--c": runs.colourOf(run.id) }} />
      <a class="run-name" href={addressOf("training", { runs: run.id })} tabIndex={-1} title={run.name}>
        <b class="clip">{run.name}</b>
        <Under run={run} />
      </a>
    </span>
  );
}

/** The second line: what is wrong, what was lost, or what the run is about. */
function Under({ run }: { run: RunListing }) {
  if (run.reason !== "") return <small class="why clip">{run.reason}</small>;
  if (run.note !== "") {
    return (
      <small class="noted clip" title={run.note}>
        {run.note}
      </small>
    );
  }
  const losses = lossesOf(run);
  if (losses !== "") return <small class="noted clip">{losses}</small>;
  const about =
    run.comment !== "" ? run.comment : run.source === "tensorboard" ? "TensorBoard event files" : "";
  return <small class="clip">{about}</small>;
}

function lossesOf({ num_dropped, num_thinned }: RunListing): string {
  const parts = [];
  if (num_dropped > 0) parts.push(`${formatCount(num_dropped)} dropped`);
  if (num_thinned > 0) parts.push(`${formatCount(num_thinned)} thinned out`);
  return parts.join(", ");
}

function MetricCell({ value }: { value: number | null | undefined }) {
  if (value === null) return <td class="num bad">NaN</td>;
  return <td class="num">{value === undefined ? "\u2013" : formatValue(value, 3)}</td>;
}

function shareDone({ state, last_step, total_steps }: RunListing): number {
  if (state === "finished" || last_step === null || total_steps === null || total_steps <= 0) return 1;
  return (last_step + 1) / total_steps;
}

function titleOf(run: RunListing, id: FixedColumn): string | undefined {
  if (id === "updated") return formatMoment(run.updated);
  if (id === "started") return formatMoment(run.started);
  if (id === "spark") return run.spark_name;
  return id === "tags" ? run.tags.join(", ") : undefined;
}
