/** The table of all runs. Beyond two hundred only the rows in view are in the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { formatBytes, formatCount, formatNumberOf, formatValue } from "../../data/format";
import { addressOf, go } from "../../data/route";
import * as runs from "../../data/runs";
import { linePath } from "../../plot/lines";
import { Icon } from "../../ui/Icon";
import { StateBadge } from "../../ui/StateBadge";
import { isForField } from "../../ui/keys";
import { isLive } from "../../ui/run-states";
import { useRowsInView, useScrollMemory } from "../../ui/scroll";
import { SortHead } from "../../ui/sorting";
import { formatAgo, formatDuration, formatMoment, now, useClock } from "../../ui/times";
import type { RunListing, RunState } from "../../wire";
import {
  cursor,
  cursorRow,
  FIXED,
  type FixedColumn,
  metricColumn,
  metricOf,
  order,
  pressHead,
  rows,
  shownFixed,
  shownMetrics,
} from "./run-table";

const [ROW_HEIGHT, HEAD_HEIGHT] = [48, 28];

const takeFocus = (id: string): void => {
  cursor.value = id;
};

export function RunsTable() {
  useClock();
  const box = useRef<HTMLDivElement>(null);
  const all = rows.value;
  const { first, end, reveal } = useRowsInView(box, all.length, ROW_HEIGHT, HEAD_HEIGHT);
  const [fixed, metrics] = [shownFixed.value, shownMetrics.value];
  useScrollMemory(box, "runs");
  const moveTo = (row: number): void => {
    const run = all[Math.max(0, Math.min(row, all.length - 1))];
    if (run === undefined) return;
    cursor.value = run.id;
    reveal(all.indexOf(run));
    const focus = (): void => document.getElementById(`run-${run.id}`)?.focus({ preventScroll: true });
    focus();
    // The row may only come with the scrolling.
    requestAnimationFrame(focus);
  };
  // The first key shows where one is.
  const move = (by: number): void => moveTo(cursor.peek() === null ? 0 : cursorRow.peek() + by);
  const here = (act: (run: RunListing) => void): void => {
    const run = all[cursorRow.peek()];
    if (run !== undefined) act(run);
  };
  useTableKeys({
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    PageDown: () => move(10),
    PageUp: () => move(-10),
    Home: () => moveTo(0),
    End: () => moveTo(all.length - 1),
    x: () => here((run) => runs.choose(run.id, !runs.isChosen(run.id))),
    Enter: () => here((run) => go("training", { runs: run.id })),
  });
  const fixedHead = (id: FixedColumn) => {
    const title = FIXED.find((one) => one.id === id)!.title;
    return fixed.has(id) && <Head key={id} column={id} title={title} style={styleOf(id)} />;
  };
  return (
    <div class="panel-body" ref={box}>
      <table class="table tall runs-table" role="grid" aria-label="Runs" aria-rowcount={all.length + 1}>
        <thead>
          <tr>
            <Head column="name" title="Name" style="" />
            {BEFORE.map(fixedHead)}
            {metrics.map((name) => (
              <Head key={name} column={metricColumn(name)} title={name} style="num" />
            ))}
            {AFTER.map(fixedHead)}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} />
          {all.slice(first, end).map((run, at) => (
            <RunRow
              key={run.id}
              run={run}
              at={first + at}
              fixed={fixed}
              metrics={metrics}
              isCursor={first + at === cursorRow.value}
              onFocus={takeFocus}
            />
          ))}
          <Gap rows={all.length - end} />
        </tbody>
      </table>
    </div>
  );
}

/** In the place of rows that are not in view. */
function Gap({ rows: count }: { rows: number }) {
  return count > 0 ? (
    <tr class="gap" aria-hidden="true" style={{ height: `${count * ROW_HEIGHT}px` }} />
  ) : null;
}

function Head({ column, title, style }: { column: string; title: string; style: string }) {
  const now = order.value;
  return <SortHead title={title} style={style} isDown={now.column === column ? now.isDown : null} press={() => pressHead(column)} />;
}

// --- The keys of the table of runs, wherever on its page the focus is, but for fields and buttons.

function useTableKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const act = latest.current[event.key];
      if (act === undefined || !isForTable(event)) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Boxes to tick take the arrows and the x, too; what is pressed with Enter keeps its Enter. */
function isForTable(event: KeyboardEvent): boolean {
  const { target, key } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog, .popover, [role=listbox], [role=separator]") !== null) return false;
  if (target instanceof HTMLInputElement && target.type === "checkbox") return key !== "Enter";
  if (isForField(event)) return false;
  return key !== "Enter" || target.closest("a, button") === null;
}

// --- One run in the table.

interface RunRowProps {
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
const BEFORE: readonly FixedColumn[] = ["state", "spark"];
const AFTER: readonly FixedColumn[] = FIXED.map(({ id }) => id).filter((id) => !BEFORE.includes(id));

function styleOf(id: FixedColumn): string {
  return `${TEXTS.has(id) ? "" : "num"}${QUIET.has(id) ? " muted" : ""}`;
}

function RunRow({ run, at, fixed, metrics, isCursor, onFocus }: RunRowProps) {
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

// --- That a run has a network to look at, and the way to it.

/** Absent where there is none. */
function NetworkBadge({ run }: { run: RunListing }) {
  if (!run.has_network) return null;
  return (
    <a
      class="badge"
      href={addressOf("netview", { run: run.id })}
      tabIndex={-1}
      title="The network in three dimensions"
      aria-label={`NetView of ${run.name}`}
    >
      NetView
    </a>
  );
}

// --- How many alarms a run has, and the way to them.

/** Absent where there are none. */
function AlarmBadge({ run }: { run: RunListing }) {
  if (run.num_alarms === 0) return null;
  const words = formatNumberOf(run.num_alarms, "alarm");
  return (
    <a
      class="badge warn"
      href={addressOf("layers", { runs: run.id, run: run.id })}
      tabIndex={-1}
      title={words}
      aria-label={`${words} of ${run.name}`}
    >
      <Icon name="warning" />
      {formatCount(run.num_alarms)}
    </a>
  );
}

// --- How far a run is: the step it is at, of how many, and as a bar while it goes on.

function RunStep({ run }: { run: RunListing }) {
  const { last_step, total_steps } = run;
  if (last_step === null) return <>{"\u2013"}</>;
  const hasTotal = total_steps !== null && total_steps > 0;
  return (
    <>
      {formatCount(last_step)}
      {hasTotal && isLive(run) && <Progress step={last_step} total={total_steps} />}
      {hasTotal && !isLive(run) && <small>of {formatCount(total_steps)}</small>}
    </>
  );
}

function Progress({ step, total }: { step: number; total: number }) {
  const percent = Math.max(0, Math.min(100, Math.round((100 * (step + 1)) / total)));
  return (
    <span
      class="bar"
      role="progressbar"
      aria-label="Steps done"
      aria-valuenow={percent}
      title={`of ${formatCount(total)}`}
    >
      <i style={{ width: `${percent}%` }} />
    </span>
  );
}

// --- The course of a run's loss, without axes: it ends in a dot, or in a cross where the run died.

const [WIDTH, HEIGHT] = [112, 28];
const [LEFT, RIGHT, TOP, BOTTOM] = [2, 106, 4, 23];

interface SparklineProps {
  name: string;
  /** Means of a few points each. */
  values: readonly (number | null)[];
  /** The last value itself; null where it is no number, undefined where nobody knows it. */
  last: number | null | undefined;
  state: RunState;
  isLive: boolean;
  /** From 0 to 1, how much of all its steps are done; 1 where nobody said how many there are. */
  share: number;
}

function Sparkline({ name, values, last, state, isLive, share }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return <span class="muted">{"\u2013"}</span>;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const right = LEFT + Math.max(0.08, Math.min(1, share)) * (RIGHT - LEFT);
  const toX = (at: number): number => LEFT + (at / Math.max(1, values.length - 1)) * (right - LEFT);
  const toY = (value: number): number =>
    high === low ? (TOP + BOTTOM) / 2 : BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);
  const y = values.map((value) => value ?? NaN);
  const end = values.findLastIndex((value) => value !== null);
  const [endX, endY] = [toX(end), toY(values[end]!)];
  const style = state === "died" ? "died" : isLive ? "live" : "";
  return (
    <svg
      class={`spark ${style}`}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={describeSpark(name, known, last)}
    >
      <path class="base" d={`M${LEFT} 25.5H${RIGHT + 2}`} />
      <path class="ln" d={linePath({ x: y.map((_, at) => at), y }, toX, toY)} />
      {state === "died" ? (
        <path class="ln" d={`M${endX - 3} ${endY - 3}l6 6m0-6l-6 6`} />
      ) : (
        <circle class={isLive ? "end pulse" : "end"} cx={endX} cy={endY} r={2} />
      )}
    </svg>
  );
}

/** `loss, from about 0.208 to 0.00495`: only the last value is known exactly. */
export function describeSpark(name: string, known: readonly number[], last: number | null | undefined): string {
  const about = (value: number): string => `about ${formatValue(value, 3)}`;
  const end = last === undefined ? about(known.at(-1)!) : formatValue(last ?? NaN, 3);
  return `${name}, from ${about(known[0]!)} to ${end}`;
}
