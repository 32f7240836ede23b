/** Which view is shown: the one that the address names, or the one where there is something to see. */
import { computed, effect } from "@preact/signals";
import { controls } from "../control/store";
import { nameView, route, type View } from "../route";
import { listing, runs } from "../runs/store";
import * as store from "../store";

/** Null until the server has said what there is. */
export const shownView = computed<View | null>(() => {
  const source = store.source.value;
  // A page whose data cannot be read has no source, and Graph says so.
  const hasRuns = source === null ? false : source.hasRuns.value;
  const view = route.value.view;
  if (view === "graph" || (view !== null && hasRuns !== false)) return view;
  if (hasRuns === null) return null;
  return hasRuns && !hasOnlyPasses() ? "runs" : "graph";
});

/** A folder with passes, without runs and trainings: then the passes are what somebody came for. */
function hasOnlyPasses(): boolean {
  const numPasses = store.source.value?.passes.value.length ?? 0;
  const hasControls = (controls.value?.length ?? 0) > 0;
  return numPasses > 0 && listing.value.state === "shown" && runs.value.length === 0 && !hasControls;
}

/** The views that share their panels: the tabs of the top bar. */
export type Area = "runs" | "graph" | "netview" | "control" | "training";

export const shownArea = computed<Area>(() => areaOf(shownView.value ?? "graph"));

export function areaOf(view: View): Area {
  return view === "runs" || view === "graph" || view === "netview" || view === "control" ? view : "training";
}

const TITLES: Record<View, string> = {
  runs: "Runs",
  graph: "Graph",
  netview: "NetView",
  control: "Control",
  training: "Training",
  layers: "Layers",
  tensors: "Tensors",
  projector: "Projector",
  parameters: "Parameters",
};

/**
 * Where there are runs, the address names the view, so that each comes back as it was left, and so does the title
 * of the page, for the list of where one has been.
 */
export function startViews(): void {
  effect(() => {
    const view = shownView.value;
    if (store.source.value?.hasRuns.value !== true || view === null) return;
    // Until then nobody knows which view there is something to see in.
    if (listing.value.state !== "waiting") nameView(view);
    document.title = `${TITLES[view]} \u00b7 torcheer`;
  });
}
