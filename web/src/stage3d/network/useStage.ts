/** Tie the drawing to the page: it draws whatever the store says. */
import { computed, effect, untracked } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import * as store from "../../data/network/store";
import { look } from "../../data/network/value-ranges";
import { weightVariable } from "../../data/network/words";
import * as page from "../../data/store";
import { type Orbit, useOrbit } from "../Orbit";
import { zoomedTo } from "../camera";
import { arrange, type Rasters } from "./arrangement";
import { Gliding } from "./camera";
import { Drawing } from "./drawing";
import { pictureOf, startVideo } from "./export";
import { type Content, strongest } from "./frame";
import { type Plate, reachOf } from "./plates";
import { LAST, recallCameras, rememberCameras, SLOTS, type Slots } from "./saved-cameras";
import { savedCameras, stage, type StageControl, usedCamera } from "./stage-control";

/** `isBare`: no tools stand over it, and it may fill all of its place. */
export function useStage(runKey: string, isBare = false): Orbit<Drawing> & { readonly gliding: Gliding } {
  const latest = useRef<Drawing>(null);
  const gliding = useMemo(() => new Gliding(() => latest.current), []);
  const begin = (made: Drawing): (() => void)[] => {
    made.isBare = isBare;
    latest.current = made;
    const cameras = new SavedCameras(runKey, made, gliding);
    stage.value = controlOf(made, gliding, cameras);
    const end = (): void => {
      stage.value = null;
      latest.current = null;
      gliding.stop();
    };
    return [end, ...followStore(made, gliding), cameras.follow()];
  };
  const orbit = useOrbit((canvas, overlay) => new Drawing(canvas, overlay), begin, runKey);
  return { ...orbit, gliding };
}

/** Saved by hand in four places, and the last one by itself. */
class SavedCameras {
  readonly #runKey: string;
  readonly #drawing: Drawing;
  readonly #gliding: Gliding;
  #slots: Slots;

  constructor(runKey: string, drawing: Drawing, gliding: Gliding) {
    this.#runKey = runKey;
    this.#drawing = drawing;
    this.#gliding = gliding;
    this.#slots = recallCameras(runKey);
    usedCamera.value = null;
    this.#tell();
    const last = this.#slots.get(LAST);
    // It was kept of the whole: a layer alone fits itself.
    if (last?.isFlat === store.isFlat.peek() && store.isolated.peek() === null) drawing.look(last);
  }

  follow(): () => void {
    this.#drawing.onRest = (camera) => {
      if (this.#drawing.hasMoved && store.isolated.peek() === null) this.#set(LAST, camera);
    };
    return () => (this.#drawing.onRest = () => undefined);
  }

  use(slot: number): void {
    const camera = this.#slots.get(slot);
    if (camera === undefined) return;
    store.isFlat.value = camera.isFlat;
    this.#gliding.to(camera, () => (usedCamera.value = slot));
  }

  save(slot: number): void {
    this.#set(slot, this.#drawing.camera);
    usedCamera.value = slot;
  }

  forgetLast(): void {
    this.#slots = new Map([...this.#slots].filter(([slot]) => slot !== LAST));
    rememberCameras(this.#runKey, this.#slots);
  }

  #set(slot: number, camera: Drawing["camera"]): void {
    this.#slots = new Map([...this.#slots, [slot, camera]]);
    rememberCameras(this.#runKey, this.#slots);
    this.#tell();
  }

  #tell(): void {
    savedCameras.value = new Set(SLOTS.filter((slot) => this.#slots.has(slot)));
  }
}

function controlOf(drawing: Drawing, gliding: Gliding, cameras: SavedCameras): StageControl {
  return {
    fit: () => {
      usedCamera.value = null;
      cameras.forgetLast();
      gliding.to(drawing.fittedCamera(true), () => drawing.release());
    },
    zoomBy: (factor) => {
      usedCamera.value = null;
      const { width, height } = drawing.size;
      gliding.to(zoomedTo(drawing.camera, factor, drawing.placeAt(width / 2, height / 2)));
    },
    useCamera: (slot) => cameras.use(slot),
    saveCamera: (slot) => cameras.save(slot),
    picture: () => pictureOf(drawing),
    startVideo: () => startVideo(drawing),
    placeOnScreen: (place) => drawing.placeOnScreen(place),
    unitAt: (x, y) => drawing.unitAt(x, y),
  };
}

function followStore(drawing: Drawing, gliding: Gliding): (() => void)[] {
  const rasters = computed<Rasters | null>(() => {
    const raster = store.raster.value;
    if (raster === null) return null;
    return new Map([...raster].map(([name, { steps }]) => [name, steps.length]));
  });
  const key = computed(() => [...(rasters.value ?? [])].join(" "));
  const plates = computed<readonly Plate[]>(() => {
    // Anew only where a number of moments has changed, not with all of their values.
    const isRaster = key.value !== "";
    const connections = store.scene.value?.connections ?? [];
    return arrange(store.shownLayers.value, connections, store.isFlat.value, isRaster ? untracked(() => rasters.value) : null);
  });
  const reach = computed(() => reachOf(plates.value));
  const values = computed(() => fullBlocks(plates.value, store.raster.value ?? store.values.value));
  const rays = computed(() => {
    const isWeights = weightVariable(store.variable.value) !== null && store.raster.value === null;
    if (!isWeights || !store.hasRays.value || store.selected.value === null) return [];
    const shown = new Set(store.shownLayers.value.map((layer) => layer.name));
    return strongest(store.values.value, (layer) => shown.has(layer));
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
    isOfUnit: weightVariable(store.variable.value) !== null,
    selected: store.selected.value,
    rays: rays.value,
    hasArrows: store.hasArrows.value,
  });
  const showAlone = showingAlone(drawing, gliding);
  return [
    effect(() => drawing.setFlat(store.isFlat.value)),
    effect(() => {
      drawing.readTheme(page.themeTick.value, look.value.map);
    }),
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
function showingAlone(drawing: Drawing, gliding: Gliding): (alone: string | null, show: () => void) => void {
  let chosen: Drawing["camera"] | null = null;
  let last: string | null = store.isolated.peek();
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
    if (alone === null && chosen?.isFlat === drawing.camera.isFlat) gliding.to(chosen);
    // From the side that somebody has chosen, or from that of the start: then it goes on fitting itself.
    else if (alone !== null && chosen !== null) gliding.to(drawing.fittedCamera());
    else gliding.to(drawing.fittedCamera(true), () => drawing.release());
  };
}

const padded = new WeakMap<Uint16Array, Uint16Array>();

/** A plate has a level for each of its cells: what is missing is not there. */
function fullBlocks(
  plates: readonly Plate[],
  values: ReadonlyMap<string, store.PlateValues>,
): ReadonlyMap<string, store.PlateValues> {
  const blocks = new Map<string, store.PlateValues>();
  for (const { layer, cells } of plates) {
    const block = values.get(layer.name);
    if (block === undefined) continue;
    const needed = cells.colourStride > 0 ? cells.colourStride * 3 : cells.count;
    const { levels } = block;
    if (levels.length === 0 || levels.length >= needed) {
      blocks.set(layer.name, block);
      continue;
    }
    let full = padded.get(levels);
    if (full?.length !== needed) {
      full = new Uint16Array(needed).fill(store.NOT_THERE);
      full.set(levels);
      padded.set(levels, full);
    }
    blocks.set(layer.name, { ...block, levels: full });
  }
  return blocks;
}
