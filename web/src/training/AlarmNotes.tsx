/** The first alarms of the chosen runs in words. */
import { formatCount } from "../format";
import { alarmRows } from "./AlarmStrip";
import { goToScalar } from "./state";

const MAX_NOTES = 3;

export function AlarmNotes() {
  const rows = alarmRows(0).filter(({ marks }) => marks.length > 0);
  if (rows.length === 0) return null;
  return (
    <section class="section" aria-label="Alarms in words" role="status">
      {rows.slice(0, MAX_NOTES).map(({ run, marks }) => {
        const { step, alarms } = marks[0]!;
        const { name } = alarms[0]!;
        return (
          <div key={run.id} class="alarm-note">
            <h3>Alarm at {formatCount(step)}</h3>
            <div class="row">
              <span class="badge died">NaN</span>
              <span class="dim">
                <button class="link quiet" onClick={() => goToScalar(name, step)}>
                  {name}
                </button>{" "}
                {alarms.length > 1 && `and ${alarms.length - 1} more `}of <b>{run.name}</b> became NaN or infinite.
              </span>
            </div>
          </div>
        );
      })}
      {rows.length > MAX_NOTES && <p class="muted fs-1">and {rows.length - MAX_NOTES} more runs</p>}
    </section>
  );
}
