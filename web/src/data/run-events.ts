/** Alarms and gaps of the chosen runs, followed while a page shows them. */
import { effect, signal } from "@preact/signals";
import type { AlarmListing, EventsAnswer, GapListing } from "../wire";
import { groupBy } from "./collections";
import { formatCount, formatNumberOf } from "./format";
import { follow } from "./requests";
import { addressOf, type Changes, go } from "./route";
import { chosenIds, seriesOf } from "./runs";
import type { Source } from "./source";

export interface RunEvents {
  readonly alarms: readonly AlarmListing[];
  readonly gaps: readonly GapListing[];
}

const NONE: RunEvents = { alarms: [], gaps: [] };
/** The server keeps no more of a run. */
const MOST = 10_000;

const byRun = signal<ReadonlyMap<string, RunEvents>>(new Map());

export function eventsOf(runId: string): RunEvents {
  return byRun.value.get(runId) ?? NONE;
}

/** Call what it returns to stop. What is known stays. */
export function followEvents(source: Source): () => void {
  return effect(() => {
    const ids = chosenIds.value;
    if (source.hasRuns.value !== true || ids === "") return undefined;
    return follow(source, { type: "events", run_ids: ids.split(",") }, ({ answer }) => {
      byRun.value = withEvents(byRun.peek(), answer);
    });
  });
}

/** What is known with what is new; all of it where it is the whole. */
export function withEvents(
  known: ReadonlyMap<string, RunEvents>,
  news: Pick<EventsAnswer, "is_all" | "alarms" | "gaps">,
): ReadonlyMap<string, RunEvents> {
  const next = new Map(news.is_all ? [] : known);
  const alarms = groupBy(news.alarms, ({ run_id }) => run_id);
  const gaps = groupBy(news.gaps, ({ run_id }) => run_id);
  for (const id of new Set([...alarms.keys(), ...gaps.keys()])) {
    const before = next.get(id) ?? NONE;
    next.set(id, {
      alarms: [...before.alarms, ...(alarms.get(id) ?? [])].slice(-MOST),
      gaps: [...before.gaps, ...(gaps.get(id) ?? [])].slice(-MOST),
    });
  }
  return next;
}

const REASONS: Record<GapListing["reason"], string> = {
  full: "ring full",
  killed: "the watching process ended",
  budget: "to keep the budget",
  error: "an error",
};

/** `312 records were dropped (ring full), steps 1 230 to 1 236` */
export function describeGap({ num_missing, reason, first_step, last_step }: GapListing): string {
  const what = reason === "budget" ? "left out" : reason === "full" ? "dropped" : "lost";
  const records = formatNumberOf(num_missing, `record was ${what}`, `records were ${what}`);
  return `${records} (${REASONS[reason]}), ${stepsText(first_step, last_step)}`;
}

export function stepsText(first: number, last: number): string {
  return first === last ? `step ${formatCount(first)}` : `steps ${formatCount(first)} to ${formatCount(last)}`;
}

/** What the address of the map needs to show the row and the step of an alarm. */
export function placeOfAlarm(alarm: AlarmListing): Changes {
  const { figure } = alarmKind(alarm.alarm);
  return {
    run: alarm.run_id,
    rank: alarm.rank === 0 ? null : String(alarm.rank),
    step: String(alarm.step),
    // What no figure shows leaves the one that is there; a scalar is no row of the map.
    ...(figure === null ? {} : { fig: figure, limits: null }),
    ...(isOfScalar(alarm) ? {} : { row: alarm.row }),
  };
}

/** Is it about a loss, and about no layer? The model itself has no address either. */
export function isOfScalar({ run_id, alarm, layer, row }: AlarmListing): boolean {
  return layer === "" && (alarm === "loss_spike" || seriesOf(run_id, "scalar", row) !== undefined);
}

export function addressOfAlarm(alarm: AlarmListing): string {
  return addressOf("layers", placeOfAlarm(alarm));
}

export function goToAlarm(alarm: AlarmListing): void {
  go("layers", placeOfAlarm(alarm));
}

/** Those that stand so near each other, in steps, that one mark stands for them. They come in the order of their steps. */
export function gathered<Alarm extends { readonly step: number }>(alarms: readonly Alarm[], apart: number): Alarm[][] {
  const marks: Alarm[][] = [];
  for (const alarm of alarms) {
    const last = marks.at(-1);
    if (last !== undefined && alarm.step - last[0]!.step <= apart) last.push(alarm);
    else marks.push([alarm]);
  }
  return marks;
}

// --- The kinds of alarms: what each is called, how bad it is, which figure shows it, and what its value is.

export type Severity = "danger" | "warn";

interface AlarmKind {
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  /** The figure in which it can be seen; null where no figure of the row shows it. */
  readonly figure: string | null;
  /** What its value is: a figure, the scalar itself, or nothing that says more than its title. */
  readonly value: "norm" | "share" | "scalar" | "none";
}

const KNOWN: readonly AlarmKind[] = [
  // The map marks it whatever figure is shown.
  { id: "nan", title: "NaN or Inf", severity: "danger", figure: null, value: "share" },
  { id: "exploding_gradient", title: "exploding gradient", severity: "warn", figure: "norm", value: "norm" },
  { id: "vanishing_gradient", title: "vanishing gradient", severity: "warn", figure: "norm", value: "norm" },
  { id: "dead_units", title: "dead units", severity: "warn", figure: "dead", value: "share" },
  { id: "saturated", title: "saturated", severity: "warn", figure: "saturated", value: "share" },
  { id: "loss_spike", title: "loss spike", severity: "warn", figure: null, value: "scalar" },
  { id: "stuck_weight", title: "stuck weight", severity: "warn", figure: null, value: "none" },
];

const BY_ID = new Map(KNOWN.map((kind) => [kind.id, kind]));

/** Also one that this page does not know yet. */
export function alarmKind(id: string): AlarmKind {
  return BY_ID.get(id) ?? { id, title: id.replaceAll("_", " "), severity: "warn", figure: null, value: "scalar" };
}

/** Those that are known in their order, the worst first, then the others. */
export function inOrder(ids: Iterable<string>): string[] {
  const rank = (id: string): number => {
    const at = KNOWN.findIndex((kind) => kind.id === id);
    return at < 0 ? KNOWN.length : at;
  };
  return [...ids].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
