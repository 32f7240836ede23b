/** Alarms of one kind gathered to marks, where they would cover each other. */
import type { AlarmListing } from "../wire";
import { alarmKind } from "./alarmkinds";
import { stepsText } from "./events";
import { placeOf, type Axis } from "./steps";

export interface AlarmMark {
  readonly alarms: readonly AlarmListing[];
  readonly first: number;
  readonly last: number;
  /** In pixels. */
  readonly place: number;
}

/** Those that are on the axis, so many pixels apart. */
export function marksOf(alarms: readonly AlarmListing[], axis: Axis, apart: number): readonly AlarmMark[] {
  const seen = alarms.filter(({ step }) => step >= axis.low && step <= axis.high).sort((a, b) => a.step - b.step);
  const marks: { alarms: AlarmListing[]; first: number; last: number; place: number }[] = [];
  for (const alarm of seen) {
    const place = placeOf(axis, alarm.step);
    const before = marks.at(-1);
    if (before !== undefined && place - before.place < apart) {
      before.alarms.push(alarm);
      before.last = alarm.step;
    } else marks.push({ alarms: [alarm], first: alarm.step, last: alarm.step, place });
  }
  return marks;
}

/** The message of the first, and how many more there are. */
export function describeAlarms({ alarms, first, last }: AlarmMark): string {
  const [one] = alarms;
  if (one === undefined) return "";
  if (alarms.length === 1) return one.message;
  const names = new Set(alarms.map(({ row }) => row));
  const where = names.size === 1 ? ` of ${one.row}` : "";
  return `${alarms.length} × ${alarmKind(one.alarm).title}${where}, ${stepsText(first, last)}. ${one.message}`;
}
