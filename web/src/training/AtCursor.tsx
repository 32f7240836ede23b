/** The values of some charts at the cursor, or their last ones, run by run. */
import { formatValue } from "../format";
import { colourOf } from "../runs/store";
import { columnsFor } from "./cursorcolumns";
import { options } from "./options";
import { describePlace, readingsAt } from "./readings";
import { chartRuns, cursor, models, shownGroups } from "./state";

export function AtCursor() {
  const shown = models.value;
  const place = cursor.value?.x ?? null;
  const columns = columnsFor(shownGroups.value, (key) => shown.has(key), cursor.value?.chart ?? "").map((column) => {
    const model = shown.get(column.chart.key)?.value ?? null;
    const readings = model === null ? [] : readingsAt(model, place);
    return { ...column, values: new Map(readings.map(({ line, value }) => [line.run.id, value])) };
  });
  const rows = chartRuns.value.filter(({ id }) => columns.some(({ values }) => values.has(id)));
  if (rows.length === 0) return null;
  const { axis, smoothing } = options.value;
  return (
    <section class="section" aria-label="Values at the cursor">
      <div class="row">
        <h3>{place === null ? "Last values" : "At cursor"}</h3>
        {smoothing > 0 && <span class="muted fs-1">smoothed</span>}
        <span class="grow" />
        {place !== null && <b class="fs-2">{describePlace(place, axis)}</b>}
      </div>
      <table class="table at-cursor">
        <thead>
          <tr>
            <th>
              <span class="sr">run</span>
            </th>
            {columns.map(({ chart, title }) => (
              <th key={chart.key} class="num" title={chart.fullTitle}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <tr key={run.id} title={run.name}>
              <td>
                <i class="sw" style={{ background: colourOf(run.id) }} />
                <span class="sr">{run.name}</span>
              </td>
              {columns.map(({ chart, values }) => {
                const value = values.get(run.id);
                return (
                  <td key={chart.key} class="num">
                    {value === undefined ? "" : formatValue(value, 3)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
