/** What the page Features shows: which set, which layer, which picture of it. */
import { batch, computed, effect, signal } from "@preact/signals";
import { sets } from "../../../data/feature-sets";
import { param, route, setParams, type Changes } from "../../../data/route";
import type { Reply, Source } from "../../../data/source";
import { known, METRICS } from "../choice";
import type { FeatureLayer, FeatureSetAnswer, FeatureSetListing } from "../../../wire";

export const SIGHTS = ["layers", "values", "similarity", "probes", "projector"] as const;
export const PROBES = ["ridge", "logistic"] as const;
export const COMPARISONS = ["rsa", "cka"] as const;
export const SIMILAR_SAMPLES = [100, 200, 500, 1000, 2000] as const;
export const PROBED_SAMPLES = [500, 1000, 2000, 5000, 20_000, 1_000_000] as const;
export const POINTS = [500, 1000, 2000, 5000, 10_000, 20_000] as const;
export const FOLDS = [3, 5, 10] as const;

export type Sight = (typeof SIGHTS)[number];
export type ProbeKind = (typeof PROBES)[number];
export type Comparison = (typeof COMPARISONS)[number];

/** On the way to another view its address has other things in it. */
const isShown = computed(() => route.value.view === "features" || route.value.view === null);

export const sight = computed<Sight>(() => known(SIGHTS, param("see")));
export const metric = computed(() => known(METRICS, param("by")));
export const probeKind = computed<ProbeKind>(() => known(PROBES, param("probe")));
export const comparison = computed<Comparison>(() => known(COMPARISONS, param("compare")));
export const numSimilar = computed(() => numberOf(SIMILAR_SAMPLES, param("n"), 500));
export const numProbed = computed(() => numberOf(PROBED_SAMPLES, param("probed"), 2000));
export const numPoints = computed(() => numberOf(POINTS, param("points"), 2000));
export const numFolds = computed(() => numberOf(FOLDS, param("folds"), 5));
/** Are scores drawn large, without chance? */
export const isZoomed = computed(() => param("zoom") === "yes");

function numberOf(choices: readonly number[], text: string, usual: number): number {
  return choices.find((one) => String(one) === text) ?? usual;
}

/** The one that the address names, or the first. Empty where there is none. */
export const setId = computed(() => (isShown.value ? param("set") : "") || (sets.value?.[0]?.id ?? ""));

/** The newest answer about the set that is shown. */
export const detail = signal<FeatureSetAnswer | null>(null);
/** Why nothing can be known of it; empty where something is. */
export const failure = signal("");

/** What the list says is newer, where the set itself cannot be read any more. */
export const listing = computed<FeatureSetListing | null>(
  () => detail.value?.listing ?? sets.value?.find(({ id }) => id === setId.value) ?? null,
);

export const layers = computed<readonly FeatureLayer[]>(() => detail.value?.layers ?? []);

/** The number of the layer that is looked at: by itself the last one, which is nearest to the answer. */
export const layerAt = computed(() => {
  const named = layers.value.findIndex(({ name }) => name === param("layer"));
  return named >= 0 ? named : layers.value.length - 1;
});
export const layer = computed<FeatureLayer | null>(() => layers.value[layerAt.value] ?? null);

/** A unit of one layer is none of another. */
export function chooseLayer(at: number, changes: Changes = {}): void {
  const next = layers.peek()[at];
  if (next !== undefined) setParams({ layer: next.name, unit: null, ...changes });
}

export function chooseSight(next: Sight): void {
  setParams({ see: next === "layers" ? null : next });
}

/** Keys of a list of layers: arrows go through those that are shown, Enter leads to the values. */
export function stepLayer(event: KeyboardEvent, shown: readonly number[], reveal: (row: number) => void): void {
  const by = { ArrowDown: 1, ArrowUp: -1, Home: -shown.length, End: shown.length }[event.key];
  if (event.key === "Enter") chooseSight("values");
  else if (by !== undefined && shown.length > 0) {
    const next = Math.max(0, Math.min(shown.length - 1, shown.indexOf(layerAt.peek()) + by));
    chooseLayer(shown[next]!);
    reveal(next);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

let stopAll = (): void => undefined;

/** Begin to follow which sets a source has. */
export function startFeatures(source: Source): void {
  stopAll();
  sets.value = null;
  stopAll = source.follow(
    { type: "feature_sets" },
    {
      hear: ({ answer }) => {
        if (answer.type === "feature_sets") sets.value = answer.sets;
      },
      // One that cannot say has none.
      refuse: () => (sets.value ??= []),
    },
  );
}

/** Rises when somebody wants to try again. */
export const attempt = signal(0);

/** Follow the set that is shown, until the function that is returned is called. */
export function followSet(source: Source): () => void {
  return effect(() => {
    const id = attempt.value < 0 ? "" : setId.value;
    batch(() => {
      if (detail.peek()?.listing.id !== id) detail.value = null;
      failure.value = "";
    });
    if (id === "") return undefined;
    return source.follow(
      { type: "feature_set", set_id: id },
      { hear: takeSet, refuse: (reason) => (failure.value = reason) },
    );
  });
}

function takeSet({ answer }: Reply): void {
  if (answer.type !== "feature_set") return;
  batch(() => {
    const before = detail.peek();
    // What has not changed is the same object as before, so that what hangs on it is not made anew.
    const isSame = before !== null && JSON.stringify(before.layers) === JSON.stringify(answer.layers);
    detail.value = isSame ? { ...answer, layers: before.layers } : answer;
    failure.value = "";
  });
}
