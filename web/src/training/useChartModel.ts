/** What a chart draws, built anew in the next frame whenever its data or the options change. */
import { effect, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { index, seriesKey, seriesOf } from "../runs/store";
import { ChartFeed } from "./chartfeed";
import { feeds, hasPart } from "./feeds";
import { forgetFrame, inNextFrame } from "./frames";
import type { Chart } from "./grouping";
import { buildModel, type Model, type Sources } from "./model";
import { options } from "./options";
import { chartRuns, showModel } from "./state";
import type { SeriesWanted } from "../wire";

/** Null until the first frame. */
export function useChartModel(chart: Chart, isEnlarged: boolean): ReadonlySignal<Model | null> {
  const model = useSignal<Model | null>(null);
  useEffect(() => {
    const all = feeds.peek();
    if (all === null) return undefined;
    let [wish, runs] = [options.peek(), chartRuns.peek()];
    const lookup = (runId: string, name: string): Sources | null => {
      const fed = feed.lookup(runId, name);
      return fed === null ? null : { ...fed, lastValue: lastValueOf(runId, name) };
    };
    const rebuild = (): void => {
      model.value = buildModel(chart, runs, lookup, wish);
    };
    const hide = showModel(chart.key, model);
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
      hide();
      forgetFrame(rebuild);
    };
  }, [chart, isEnlarged]);
  return model;
}

function lastValueOf(runId: string, name: string): number | null {
  return index.peek().get(runId)?.get(seriesKey("scalar", name))?.last_value ?? null;
}

/** The series of a chart that the chosen runs have. */
function wantedBy(chart: Chart): SeriesWanted[] {
  return chartRuns.value.flatMap(({ id }) =>
    chart.members
      .filter(({ name }) => seriesOf(id, "scalar", name) !== undefined)
      .map(({ name }) => ({ run_id: id, name })),
  );
}
