/** What a chart draws, built anew in the next frame whenever its data or the options change. */
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { followChart } from "./following";
import type { Chart } from "./grouping";
import type { Model } from "./model";

/** Null until the first frame. */
export function useChartModel(chart: Chart, isEnlarged: boolean): ReadonlySignal<Model | null> {
  const model = useSignal<Model | null>(null);
  useEffect(() => followChart(chart, isEnlarged, model), [chart, isEnlarged]);
  return model;
}
