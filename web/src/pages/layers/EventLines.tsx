/** Alarms and gaps along the steps, a line for each kind; a press on a mark goes to its row and step. */
import { useState } from "preact/hooks";
import { formatCount } from "../../data/format";
import { alarmKind, describeGap, goToAlarm, inOrder, stepsText } from "../../data/run-events";
import type { AlarmListing, GapListing } from "../../wire";
import * as state from "./state";
import { type Axis, placeOf } from "./steps";

const MARK = 11;

/** What is written beside the mark under the pointer. */
interface Tip {
  readonly text: string;
  readonly place: number;
}

export function EventLines() {
  const { alarms, gaps } = state.events.value;
  const axis = state.axis.value;
  const byKind = alarmsByKind(alarms);
  return (
    <section class="event-lines" aria-label="Alarms and gaps over steps">
      {inOrder(byKind.keys()).map((id) => (
        <AlarmLine key={id} id={id} alarms={byKind.get(id) ?? []} axis={axis} />
      ))}
      {gaps.length > 0 && <GapLine gaps={gaps} axis={axis} />}
    </section>
  );
}

function alarmsByKind(alarms: readonly AlarmListing[]): ReadonlyMap<string, readonly AlarmListing[]> {
  const found = new Map<string, AlarmListing[]>();
  for (const alarm of alarms) {
    const its = found.get(alarm.alarm);
    if (its === undefined) found.set(alarm.alarm, [alarm]);
    else its.push(alarm);
  }
  return found;
}

interface AlarmLineProps {
  id: string;
  alarms: readonly AlarmListing[];
  axis: Axis;
}

function AlarmLine({ id, alarms, axis }: AlarmLineProps) {
  const [tip, setTip] = useState<Tip | null>(null);
  const { title, severity } = alarmKind(id);
  return (
    <div class="event-line" role="group" aria-label={title}>
      <span class="event-name">
        <i class={`alarm-sign ${severity}`} />
        {title} <span class="muted">{formatCount(alarms.length)}</span>
      </span>
      <div class="event-marks">
        {marksOf(alarms, axis, MARK).map((mark) => {
          const text = describeAlarms(mark);
          const show = (): void => setTip({ text, place: mark.place });
          return (
            <button
              key={mark.first}
              class={`alarm-sign ${severity}`}
              style={{ left: `${mark.place}px` }}
              aria-label={text}
              onPointerEnter={show}
              onFocus={show}
              onPointerLeave={() => setTip(null)}
              onBlur={() => setTip(null)}
              onClick={() => goToAlarm(mark.alarms[0]!)}
            />
          );
        })}
        <Here axis={axis} />
        {tip !== null && <TipText tip={tip} width={axis.width} />}
      </div>
    </div>
  );
}

function GapLine({ gaps, axis }: { gaps: readonly GapListing[]; axis: Axis }) {
  const [tip, setTip] = useState<Tip | null>(null);
  const missing = gaps.reduce((sum, { num_missing }) => sum + num_missing, 0);
  const seen = gaps.filter(({ first_step, last_step }) => last_step >= axis.low && first_step <= axis.high);
  return (
    <div class="event-line" role="group" aria-label="Gaps">
      <span class="event-name" title={`${formatCount(missing)} records are missing`}>
        <i class="heat-sign none" />
        gaps <span class="muted">{formatCount(gaps.length)}</span>
      </span>
      <div class="event-marks">
        {seen.map((gap) => {
          const text = describeGap(gap);
          const [left, right] = [placeOf(axis, gap.first_step - 0.5), placeOf(axis, gap.last_step + 0.5)];
          const place = Math.max(0, left);
          const show = (): void => setTip({ text, place });
          return (
            <button
              key={gap.record}
              class="gap-mark"
              style={{ left: `${place}px`, width: `${Math.max(4, Math.min(axis.width, right) - place)}px` }}
              aria-label={text}
              onPointerEnter={show}
              onFocus={show}
              onPointerLeave={() => setTip(null)}
              onBlur={() => setTip(null)}
              onClick={() => state.zoomAround(gap.first_step, gap.last_step)}
            />
          );
        })}
        <Here axis={axis} />
        {tip !== null && <TipText tip={tip} width={axis.width} />}
      </div>
    </div>
  );
}

/** The step under the pointer, or the one that is chosen. */
function Here({ axis }: { axis: Axis }) {
  const step = state.pointed.value?.step ?? state.step.value;
  if (step === null || step < axis.low || step > axis.high) return null;
  return <i class="event-here" style={{ left: `${placeOf(axis, step)}px` }} />;
}

function TipText({ tip: { text, place }, width }: { tip: Tip; width: number }) {
  const isRight = place > width / 2;
  return (
    <span
      class="event-tip"
      style={isRight ? { right: `${width - place}px` } : { left: `${place}px` }}
      aria-hidden="true"
    >
      {text}
    </span>
  );
}

// --- Alarms of one kind gathered to marks, where they would cover each other.

interface AlarmMark {
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
