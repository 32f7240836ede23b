/** Where scalars of the chosen runs first became NaN or infinite. */
import { formatCount, formatNumberOf } from "../format";
import type { RunListing, SeriesListing } from "../wire";

export interface Alarm {
  readonly name: string;
  readonly step: number;
  readonly numBad: number;
}

/** Alarms of one run so near each other that one mark stands for all of them. */
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

export function alarmsOf(series: Iterable<SeriesListing>): Alarm[] {
  const found: Alarm[] = [];
  for (const { kind, name, first_bad_step: step, num_bad: numBad } of series) {
    if (kind === "scalar" && step !== null && numBad > 0) found.push({ name, step, numBad });
  }
  return found.sort((a, b) => a.step - b.step || a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Alarms gathered to marks that are so many steps apart. */
export function marksOf(alarms: readonly Alarm[], apart: number): AlarmMark[] {
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
  const names = alarms.slice(0, MAX_NAMED).map(({ name }) => name);
  const more = alarms.length > MAX_NAMED ? ` and ${alarms.length - MAX_NAMED} more` : "";
  const numBad = alarms.reduce((sum, alarm) => sum + alarm.numBad, 0);
  const count = formatNumberOf(numBad, "value");
  return `${names.join(", ")}${more} of ${runName} became NaN or infinite at step ${formatCount(step)} (${count}).`;
}
