/** Alarms and gaps: along the steps, a line for each kind, and in words. A press on one goes to its row and step. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { groupBy } from "../../data/collections";
import { formatCount } from "../../data/format";
import { addressOfAlarm, alarmKind, describeGap, goToAlarm, inOrder, stepsText } from "../../data/run-events";
import { Segments } from "../../ui/controls";
import type { AlarmListing, GapListing } from "../../wire";
import * as state from "./state";
import { type Axis, placeOf } from "./steps";
import { alarmValue } from "./watched";
import "../../ui/alarms.css";

const MARK = 11;

export function EventLines() {
  const { alarms, gaps } = state.events.value;
  const axis = state.axis.value;
  const byKind = groupBy(alarms, ({ alarm }) => alarm);
  const missing = `${formatCount(gaps.reduce((sum, { num_missing }) => sum + num_missing, 0))} records are missing`;
  const gapsInView = gaps.filter((gap) => gap.last_step >= axis.low && gap.first_step <= axis.high);
  return (
    <section class="event-lines" aria-label="Alarms and gaps over steps">
      {inOrder(byKind.keys()).map((id) => {
        const { title, severity } = alarmKind(id);
        const [its, look] = [byKind.get(id)!, `alarm-sign ${severity}`];
        return (
          <EventLine key={id} name={title} label={title} count={its.length} sign={look} look={look}>
            {marksOf(its, axis, MARK).map((mark) => ({
              ...{ key: mark.first, text: describeAlarms(mark), left: mark.place },
              go: () => goToAlarm(mark.alarms[0]!),
            }))}
          </EventLine>
        );
      })}
      {gaps.length > 0 && (
        <EventLine name="gaps" label="Gaps" title={missing} count={gaps.length} sign="heat-sign none" look="gap-mark">
          {gapsInView.map((gap) => gapMark(gap, axis))}
        </EventLine>
      )}
    </section>
  );
}

function gapMark(gap: GapListing, axis: Axis): Mark {
  const [left, right] = [Math.max(0, placeOf(axis, gap.first_step - 0.5)), placeOf(axis, gap.last_step + 0.5)];
  return {
    ...{ key: gap.record, text: describeGap(gap), left, width: Math.max(4, Math.min(axis.width, right) - left) },
    go: () => state.zoomAround(gap.first_step, gap.last_step),
  };
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
  children: readonly Mark[];
}

function EventLine({ name, label, title, count, sign, look, children: marks }: LineProps) {
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
  readonly alarms: AlarmListing[];
  readonly first: number;
  last: number;
  /** In pixels. */
  readonly place: number;
}

/** Those that are on the axis, so many pixels apart. */
export function marksOf(alarms: readonly AlarmListing[], axis: Axis, apart: number): readonly AlarmMark[] {
  const seen = alarms.filter(({ step }) => step >= axis.low && step <= axis.high).sort((a, b) => a.step - b.step);
  const marks: AlarmMark[] = [];
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
  const one = alarms[0]!;
  if (alarms.length === 1) return one.message;
  const where = alarms.every(({ row }) => row === one.row) ? ` of ${one.row}` : "";
  return `${alarms.length} × ${alarmKind(one.alarm).title}${where}, ${stepsText(first, last)}. ${one.message}`;
}

/** More at a time than anybody reads. */
const MOST = 200;

type Which = "all" | "row";

/** All alarms and gaps in words, the latest first. */
export function EventList() {
  const [which, setWhich] = useState<Which>("all");
  const { alarms, gaps } = state.events.value;
  const row = state.rowName.value;
  const its = alarms.filter((alarm) => alarm.row === row);
  const isRow = which === "row" && row !== "";
  const items = [
    ...(isRow ? its : alarms).map((alarm) => ({ step: alarm.step, alarm, gap: null })),
    ...gaps.filter(({ counts }) => !isRow || row in counts).map((gap) => ({ step: gap.first_step, alarm: null, gap })),
  ].sort((one, other) => other.step - one.step);
  return (
    <section class="panel event-list" aria-label="Alarms">
      <div class="panel-head">
        <h2>Alarms</h2>
        <span class="muted fs-1">{formatCount(alarms.length)}</span>
        <span class="grow" />
        {row !== "" && (
          <Segments<Which>
            label="Alarms of"
            words={[
              ["all", "All"],
              ["row", `This row ${formatCount(its.length)}`],
            ]}
            chosen={which}
            choose={setWhich}
          />
        )}
      </div>
      <ul class="panel-body event-items">
        {items.slice(0, MOST).map(({ alarm, gap }) => (
          <li key={alarm === null ? `gap ${gap.record}` : `alarm ${alarm.record}`}>
            {alarm === null ? <GapItem gap={gap} /> : <AlarmItem alarm={alarm} />}
          </li>
        ))}
        {items.length === 0 && <li class="muted fs-2 event-none">This row has no alarms.</li>}
        {items.length > MOST && <li class="muted fs-1 event-none">and {formatCount(items.length - MOST)} earlier ones</li>}
      </ul>
    </section>
  );
}

function AlarmItem({ alarm }: { alarm: AlarmListing }) {
  const { title, severity } = alarmKind(alarm.alarm);
  const isHere = alarm.row === state.rowName.value && alarm.step === state.step.value;
  return (
    <a class="event-item" href={addressOfAlarm(alarm)} aria-current={isHere ? "true" : undefined}>
      <ItemText step={alarm.step} sign={`alarm-sign ${severity}`} name={title} value={alarmValue(alarm)} message={alarm.message}>
        <span class="mono event-row" title={alarm.row}>
          <bdi class="marked">{alarm.row}</bdi>
        </span>
      </ItemText>
    </a>
  );
}

function GapItem({ gap }: { gap: GapListing }) {
  return (
    <button class="event-item" onClick={() => state.zoomAround(gap.first_step, gap.last_step)}>
      <ItemText step={gap.first_step} sign="heat-sign none" name="gap" value={formatCount(gap.num_missing)} message={gap.message}>
        {describeGap(gap)}
      </ItemText>
    </button>
  );
}

interface ItemProps {
  step: number;
  sign: string;
  name: string;
  value: string;
  message: string;
  children: ComponentChildren;
}

function ItemText({ step, sign, name, value, message, children }: ItemProps) {
  return (
    <>
      <span class="event-step">{formatCount(step)}</span>
      <i class={sign} />
      <span class="event-what">
        <b>{name}</b> {children}
      </span>
      <span class="event-value">{value}</span>
      <span class="event-message">{message}</span>
    </>
  );
}
