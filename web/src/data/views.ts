/** Which view is shown: the one that the address names, or the one where there is something to see. */
import { computed, effect } from "@preact/signals";
import { controls } from "./control";
import { sets } from "./feature-sets";
import { nameView, route, TITLES, type View } from "./route";
import { listing, runs } from "./runs";
import * as store from "./store";

/** Null until the server has said what there is. */
export const shownView = computed<View | null>(() => {
  const source = store.source.value;
  // A page whose data cannot be read has no source, and Graph says so.
  const hasRuns = source === null ? false : source.hasRuns.value;
  const view = route.value.view;
  if (view !== null && mayBeShown(view, hasRuns)) return view;
  if (hasRuns === null) return null;
  if (hasRuns && !hasNoRuns()) return "runs";
  return withoutRuns(hasRuns);
});

/** Also while nobody knows yet. */
function mayBeShown(view: View, hasRuns: boolean | null): boolean {
  if (view === "learn") return hasLessons.value !== false;
  if (view === "features" && (sets.value === null || hasFeatures.value)) return true;
  return view === "graph" || hasRuns !== false;
}

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

/** A folder without runs and trainings: then what is in it is what somebody came for. */
function hasNoRuns(): boolean {
  const hasControls = (controls.value?.length ?? 0) > 0;
  return listing.value.state === "shown" && runs.value.length === 0 && !hasControls;
}

/** Null until it is known whether there are features. */
function withoutRuns(hasFolder: boolean): View | null {
  const numPasses = store.source.value?.passes.value.length ?? 0;
  if (numPasses === 0 && sets.value === null) return null;
  if (hasFeatures.value) return numPasses === 0 ? "features" : hasFolder ? "runs" : "graph";
  if (hasFolder) return numPasses > 0 ? "graph" : "runs";
  return hasOnlyLessons() ? "learn" : "graph";
}

const hasFeatures = computed(() => (sets.value?.length ?? 0) > 0);

/** The views that share their panels: the tabs of the top bar. */
export type Area = Exclude<View, "layers" | "tensors" | "projector" | "parameters">;

export const shownArea = computed<Area>(() => areaOf(shownView.value ?? "graph"));

export function areaOf(view: View): Area {
  return view === "layers" || view === "tensors" || view === "projector" || view === "parameters" ? "training" : view;
}

/** The areas that there is something to show of, in the order of the tabs. */
export const areas = computed<readonly Area[]>(() => {
  const source = store.source.value;
  const isOneFile = source?.connection.value.state === "one-file";
  const learn: readonly Area[] = hasLessons.value === true ? ["learn"] : [];
  const features: readonly Area[] = hasFeatures.value || route.value.view === "features" ? ["features"] : [];
  if (source?.hasRuns.value !== true) return hasOnlyLessons() && features.length === 0 ? learn : ["graph", ...features, ...learn];
  // A file with a run in it is that of a network, and has nothing else.
  if (isOneFile) return ["netview"];
  return ["runs", "graph", "netview", "control", "training", ...features, ...learn];
});

/**
 * Where there are runs, the address names the view, so that each comes back as it was left, and so does the title
 * of the page, for the list of where one has been.
 */
export function startViews(): void {
  effect(() => {
    const view = shownView.value;
    const hasRuns = store.source.value?.hasRuns.value === true;
    if (view === null || (!hasRuns && view !== "learn" && view !== "features")) return;
    // Until then nobody knows which view there is something to see in.
    if (!hasRuns || listing.value.state !== "waiting") nameView(view);
    document.title = `${TITLES[view]} \u00b7 torcheer`;
  });
}
