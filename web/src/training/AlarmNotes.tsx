/** The first alarms of the chosen runs in words, the worst before the others. */
import { formatCount } from "../format";
import { severityOf, titleOf, type Alarm, type AlarmRow } from "./alarms";
import { alarmRows, openAlarm } from "./AlarmStrip";

const MAX_NOTES = 3;

export function AlarmNotes() {
  const rows = alarmRows(0).filter(({ marks }) => marks.length > 0);
  if (rows.length === 0) return null;
  return (
    <section class="section" aria-label="Alarms in words" role="status">
      {rows.slice(0, MAX_NOTES).map((row) => (
        <Note key={row.run.id} row={row} />
      ))}
      {rows.length > MAX_NOTES && <p class="muted fs-1">and {rows.length - MAX_NOTES} more runs</p>}
    </section>
  );
}

function Note({ row: { run, marks } }: { row: AlarmRow }) {
  const { step, alarms } = marks.find((mark) => severityOf(mark.alarms[0]!) === "danger") ?? marks[0]!;
  const alarm = alarms[0]!;
  const isBad = severityOf(alarm) === "danger";
  return (
    <div class="alarm-note">
      <h3>Alarm at {formatCount(step)}</h3>
      <div class="row">
        <span class={isBad ? "badge died" : "badge warn"}>{alarm.watched === null ? "NaN" : titleOf(alarm)}</span>
        <span class="dim">
          <button class="link quiet" onClick={() => openAlarm(alarm)}>
            {alarm.name === "" ? "the model" : alarm.name}
          </button>{" "}
          {alarms.length > 1 && `and ${alarms.length - 1} more `}of <b>{run.name}</b>
          {whatHappened(alarm)}
        </span>
      </div>
    </div>
  );
}

/** The badge says what was seen in a layer. */
function whatHappened({ watched }: Alarm): string {
  return watched === null ? " became NaN or infinite." : ".";
}
