/** The values of some charts at the cursor, or their last ones, run by run. */
import { useComputed, useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect } from "preact/hooks";
import { formatValue } from "../format";
import { colourOf } from "../runs/store";
import { columnsFor } from "./cursorcolumns";
import { followChart } from "./following";
import type { Chart } from "./grouping";
import type { Model } from "./model";
import { options } from "./options";
import { describePlace, describeReading, readingsAt, type Reading } from "./readings";
import { chartRuns, cursor, isOpen, shownGroups } from "./state";

export function AtCursor() {
  const open = useComputed(() => shownGroups.value.filter(({ key }) => isOpen(key)));
  const pointed = useComputed(() => cursor.value?.chart ?? "");
  const charts = columnsFor(open.value, pointed.value);
  const models = [useModel(charts[0]), useModel(charts[1]), useModel(charts[2])];
  const place = cursor.value?.x ?? null;
  const columns = charts.map((chart, at) => {
    const model = models[at] ?? null;
    const readings = model === null ? [] : readingsAt(model, place);
    return { chart, readings: new Map(readings.map((reading) => [reading.line.run.id, reading])) };
  });
  const rows = chartRuns.value.filter(({ id }) => columns.some(({ readings }) => readings.has(id)));
  if (rows.length === 0) return null;
  const isSmoothed = columns.some(({ readings }) => [...readings.values()].some(({ smoothed }) => smoothed !== null));
  return (
    <section class="section" aria-label="Values at the cursor">
      <div class="row at-cursor-head">
        <h3>{place === null ? "Last values" : "At cursor"}</h3>
        <span class="grow" />
        {place !== null && <b class="fs-2">{describePlace(place, options.value.axis)}</b>}
      </div>
      <table class="table at-cursor">
        <thead>
          <tr>
            <th>
              <span class="sr">run</span>
            </th>
            {charts.map((chart) => (
              <th key={chart.key} class="num" title={chart.fullTitle}>
                <Name text={chart.fullTitle} />
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
              {columns.map(({ chart, readings }) => (
                <Cell key={chart.key} reading={readings.get(run.id)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {isSmoothed && <p class="muted fs-1">As logged; below it, smoothed.</p>}
    </section>
  );
}

/** What a chart draws, also where it is far from the screen and draws nothing. */
function useModel(chart: Chart | undefined): Model | null {
  const model = useSignal<Model | null>(null);
  useEffect(() => (chart === undefined ? undefined : followChart(chart, false, model)), [chart]);
  // That of another chart may still be there.
  return model.value?.chart.key === chart?.key ? model.value : null;
}

/** It may be broken after a slash. */
function Name({ text }: { text: string }) {
  const parts = text.split(/(?<=\/)/);
  return (
    <span>
      {parts.map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}

function Cell({ reading }: { reading: Reading | undefined }) {
  if (reading === undefined) return <td />;
  const { value, smoothed } = reading;
  return (
    <td class={Number.isFinite(value) ? "num" : "num bad"} title={describeReading(reading)}>
      {formatValue(value, 3)}
      {smoothed !== null && <small class="muted">{formatValue(smoothed, 3)}</small>}
    </td>
  );
}
