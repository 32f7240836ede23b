/** The columns of the table of runs: what stands in them, and by what they sort. */
import type { ComponentChildren } from "preact";
import { formatBytes, formatCount, formatNumberOf, formatValue } from "../../data/format";
import { addressOf } from "../../data/route";
import { linePath } from "../../plot/lines";
import { ShareBar } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { RunBox } from "../../ui/RunsFrame";
import { StateBadge } from "../../ui/StateBadge";
import { isLive } from "../../ui/run-states";
import { formatAgo, formatDuration, formatMoment, now } from "../../ui/times";
import type { RunListing } from "../../wire";

export interface RunColumn {
  readonly key: string;
  readonly title: string;
  /** Numbers stand right; what is of less interest is muted. */
  readonly style: "" | "num" | "muted" | "num muted";
  readonly sortKey: (run: RunListing) => string | number | null;
  /** Does it sort from the first of the alphabet, and not from the largest? */
  readonly isWords?: boolean;
  readonly cell: (run: RunListing) => ComponentChildren;
  readonly hint?: (run: RunListing) => string;
  readonly isBad?: (run: RunListing) => boolean;
}

type Rest = Omit<RunColumn, "key" | "title" | "style">;

function column(key: string, title: string, style: RunColumn["style"], rest: Rest): RunColumn {
  return { key, title, style, ...rest };
}

const NAME = column("name", "Name", "", { isWords: true, sortKey: (run) => run.name, cell: (run) => <NameCell run={run} /> });

const STATE_AND_LOSS = [
  column("state", "State", "", {
    isWords: true,
    sortKey: (run) => ["running", "died", "finished", "unknown"].indexOf(run.state),
    cell: (run) => (
      <span class="row">
        <StateBadge run={run} />
        <Badges run={run} />
      </span>
    ),
  }),
  column("spark", "Loss", "", {
    sortKey: (run) => run.spark.findLast((value) => value !== null) ?? null,
    cell: (run) => <Sparkline run={run} />,
    hint: (run) => run.spark_name,
  }),
];

const AFTER_METRICS = [
  column("step", "Step", "num", { sortKey: (run) => run.last_step, cell: (run) => <RunStep run={run} /> }),
  column("duration", "Duration", "num", {
    sortKey: (run) => run.updated - run.started,
    cell: (run) => formatDuration(run.updated - run.started),
  }),
  column("updated", "Updated", "num muted", {
    // What is running changes all the time: among themselves such runs stay where they are.
    sortKey: (run) => (run.state === "running" ? Number.MAX_VALUE : run.updated),
    cell: (run) => (isLive(run) ? "now" : formatAgo(run.updated, now.value)),
    hint: (run) => formatMoment(run.updated),
  }),
  column("started", "Started", "num muted", {
    sortKey: (run) => run.started,
    cell: (run) => formatAgo(run.started, now.value),
    hint: (run) => formatMoment(run.started),
  }),
  column("host", "Host", "muted", { isWords: true, sortKey: (run) => run.host, cell: (run) => run.host }),
  column("tags", "Tags", "muted", {
    isWords: true,
    sortKey: (run) => run.tags.join(" "),
    cell: (run) => run.tags.join(", "),
    hint: (run) => run.tags.join(", "),
  }),
  column("series", "Series", "num", { sortKey: (run) => run.num_series, cell: (run) => formatCount(run.num_series) }),
  column("size", "Size", "num", { sortKey: (run) => run.num_bytes, cell: (run) => formatBytes(run.num_bytes) }),
];

/** Those that can be shown or not, beside the name and the metrics. */
export const FIXED: readonly RunColumn[] = [...STATE_AND_LOSS, ...AFTER_METRICS];

export const METRIC = "m:";

function metricColumn(name: string): RunColumn {
  return column(METRIC + name, name, "num", {
    sortKey: (run) => metricOf(run, name) ?? null,
    cell: (run) => {
      const value = metricOf(run, name);
      return value === undefined ? "\u2013" : formatValue(value ?? NaN, 3);
    },
    isBad: (run) => metricOf(run, name) === null,
  });
}

/** Metrics stand beside the loss. */
export function columnsWith(fixed: ReadonlySet<string>, metrics: readonly string[]): readonly RunColumn[] {
  const shown = (some: readonly RunColumn[]): readonly RunColumn[] => some.filter(({ key }) => fixed.has(key));
  return [NAME, ...shown(STATE_AND_LOSS), ...metrics.map(metricColumn), ...shown(AFTER_METRICS)];
}

/** Undefined for what is no column, as it may stand in the address. */
export function columnOf(key: string): RunColumn | undefined {
  return key.startsWith(METRIC) ? metricColumn(key.slice(METRIC.length)) : [NAME, ...FIXED].find((one) => one.key === key);
}

/** The last value of a metric; undefined where the run has none, null where it is NaN or infinite. */
function metricOf(run: RunListing, name: string): number | null | undefined {
  return run.metrics.find((metric) => metric.name === name)?.value;
}

function NameCell({ run }: { run: RunListing }) {
  return (
    <span class="row">
      <RunBox run={run} label={`Compare ${run.name}`} tabIndex={-1} />
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
  const lost = [
    run.num_dropped > 0 ? `${formatCount(run.num_dropped)} dropped` : "",
    run.num_thinned > 0 ? `${formatCount(run.num_thinned)} thinned out` : "",
  ];
  const noted = run.note || lost.filter((part) => part !== "").join(", ");
  if (noted !== "") {
    return (
      <small class="noted clip" title={run.note || undefined}>
        {noted}
      </small>
    );
  }
  return <small class="clip">{run.comment || (run.source === "tensorboard" ? "TensorBoard event files" : "")}</small>;
}

/** How many alarms a run has, and that it has a network to look at, with the ways there. */
function Badges({ run: { id, name, num_alarms, has_network } }: { run: RunListing }) {
  const alarms = formatNumberOf(num_alarms, "alarm");
  const toAlarms = { href: addressOf("layers", { runs: id, run: id }), title: alarms, "aria-label": `${alarms} of ${name}` };
  const toNetwork = { href: addressOf("netview", { run: id }), title: "The network in three dimensions", "aria-label": `NetView of ${name}` };
  return (
    <>
      {num_alarms > 0 && (
        <a class="badge warn" tabIndex={-1} {...toAlarms}>
          <Icon name="warning" />
          {formatCount(num_alarms)}
        </a>
      )}
      {has_network && (
        <a class="badge" tabIndex={-1} {...toNetwork}>
          NetView
        </a>
      )}
    </>
  );
}

/** How far a run is: the step it is at, of how many, and as a bar while it goes on. */
function RunStep({ run }: { run: RunListing }) {
  const { last_step, total_steps } = run;
  if (last_step === null) return <>{"\u2013"}</>;
  const hasTotal = total_steps !== null && total_steps > 0;
  return (
    <>
      {formatCount(last_step)}
      {hasTotal && isLive(run) && (
        <ShareBar label="Steps done" now={Math.round(100 * Math.min(1, shareDone(run)))} most={100} title={`of ${formatCount(total_steps)}`} />
      )}
      {hasTotal && !isLive(run) && <small>of {formatCount(total_steps)}</small>}
    </>
  );
}

const [WIDTH, HEIGHT] = [112, 28];
const [LEFT, RIGHT, TOP, BOTTOM] = [2, 106, 4, 23];

/** The course of a run's loss, without axes: it ends in a dot, or in a cross where the run died. */
function Sparkline({ run }: { run: RunListing }) {
  const { spark: values, state } = run;
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return <span class="muted">{"\u2013"}</span>;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const right = LEFT + Math.max(0.08, Math.min(1, shareDone(run))) * (RIGHT - LEFT);
  const toX = (at: number): number => LEFT + (at / Math.max(1, values.length - 1)) * (right - LEFT);
  const toY = (value: number): number =>
    high === low ? (TOP + BOTTOM) / 2 : BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);
  const y = values.map((value) => value ?? NaN);
  const end = values.findLastIndex((value) => value !== null);
  const [endX, endY] = [toX(end), toY(values[end]!)];
  return (
    <svg
      class={`spark ${state === "died" ? "died" : isLive(run) ? "live" : ""}`}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={describeSpark(run.spark_name, known, metricOf(run, run.spark_name))}
    >
      <path class="base" d={`M${LEFT} 25.5H${RIGHT + 2}`} />
      <path class="ln" d={linePath({ x: y.map((_, at) => at), y }, toX, toY)} />
      {state === "died" ? (
        <path class="ln" d={`M${endX - 3} ${endY - 3}l6 6m0-6l-6 6`} />
      ) : (
        <circle class={isLive(run) ? "end pulse" : "end"} cx={endX} cy={endY} r={2} />
      )}
    </svg>
  );
}

/** How much of all its steps is done, from 0 to 1; 1 where nobody said how many there are. */
function shareDone({ state, last_step, total_steps }: RunListing): number {
  if (state === "finished" || last_step === null || total_steps === null || total_steps <= 0) return 1;
  return (last_step + 1) / total_steps;
}

/** `loss, from about 0.208 to 0.00495`: only the last value is known exactly. */
export function describeSpark(name: string, known: readonly number[], last: number | null | undefined): string {
  const about = (value: number): string => `about ${formatValue(value, 3)}`;
  const end = last === undefined ? about(known.at(-1)!) : formatValue(last ?? NaN, 3);
  return `${name}, from ${about(known[0]!)} to ${end}`;
}
