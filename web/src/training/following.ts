/** Keep what a chart draws up to date with its data, the options and the chosen runs. */
import { effect, type Signal } from "@preact/signals";
import { index, seriesKey, seriesOf } from "../runs/store";
import type { SeriesWanted } from "../wire";
import { ChartFeed } from "./chartfeed";
import { feeds, hasPart } from "./feeds";
import { forgetFrame, inNextFrame } from "./frames";
import type { Chart } from "./grouping";
import { buildModel, type Last, type Model, type Sources } from "./model";
import { options } from "./options";
import { chartRuns } from "./state";

/** Until the function that is returned is called. */
export function followChart(chart: Chart, isEnlarged: boolean, model: Signal<Model | null>): () => void {
  const all = feeds.peek();
  if (all === null) return () => undefined;
  let [wish, runs] = [options.peek(), chartRuns.peek()];
  const lookup = (runId: string, name: string): Sources | null => {
    const fed = feed.lookup(runId, name);
    return fed === null ? null : { ...fed, last: lastOf(runId, name) };
  };
  const rebuild = (): void => {
    model.value = buildModel(chart, runs, lookup, wish);
  };
  const feed = new ChartFeed(all, () => inNextFrame(rebuild));
  let before = "";
  const stopWanting = effect(() => {
    const finer = hasPart(options.value) ? "part" : isEnlarged ? "large" : null;
    const wanted = wantedBy(chart);
    const now = JSON.stringify([finer, wanted]);
    // Where the last value is in a bucket, only the index has it.
    if (model.peek()?.lines.some(({ curve }) => curve.hasBuckets)) inNextFrame(rebuild);
    if (now === before) return;
    before = now;
    feed.want(wanted, finer);
    inNextFrame(rebuild);
  });
  const stopLooking = effect(() => {
    wish = options.value;
    runs = chartRuns.value;
    inNextFrame(rebuild);
  });
  return () => {
    stopWanting();
    stopLooking();
    feed.stop();
    forgetFrame(rebuild);
  };
}

function lastOf(runId: string, name: string): Last | null {
  const listing = index.peek().get(runId)?.get(seriesKey("scalar", name));
  if (listing === undefined) return null;
  // Numbers that are not finite do not come through as such.
  return { step: listing.last_step, time: listing.last_time, value: listing.last_value ?? NaN };
}

/** The series of a chart that the chosen runs have. */
function wantedBy(chart: Chart): SeriesWanted[] {
  return chartRuns.value.flatMap(({ id }) =>
    chart.members
      .filter(({ name }) => seriesOf(id, "scalar", name) !== undefined)
      .map(({ name }) => ({ run_id: id, name })),
  );
}
