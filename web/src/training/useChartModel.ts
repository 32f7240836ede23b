/** What a chart draws, built anew in the next frame whenever its data or the options change. */
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { followChart, type Subject } from "./following";
import type { Chart } from "./grouping";
import type { Model } from "./model";

/** Null until the first frame. */
export function useChartModel(chart: Chart, isEnlarged: boolean, subject?: Subject): ReadonlySignal<Model | null> {
  const model = useSignal<Model | null>(null);
  useEffect(() => followChart(chart, isEnlarged, model, subject), [chart, isEnlarged]);
  return model;
}
