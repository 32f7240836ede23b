/** The drawing of a network tied to the page: it draws whatever the store says, and its cameras are kept for each run. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { isOfWeights } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { look } from "../../data/network/value-ranges";
import { recall, remember } from "../../data/remembered";
import * as page from "../../data/store";
import { type Orbit, useOrbit } from "../Orbit";
import { type Camera, within, zoomedTo } from "../camera";
import { arrange, type Rasters } from "./arrangement";
import { startCamera } from "./camera";
import { Drawing } from "./drawing";
import { type Content, strongest } from "./frame";
import { type Plate, reachOf } from "./plates";

export const stage = signal<Stage | null>(null);
/** The saved camera that is in use, until it is moved. */
export const usedCamera = signal<number | null>(null);
/** Of the run that is shown: those of the slots, and under 0 the last one it was looked at with. */
export const savedCameras = signal<ReadonlyMap<number, Camera>>(new Map());

export const SLOTS = [1, 2, 3, 4] as const;
const LAST = 0;

/** `isBare`: no tools stand over it, and it may fill all of its place. Cameras are saved under `runKey`. */
export function useStage(runKey: string, isBare: boolean): Orbit<Drawing> {
  const make = (canvas: HTMLCanvasElement, overlay: HTMLCanvasElement): Drawing => new Drawing(canvas, overlay, isBare);
  const begin = (drawing: Drawing): (() => void)[] => {
    stage.value = makeStage(drawing, `netview.cameras.${runKey}`);
    return [() => (stage.value = null), ...followStore(drawing)];
  };
  return useOrbit(make, begin, runKey);
}

export type Stage = ReturnType<typeof makeStage>;

function makeStage(drawing: Drawing, memory: string) {
  const keep = (slot: number, camera: Camera | null): void => {
    const next = new Map(savedCameras.peek());
    if (camera === null) next.delete(slot);
    else next.set(slot, camera);
    savedCameras.value = next;
    remember(memory, JSON.stringify(Object.fromEntries([...next].map(([one, its]) => [one, writeCamera(its)]))));
  };
  usedCamera.value = null;
  savedCameras.value = recallCameras(memory);
  const last = savedCameras.peek().get(LAST);
  // It was kept of the whole: a layer alone fits itself.
  if (last?.isFlat === store.isFlat.peek() && store.isolated.peek() === null) drawing.look(last);
  drawing.onRest = (camera) => {
    if (drawing.hasMoved && store.isolated.peek() === null) keep(LAST, camera);
  };
  return {
    drawing,
    fit(): void {
      usedCamera.value = null;
      keep(LAST, null);
      drawing.glideTo(drawing.fittedCamera(true), () => drawing.release());
    },
    zoomBy(factor: number): void {
      usedCamera.value = null;
      const { camera, size } = drawing;
      drawing.glideTo(zoomedTo(camera, factor, drawing.placeAt(size.width / 2, size.height / 2)));
    },
    /** Nothing happens where none was saved. */
    useCamera(slot: number): void {
      const camera = savedCameras.peek().get(slot);
      if (camera === undefined) return;
      store.isFlat.value = camera.isFlat;
      drawing.glideTo(camera, () => (usedCamera.value = slot));
    },
    saveCamera(slot: number): void {
      keep(slot, drawing.camera);
      usedCamera.value = slot;
    },
  };
}

function recallCameras(memory: string): ReadonlyMap<number, Camera> {
  let found: Record<string, unknown> | null = null;
  try {
    found = JSON.parse(recall(memory) ?? "null") as typeof found;
  } catch {
    // Somebody else's text: as if there were none.
  }
  const slots = [LAST, ...SLOTS].map((slot) => [slot, readCamera(found?.[slot])] as const);
  return new Map(slots.filter((one): one is readonly [number, Camera] => one[1] !== null));
}

export function writeCamera({ isFlat, yaw, pitch, distance, target }: Camera): readonly number[] {
  return [Number(isFlat), yaw, pitch, distance, ...target].map((part) => Number(part.toPrecision(8)));
}

export function readCamera(numbers: unknown): Camera | null {
  if (!Array.isArray(numbers) || numbers.length !== 7 || !numbers.every(Number.isFinite)) return null;
  const [isFlat, yaw, pitch, distance, ...target] = numbers as [number, number, number, number, number, number, number];
  const camera = startCamera(isFlat === 1);
  const { pitches, distances } = camera.lens;
  return { ...camera, yaw, pitch: within(pitch, pitches), distance: within(distance, distances), target };
}

// --- What the store says, drawn.

function followStore(drawing: Drawing): (() => void)[] {
  const rasters = computed<Rasters | null>(() => {
    const raster = store.raster.value;
    return raster === null ? null : new Map([...raster].map(([name, { steps }]) => [name, steps.length]));
  });
  const rasterKey = computed(() => [...(rasters.value ?? [])].join(" "));
  const plates = computed<readonly Plate[]>(() => {
    // Anew only where a number of moments has changed, not with all of their values.
    const isRaster = rasterKey.value !== "";
    const connections = store.scene.value?.connections ?? [];
    return arrange(store.shownLayers.value, connections, store.isFlat.value, isRaster ? untracked(() => rasters.value) : null);
  });
  const reach = computed(() => reachOf(plates.value));
  const values = computed(() => {
    const [names, all] = [new Set(plates.value.map(({ layer }) => layer.name)), store.raster.value ?? store.values.value];
    return new Map<string, store.PlateValues>([...all].filter(([name]) => names.has(name)));
  });
  const rays = computed(() => {
    const isWanted = isOfWeights.value && store.raster.value === null && store.hasRays.value && store.selected.value !== null;
    const shown = new Set(store.shownLayers.value.map(({ name }) => name));
    return isWanted ? strongest(store.values.value, (layer) => shown.has(layer)) : [];
  });
  const content = (): Content => ({
    plates: plates.value,
    reach: reach.value,
    connections: store.scene.value?.connections ?? [],
    values: values.value,
    look: look.value,
    hasHeight: store.hasHeight.value,
    fading: store.fading.value,
    variable: store.variable.value,
    isOfUnit: isOfWeights.value,
    selected: store.selected.value,
    rays: rays.value,
    hasArrows: store.hasArrows.value,
  });
  const showAlone = showingAlone(drawing);
  return [
    effect(() => drawing.setFlat(store.isFlat.value)),
    effect(() => drawing.readTheme(page.themeTick.value, look.value.map)),
    effect(() => {
      const [alone, next] = [store.isolated.value, content()];
      untracked(() => showAlone(alone, () => drawing.setContent(next)));
    }),
    effect(() => {
      drawing.hovered = store.hovered.value;
      drawing.drawAbove();
    }),
  ];
}

/**
 * A layer alone fills the view; afterwards all is seen as before: from where somebody had chosen to look,
 * or fitted as it was. The camera is kept before the plates change, since it may fit itself to them.
 */
function showingAlone(drawing: Drawing): (alone: string | null, show: () => void) => void {
  let chosen: Camera | null = null;
  let last = store.isolated.peek();
  return (alone, show) => {
    if (alone === last) {
      show();
      return;
    }
    if (last === null) chosen = drawing.hasMoved ? drawing.camera : null;
    last = alone;
    usedCamera.value = null;
    // Held, so that it goes from here to there and does not jump.
    drawing.look(drawing.camera);
    show();
    if (alone === null && chosen?.isFlat === drawing.camera.isFlat) drawing.glideTo(chosen);
    // From the side that somebody has chosen, or from that of the start: then it goes on fitting itself.
    else if (alone !== null && chosen !== null) drawing.glideTo(drawing.fittedCamera());
    else drawing.glideTo(drawing.fittedCamera(true), () => drawing.release());
  };
}
