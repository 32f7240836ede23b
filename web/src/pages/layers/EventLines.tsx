/** Alarms and gaps along the steps, a line for each kind; a press on a mark goes to its row and step. */
import { useState } from "preact/hooks";
import { formatCount } from "../../data/format";
import { alarmKind, describeGap, goToAlarm, inOrder, stepsText } from "../../data/run-events";
import type { AlarmListing, GapListing } from "../../wire";
import * as state from "./state";
import { type Axis, placeOf } from "./steps";

const MARK = 11;

export function EventLines() {
  const { alarms, gaps } = state.events.value;
  const axis = state.axis.value;
  const byKind = alarmsByKind(alarms);
  return (
    <section class="event-lines" aria-label="Alarms and gaps over steps">
      {inOrder(byKind.keys()).map((id) => {
        const { title, severity } = alarmKind(id);
        const its = byKind.get(id) ?? [];
        const marks = marksOf(its, axis, MARK).map((mark): Mark => ({
          ...{ key: mark.first, text: describeAlarms(mark), left: mark.place },
          go: () => goToAlarm(mark.alarms[0]!),
        }));
        return <EventLine key={id} name={title} label={title} count={its.length} sign={`alarm-sign ${severity}`} look={`alarm-sign ${severity}`} marks={marks} />;
      })}
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

function GapLine({ gaps, axis }: { gaps: readonly GapListing[]; axis: Axis }) {
  const missing = gaps.reduce((sum, { num_missing }) => sum + num_missing, 0);
  const seen = gaps.filter(({ first_step, last_step }) => last_step >= axis.low && first_step <= axis.high);
  const marks = seen.map((gap): Mark => {
    const [left, right] = [Math.max(0, placeOf(axis, gap.first_step - 0.5)), placeOf(axis, gap.last_step + 0.5)];
    return {
      ...{ key: gap.record, text: describeGap(gap), left, width: Math.max(4, Math.min(axis.width, right) - left) },
      go: () => state.zoomAround(gap.first_step, gap.last_step),
    };
  });
  const hint = `${formatCount(missing)} records are missing`;
  return <EventLine name="gaps" label="Gaps" title={hint} count={gaps.length} sign="heat-sign none" look="gap-mark" marks={marks} />;
}

interface Mark {
  readonly key: string | number;
  /** What is written beside it while it is under the pointer. */
  readonly text: string;
  /** In pixels. */
  readonly left: number;
  readonly width?: number;
  readonly go: () => void;
}

interface LineProps {
  name: string;
  label: string;
  title?: string;
  count: number;
  /** Classes of what stands before the name, and of a mark. */
  sign: string;
  look: string;
  marks: readonly Mark[];
}

function EventLine({ name, label, title, count, sign, look, marks }: LineProps) {
  const [tip, setTip] = useState<Mark | null>(null);
  const { width, low, high } = state.axis.value;
  // The step under the pointer, or the one that is chosen.
  const here = state.pointed.value?.step ?? state.step.value;
  return (
    <div class="event-line" role="group" aria-label={label}>
      <span class="event-name" title={title}>
        <i class={sign} />
        {name} <span class="muted">{formatCount(count)}</span>
      </span>
      <div class="event-marks">
        {marks.map((mark) => (
          <button
            key={mark.key}
            class={look}
            style={{ left: `${mark.left}px`, ...(mark.width === undefined ? {} : { width: `${mark.width}px` }) }}
            aria-label={mark.text}
            onPointerEnter={() => setTip(mark)}
            onFocus={() => setTip(mark)}
            onPointerLeave={() => setTip(null)}
            onBlur={() => setTip(null)}
            onClick={mark.go}
          />
        ))}
        {here !== null && here >= low && here <= high && <i class="event-here" style={{ left: `${placeOf(state.axis.value, here)}px` }} />}
        {tip !== null && (
          <span class="event-tip" style={tip.left > width / 2 ? { right: `${width - tip.left}px` } : { left: `${tip.left}px` }} aria-hidden="true">
            {tip.text}
          </span>
        )}
      </div>
    </div>
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
