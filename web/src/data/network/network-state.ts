/** How far the page is with a network, and what it must say about it. */
import { computed, signal } from "@preact/signals";
import type { NetLayer, NetSceneAnswer } from "../../wire";
import { isSettled, rank, runId, step } from "./moments";
import * as store from "./store";
import { weightVariable } from "./words";

/** What came last, and of which run. */
interface KnownScene extends Pick<NetSceneAnswer, "source" | "num_items" | "ranks" | "note"> {
  readonly runId: string;
  readonly rank: number;
}

export const known = signal<KnownScene | null>(null);
/** Why there is no network, and why there are no values; empty where there is nothing to say. */
export const sceneFailure = signal("");
export const valueFailure = signal("");
/** How often somebody asked for the network once more, after a failure. */
export const attempts = signal(0);

export function tryAgain(): void {
  sceneFailure.value = "";
  attempts.value += 1;
}

/** The moment whose values are on screen; null until there are some. */
export const shownStep = signal<number | null>(null);

/** What of the weights of the selected unit is no block. */
export interface WeightFacts {
  readonly bias: number | null;
  readonly numWeights: number | null;
  /** Why there are none to some of the layers, each reason once. */
  readonly missing: readonly string[];
}

/** Is the variable one of weights, those of the selected unit? */
export const isOfWeights = computed(() => weightVariable(store.variable.value) !== null);

export const weightFacts = signal<WeightFacts | null>(null);

/** Is the last moments of each layer wanted beside each other? */
export const isRaster = signal(false);
/** Layers that are too large to be shown so. */
export const notInRaster = signal(0);

/** Is what is known of the run that is shown? */
export const isKnown = computed(
  () => known.value !== null && known.value.runId === runId.value && known.value.rank === rank.value,
);

export type Phase = "waiting" | "failed" | "empty" | "shown";

export const phase = computed<Phase>(() => {
  if (runId.value === "") return "waiting";
  if (isKnown.value) return (store.scene.value?.layers.length ?? 0) > 0 ? "shown" : "empty";
  return sceneFailure.value === "" ? "waiting" : "failed";
});

export const isAwaited = computed(
  () => phase.value === "shown" && step.value !== null && !isSettled.value && valueFailure.value === "",
);

export const numItems = computed(() => Math.max(1, known.value?.num_items ?? 1));

export function goToItem(item: number): void {
  store.item.value = Math.max(0, Math.min(numItems.peek() - 1, item));
}

export function layerOf(name: string | undefined): NetLayer | null {
  return store.scene.value?.layers.find((layer) => layer.name === name) ?? null;
}

/** The selected unit with its layer; null where this network has no such unit. */
export const chosenUnit = computed<{ readonly layer: NetLayer; readonly unit: number } | null>(() => {
  const place = store.selected.value;
  const layer = layerOf(place?.layer);
  return place !== null && layer !== null && place.unit < layer.grid.num_units ? { layer, unit: place.unit } : null;
});

/** Back to what the next network begins with. */
export function forget(): void {
  store.scene.value = null;
  store.variables.value = [];
  store.values.value = new Map();
  store.raster.value = null;
  store.hovered.value = null;
  known.value = null;
  sceneFailure.value = "";
  valueFailure.value = "";
  weightFacts.value = null;
  shownStep.value = null;
}

/** Parameters are recorded when they have changed: the last record holds until then, and is never old. */
export function isOlder(variable: string, recorded: number, now: number): boolean {
  return recorded < now && variable !== "Bias";
}

export type Mark = { readonly kind: "missing"; readonly why: string } | { readonly kind: "old"; readonly step: number };

/** What a reader must know of the values of a layer: there are none, or they are older than the moment. */
export function markOf(layer: string): Mark | null {
  const block = store.values.value.get(layer);
  const now = shownStep.value;
  if (block === undefined || now === null) return null;
  // Most layers are not connected with a unit.
  if (isOfWeights.value) return null;
  if (block.levels.length === 0) return { kind: "missing", why: block.why || "Nothing was recorded." };
  return isOlder(store.variable.value, block.step, now) ? { kind: "old", step: block.step } : null;
}
