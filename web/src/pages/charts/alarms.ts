/** Alarms of the chosen runs: scalars that became NaN or infinite, and what was seen in watched layers. */
import { groupBy } from "../../data/collections";
import { formatCount, formatNumberOf } from "../../data/format";
import { alarmKind, type Severity } from "../../data/run-events";
import type { AlarmListing, RunListing, SeriesListing } from "../../wire";

export interface Alarm {
  /** Of the scalar, or of what was watched. */
  readonly name: string;
  readonly step: number;
  /** How many values are NaN or infinite; nought for what was seen in a layer. */
  readonly numBad: number;
  /** What was seen in a layer; null for a scalar. */
  readonly watched: AlarmListing | null;
}

/** Alarms of one run, all as bad, so near each other that one mark stands for all of them. */
export interface AlarmMark {
  readonly step: number;
  readonly alarms: readonly Alarm[];
}

export interface AlarmRow {
  readonly run: RunListing;
  readonly lastStep: number;
  readonly marks: readonly AlarmMark[];
}

const MAX_NAMED = 3;

export function alarmsOf(series: Iterable<SeriesListing>, watched: readonly AlarmListing[] = []): Alarm[] {
  const found: Alarm[] = watched.map((alarm) => ({ name: alarm.row, step: alarm.step, numBad: 0, watched: alarm }));
  for (const { kind, name, first_bad_step: step, num_bad: numBad } of series) {
    if (kind === "scalar" && step !== null && numBad > 0) found.push({ name, step, numBad, watched: null });
  }
  return found.sort((a, b) => a.step - b.step || a.name.localeCompare(b.name, "en", { numeric: true }));
}

export function severityOf({ watched }: Alarm): Severity {
  return watched === null ? "danger" : alarmKind(watched.alarm).severity;
}

/** How the legend calls it. */
export function titleOf({ watched }: Alarm): string {
  return watched === null ? "NaN or infinite" : alarmKind(watched.alarm).title;
}

/** Alarms gathered to marks that are so many steps apart. The worse ones come last: they lie above the others. */
export function marksOf(alarms: readonly Alarm[], apart: number): AlarmMark[] {
  return (["warn", "danger"] as const).flatMap((severity) =>
    gathered(
      alarms.filter((alarm) => severityOf(alarm) === severity),
      apart,
    ),
  );
}

function gathered(alarms: readonly Alarm[], apart: number): AlarmMark[] {
  const marks: { step: number; alarms: Alarm[] }[] = [];
  for (const alarm of alarms) {
    const last = marks.at(-1);
    if (last !== undefined && alarm.step - last.step <= apart) last.alarms.push(alarm);
    else marks.push({ step: alarm.step, alarms: [alarm] });
  }
  return marks;
}

/** `train/loss of first became NaN or infinite at step 7 040 (12 values).` */
export function describeMark({ step, alarms }: AlarmMark, runName: string): string {
  const scalars = alarms.filter(({ watched }) => watched === null);
  const seen = alarms.flatMap(({ watched }) => (watched === null ? [] : [watched]));
  return [
    ...(scalars.length === 0 ? [] : [describeScalars(scalars, step, runName)]),
    ...(seen.length === 0 ? [] : [describeWatched(seen, runName)]),
  ].join(" ");
}

function describeScalars(alarms: readonly Alarm[], step: number, runName: string): string {
  const names = alarms.slice(0, MAX_NAMED).map(({ name }) => name);
  const more = alarms.length > MAX_NAMED ? ` and ${alarms.length - MAX_NAMED} more` : "";
  const numBad = alarms.reduce((sum, alarm) => sum + alarm.numBad, 0);
  const count = formatNumberOf(numBad, "value");
  return `${names.join(", ")}${more} of ${runName} became NaN or infinite at step ${formatCount(step)} (${count}).`;
}

/** `first: features.0.weight.Grad has NaN at step 70. And 3 more.` */
function describeWatched(alarms: readonly AlarmListing[], runName: string): string {
  const message = alarms[0]!.message.replace(/\.?$/, ".");
  const more = alarms.length > 1 ? ` And ${formatCount(alarms.length - 1)} more.` : "";
  return `${runName}: ${message}${more}`;
}

/** How many there are of each title, the worst first. */
export function countsOf(rows: readonly AlarmRow[]): readonly { title: string; severity: Severity; count: number }[] {
  const byTitle = groupBy(rows.flatMap(({ marks }) => marks.flatMap(({ alarms }) => alarms)), titleOf);
  const counts = [...byTitle].map(([title, all]) => ({ title, severity: severityOf(all[0]!), count: all.length }));
  return counts.sort((a, b) => a.severity.localeCompare(b.severity) || b.count - a.count);
}
