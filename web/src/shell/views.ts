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
  if (view === "learn") {
    if (hasLessons.value !== false) return view;
  } else if (view === "graph" || (view !== null && hasRuns !== false)) return view;
  if (hasRuns === null) return null;
  if (hasRuns && !hasOnlyPasses()) return "runs";
  return hasOnlyLessons() ? "learn" : "graph";
});

/** Can expressions be taken apart here? Unknown (null) until the server has said so. */
const hasLessons = computed<boolean | null>(() => {
  const source = store.source.value;
  return source === null ? false : source.hasLessons.value;
});

/** A server for lessons alone: without runs, and without a pass. */
function hasOnlyLessons(): boolean {
  const source = store.source.value;
  return hasLessons.value === true && source?.hasRuns.value !== true && source?.passes.value.length === 0;
}

/** A folder with passes, without runs and trainings: then the passes are what somebody came for. */
function hasOnlyPasses(): boolean {
  const numPasses = store.source.value?.passes.value.length ?? 0;
  const hasControls = (controls.value?.length ?? 0) > 0;
  return numPasses > 0 && listing.value.state === "shown" && runs.value.length === 0 && !hasControls;
}

/** The views that share their panels: the tabs of the top bar. */
export type Area = "runs" | "graph" | "netview" | "control" | "training" | "learn";

export const shownArea = computed<Area>(() => areaOf(shownView.value ?? "graph"));

export function areaOf(view: View): Area {
  return view === "layers" || view === "tensors" || view === "projector" || view === "parameters" ? "training" : view;
}

/** The areas that there is something to show of, in the order of the tabs. */
export const areas = computed<readonly Area[]>(() => {
  const source = store.source.value;
  const isOneFile = source?.connection.value.state === "one-file";
  const learn: readonly Area[] = hasLessons.value === true ? ["learn"] : [];
  if (source?.hasRuns.value !== true) return hasOnlyLessons() ? learn : ["graph", ...learn];
  // A file with a run in it is that of a network, and has nothing else.
  if (isOneFile) return ["netview"];
  return ["runs", "graph", "netview", "control", "training", ...learn];
});

export const TITLES: Record<View, string> = {
  runs: "Runs",
  graph: "Graph",
  netview: "NetView",
  control: "Control",
  training: "Training",
  layers: "Layers",
  tensors: "Tensors",
  projector: "Projector",
  parameters: "Parameters",
  learn: "Learn",
};

/**
 * Where there are runs, the address names the view, so that each comes back as it was left, and so does the title
 * of the page, for the list of where one has been.
 */
export function startViews(): void {
  effect(() => {
    const view = shownView.value;
    const hasRuns = store.source.value?.hasRuns.value === true;
    if (view === null || (!hasRuns && view !== "learn")) return;
    // Until then nobody knows which view there is something to see in.
    if (!hasRuns || listing.value.state !== "waiting") nameView(view);
    document.title = `${TITLES[view]} \u00b7 torcheer`;
  });
}
