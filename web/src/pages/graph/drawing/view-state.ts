/** What only the drawing needs to know: its camera, its layout, its colours and what is lit up. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { lifted, shownAs } from "../../../data/pass/edges";
import * as store from "../../../data/store";
import type { Camera, Size } from "../../../ui/pan-zoom";
import { commonTypes, measureBy, scaleOf } from "./box-figures";
import { Highlight } from "./highlight";
import type { Scene } from "./scene";

export const camera = signal<Camera>({ x: 0, y: 0, scale: 1 });
export const viewSize = signal<Size>({ width: 0, height: 0 });
export const scene = signal<Scene | null>(null);

/** Whether the pointer is over the drawing itself. */
export const isPointerOver = signal(false);

/** A layout that is being made: how many ops it will show, and how many of them are placed. */
export interface LayoutWait {
  readonly numOps: number;
  readonly numPlaced: number;
}

/** Null while nothing has to be waited for long. */
export const layoutWait = signal<LayoutWait | null>(null);
export const layoutFailure = signal<string | null>(null);

/** The upper limit of the colour scale that somebody chose; null follows the boxes on screen. */
export const fixedLimit = signal<number | null>(null);

/** Backward, time is the backward pass's. */
export const shownMetric = computed(() => {
  const isBackward = store.flow.value === "backward";
  return isBackward && store.metric.value === "forward_time" ? "backward_time" : store.metric.value;
});

/** The tree of the picture on screen: the store's, or for a moment still the one before. */
const shownTree = computed(() => scene.value?.hierarchy ?? null);

export const measure = computed(() => {
  const tree = shownTree.value;
  return tree === null ? null : measureBy(shownMetric.value, tree, store.figures.value);
});

export const scale = computed(() => {
  const [tree, shown, by] = [shownTree.value, scene.value, measure.value];
  const values: (number | null)[] = [];
  if (tree !== null && shown !== null && by !== null) {
    for (const box of shown.boxes.values()) {
      const node = tree.nodes.get(box.key);
      if (!box.isOpen && node !== undefined) values.push(by(node));
    }
  }
  return scaleOf(shownMetric.value, values, fixedLimit.value);
});

/** The types with a colour of their own, when nodes are coloured by type. */
export const types = computed(() => {
  const tree = shownTree.value;
  return tree === null || shownMetric.value !== "type" ? null : commonTypes(tree);
});

export const highlight = computed(() => {
  const tree = shownTree.value;
  if (tree === null) return null;
  const key = store.selected.value;
  return new Highlight(tree, key !== null && tree.nodes.has(key) ? key : null);
});

/** What was found, as the boxes on screen that hold it. */
export const shownHits = computed(() => {
  const [tree, open] = [shownTree.value, store.openGroups.value];
  if (tree === null) return new Set<string>();
  return new Set([...store.searchHits.value].map((key) => shownAs(tree, key, open)));
});

/** How many ops are inside closed groups. */
export const numHidden = computed(() => {
  let count = 0;
  for (const box of scene.value?.boxes.values() ?? []) {
    const node = shownTree.value?.nodes.get(box.key);
    if (!box.isOpen && node?.kind === "group") count += node.numOps;
  }
  return count;
});

/** The edges between the boxes on screen, for the arrow keys. */
export const shownEdges = computed(() => {
  const tree = shownTree.value;
  return tree === null ? [] : lifted(tree, store.openGroups.value);
});

/** Make an effect run again when any of these changes. */
export function watch(...signals: readonly ReadonlySignal<unknown>[]): void {
  signals.forEach((one) => one.value);
}
