/** What only the drawing needs to know: its camera, its layout, its colours and what is lit up. */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import * as store from "../../../data/store";
import type { Camera, Size } from "../../../ui/pan-zoom";
import { commonTypes, measureBy, scaleOf } from "./box-figures";
import { Highlight } from "./highlight";
import { palette } from "./pen";
import type { Scene } from "./scene";

export const camera = signal<Camera>({ x: 0, y: 0, scale: 1 });
export const viewSize = signal<Size>({ width: 0, height: 0 });
export const scene = signal<Scene | null>(null);

export const isPointerOver = signal(false);

/** A layout that is being made: how many ops it will show, and how many of them are placed. Null where none takes long. */
export const layoutWait = signal<{ readonly numOps: number; readonly numPlaced: number } | null>(null);
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

const closedNodes = computed(() => {
  const [tree, boxes] = [shownTree.value, [...(scene.value?.boxes.values() ?? [])]];
  return boxes.filter((box) => !box.isOpen).map(({ key }) => tree!.nodes.get(key)!);
});

export const scale = computed(() => {
  const by = measure.value;
  return scaleOf(shownMetric.value, by === null ? [] : closedNodes.value.map(by), fixedLimit.value);
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
const shownHits = computed(() => {
  const all = scene.value;
  return new Set(all === null ? [] : [...store.searchHits.value].flatMap((key) => all.boxFor(key)?.key ?? []));
});

export const numHidden = computed(() =>
  closedNodes.value.reduce((count, node) => count + (node.kind === "group" ? node.numOps : 0), 0),
);

export const picture = computed(() => {
  const [all, lit] = [scene.value, highlight.value];
  if (all === null || lit === null) return null;
  return {
    scene: all,
    hierarchy: all.hierarchy,
    camera: camera.value,
    view: viewSize.value,
    palette: palette.value,
    highlight: lit,
    hovered: store.hovered.value,
    hits: shownHits.value,
    measure: measure.value,
    scale: scale.value,
    /** Those that have a colour of their own, when nodes are coloured by type. */
    types: types.value,
    isBackward: store.flow.value === "backward",
    showBuffers: store.showBuffers.value,
  };
});

/** Make an effect run again when any of these changes. */
export function watch(...signals: readonly ReadonlySignal<unknown>[]): void {
  signals.forEach((one) => one.value);
}

/** Paint at the next frame, and at the frame after each change of these; call what it returns to stop. */
export function paintOnChange(signals: readonly ReadonlySignal<unknown>[], paint: () => void): () => void {
  let waiting = 0;
  const repaint = (): void => {
    waiting = 0;
    paint();
  };
  const stop = effect(() => {
    watch(...signals);
    if (waiting === 0) waiting = requestAnimationFrame(repaint);
  });
  return () => {
    stop();
    cancelAnimationFrame(waiting);
  };
}
