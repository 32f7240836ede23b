/** All alarms and gaps in words, the latest first; a press goes to the row and the step. */
import { useState } from "preact/hooks";
import { formatCount } from "../format";
import { Segments } from "../shell/Segments";
import type { AlarmListing, GapListing } from "../wire";
import { alarmKind, alarmValue } from "./alarmkinds";
import { addressOfAlarm, describeGap } from "./events";
import * as state from "./state";

/** More at a time than anybody reads. */
const MOST = 200;

type Which = "all" | "row";

type Item =
  | { readonly step: number; readonly alarm: AlarmListing }
  | { readonly step: number; readonly gap: GapListing };

export function EventList() {
  const [which, setWhich] = useState<Which>("all");
  const { alarms, gaps } = state.events.value;
  const row = state.rowName.value;
  const its = alarms.filter((alarm) => alarm.row === row);
  const isRow = which === "row" && row !== "";
  const items = itemsOf(isRow ? its : alarms, isRow ? gaps.filter(({ counts }) => row in counts) : gaps);
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
        {items.slice(0, MOST).map((item) =>
          "alarm" in item ? (
            <AlarmItem key={`alarm ${item.alarm.record}`} alarm={item.alarm} />
          ) : (
            <GapItem key={`gap ${item.gap.record}`} gap={item.gap} />
          ),
        )}
        {items.length === 0 && <li class="muted fs-2 event-none">This row has no alarms.</li>}
        {items.length > MOST && <li class="muted fs-1 event-none">and {formatCount(items.length - MOST)} earlier ones</li>}
      </ul>
    </section>
  );
}

function itemsOf(alarms: readonly AlarmListing[], gaps: readonly GapListing[]): readonly Item[] {
  const all: Item[] = [
    ...alarms.map((alarm) => ({ step: alarm.step, alarm })),
    ...gaps.map((gap) => ({ step: gap.first_step, gap })),
  ];
  return all.sort((a, b) => b.step - a.step);
}

function AlarmItem({ alarm }: { alarm: AlarmListing }) {
  const { title, severity } = alarmKind(alarm.alarm);
  const isHere = alarm.row === state.rowName.value && alarm.step === state.step.value;
  return (
    <li>
      <a class="event-item" href={addressOfAlarm(alarm)} aria-current={isHere ? "true" : undefined}>
        <span class="event-step">{formatCount(alarm.step)}</span>
        <i class={`alarm-sign ${severity}`} />
        <span class="event-what">
          <b>{title}</b>{" "}
          <span class="mono event-row" title={alarm.row}>
            <bdi class="marked">{alarm.row}</bdi>
          </span>
        </span>
        <span class="event-value">{alarmValue(alarm)}</span>
        <span class="event-message">{alarm.message}</span>
      </a>
    </li>
  );
}

function GapItem({ gap }: { gap: GapListing }) {
  return (
    <li>
      <button class="event-item" onClick={() => state.zoomAround(gap.first_step, gap.last_step)}>
        <span class="event-step">{formatCount(gap.first_step)}</span>
        <i class="heat-sign none" />
        <span class="event-what">
          <b>gap</b> {describeGap(gap)}
        </span>
        <span class="event-value">{formatCount(gap.num_missing)}</span>
        <span class="event-message">{gap.message}</span>
      </button>
    </li>
  );
}
