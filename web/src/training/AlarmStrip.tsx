/** Alarms, run by run along the steps: scalars that became NaN or infinite, and what was seen in watched layers. */
import { useState } from "preact/hooks";
import { formatCount } from "../format";
import { useWidth } from "../measuring/useWidth";
import * as runs from "../runs/store";
import { eventsOf, goToAlarm, isOfScalar } from "../watching/events";
import {
  alarmsOf,
  countsOf,
  describeMark,
  marksOf,
  severityOf,
  type Alarm,
  type AlarmMark,
  type AlarmRow,
} from "./alarms";
import { linearTicks } from "../charting/numberticks";
import { formatTicks } from "../charting/tickwords";
import { options } from "./options";
import { cursor, goToScalar } from "./state";
import "../watching/alarms.css";

const MARK_WIDTH = 12;
const PITCH = 12;
const TOP = 8;
/** Where more runs are chosen, only those with alarms have a line. */
const MAX_ROWS = 8;
const SIDES = 12;

interface Named {
  readonly mark: AlarmMark;
  readonly text: string;
  readonly left: number;
  readonly row: number;
}

/** Absent where there is no alarm. */
export function AlarmStrip() {
  return alarmRows(0).length === 0 ? null : <Strip />;
}

function Strip() {
  const [box, width] = useWidth<HTMLDivElement>(1000);
  const [named, setNamed] = useState<Named | null>(null);
  const lastStep = Math.max(1, ...runs.chosen.value.map((run) => run.last_step ?? 0));
  const inner = Math.max(1, width - 2 * SIDES);
  const place = (step: number): number => SIDES + (inner * Math.min(step, lastStep)) / lastStep;
  const rows = alarmRows((MARK_WIDTH * lastStep) / inner);
  const ticks = linearTicks({ low: 0, high: lastStep });
  const labels = formatTicks(ticks);
  const at = cursor.value !== null && options.value.axis === "step" ? cursor.value.x : null;
  const height = TOP + PITCH * rows.length;
  return (
    <section class="alarm-strip" aria-label="Alarms">
      <div class="group-head first">
        <h2>Alarms</h2>
        <span class="grow" />
        <span class="legend">
          {countsOf(rows).map(({ title, severity, count }) => (
            <span key={title}>
              <i class={`alarm-sign ${severity}`} aria-hidden="true" />
              {title} {formatCount(count)}
            </span>
          ))}
        </span>
      </div>
      <div ref={box} class="alarm-rows" style={{ height: `${height + 20}px` }}>
        {rows.map(({ run, lastStep: end, marks }, row) => (
          <div key={run.id} role="group" aria-label={run.name}>
            <i
              class="alarm-line"
              style={{
                top: `${TOP + row * PITCH}px`,
                left: `${place(0)}px`,
                width: `${place(end) - place(0)}px`,
                background: runs.colourOf(run.id),
              }}
            />
            {marks.map((mark) => {
              const text = describeMark(mark, run.name);
              const show = (): void => setNamed({ mark, text, left: place(mark.step), row });
              return (
                <button
                  key={`${severityOf(mark.alarms[0]!)} ${mark.step}`}
                  class={`alarm-sign ${severityOf(mark.alarms[0]!)}`}
                  aria-label={text}
                  style={{ left: `${place(mark.step)}px`, top: `${TOP + row * PITCH}px` }}
                  onPointerEnter={show}
                  onFocus={show}
                  onPointerLeave={() => setNamed(null)}
                  onBlur={() => setNamed(null)}
                  onClick={() => openAlarm(mark.alarms[0]!)}
                />
              );
            })}
          </div>
        ))}
        {at !== null && at >= 0 && at <= lastStep && (
          <i class="alarm-cursor" style={{ left: `${place(at)}px`, height: `${height}px` }} />
        )}
        {ticks.map((tick, index) => (
          <span key={tick} class="alarm-tick" style={{ left: `${place(tick)}px` }}>
            {labels[index]}
          </span>
        ))}
        {named !== null && (
          <span
            class={named.left > width / 2 ? "alarm-tip right" : "alarm-tip"}
            style={{
              top: `${TOP + named.row * PITCH + 12}px`,
              ...(named.left > width / 2 ? { right: `${width - named.left}px` } : { left: `${named.left}px` }),
            }}
            aria-hidden="true"
          >
            {named.text}
          </span>
        )}
      </div>
    </section>
  );
}

/** To the chart of a scalar, or to the map of the layers. */
export function openAlarm({ name, step, watched }: Alarm): void {
  if (watched === null || isOfScalar(watched)) goToScalar(name, step);
  else goToAlarm(watched);
}

/** None where no chosen run has an alarm. */
export function alarmRows(apart: number): AlarmRow[] {
  const rows = runs.chosen.value.map((run) => ({
    run,
    lastStep: run.last_step ?? 0,
    marks: marksOf(alarmsOf(runs.index.value.get(run.id)?.values() ?? [], eventsOf(run.id).alarms), apart),
  }));
  const marked = rows.filter(({ marks }) => marks.length > 0);
  return marked.length === 0 || rows.length > MAX_ROWS ? marked : rows;
}
