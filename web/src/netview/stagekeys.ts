/** The keys of the stage: the camera anywhere on the page, the rest while the stage has the focus. */
import { panned, turned } from "./camera";
import type { Drawing } from "./drawing";
import { cellOf, plateSize, unitAt } from "./grids";
import type { StageControl } from "./stagecontrol";
import * as store from "./store";

/** What a key event says, as far as it matters here. */
export interface Key {
  readonly key: string;
  readonly code: string;
  readonly shiftKey: boolean;
}

const TURN = 24;
const DIRECTIONS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  KeyW: [0, 1],
  KeyS: [0, -1],
  KeyA: [1, 0],
  KeyD: [-1, 0],
};
const NEIGHBOURS: Readonly<Record<string, readonly [columns: number, rows: number]>> = {
  i: [0, -1],
  k: [0, 1],
  j: [-1, 0],
  l: [1, 0],
};

/** Keys that hold anywhere on the page. True where one was taken. */
export function handlePageKey(control: StageControl, { key, code, shiftKey }: Key): boolean {
  // By the place of the key: with Shift its sign is another on every keyboard.
  const slot = /^(?:Digit|Numpad)([1-4])$/.exec(code)?.[1];
  if (slot !== undefined) {
    if (shiftKey) control.saveCamera(Number(slot));
    else control.useCamera(Number(slot));
    return true;
  }
  if (key === "Escape") return clear();
  if (key === "0") control.fit();
  else if (key === "+" || key === "=") control.zoomBy(1.25);
  else if (key === "-" || key === "\u2212") control.zoomBy(0.8);
  else return false;
  return true;
}

/** First the selection, then the layer that is alone. */
function clear(): boolean {
  if (store.selected.peek() !== null) store.selected.value = null;
  else if (store.isolated.peek() !== null) store.isolated.value = null;
  else return false;
  return true;
}

/** Keys of the stage itself. */
export function handleStageKey(drawing: Drawing, { key, code, shiftKey }: Key): boolean {
  const direction = DIRECTIONS[code];
  if (direction !== undefined) {
    const [x, y] = [direction[0] * TURN, direction[1] * TURN];
    const isPan = shiftKey || drawing.camera.isFlat;
    drawing.look(isPan ? panned(drawing.camera, x, y, drawing.size) : turned(drawing.camera, x, y));
    return true;
  }
  const by = NEIGHBOURS[key];
  if (by !== undefined) store.selected.value = neighbour(store.selected.peek(), ...by);
  else if (key === "o") store.selected.value = inLayer(store.selected.peek(), 1);
  else if (key === "u") store.selected.value = inLayer(store.selected.peek(), -1);
  else if (key === "Enter") isolate();
  else return false;
  return true;
}

function isolate(): void {
  const layer = store.selected.peek()?.layer ?? null;
  store.isolated.value = store.isolated.peek() === null ? layer : null;
}

/** The next unit that way, over the gap between tiles; where there is none, the same. */
export function neighbour(from: store.UnitPlace | null, columns: number, rows: number): store.UnitPlace | null {
  const layer = store.shownLayers.peek().find(({ name }) => name === from?.layer);
  if (from === null || layer === undefined) return inLayer(null, 1);
  const size = plateSize(layer.grid);
  let { column, row } = cellOf(layer.grid, from.unit);
  for (;;) {
    column += columns;
    row += rows;
    if (column < 0 || row < 0 || column >= size.columns || row >= size.rows) return from;
    const unit = unitAt(layer.grid, { column, row });
    if (unit !== null) return { layer: from.layer, unit };
  }
}

/** The middle of a layer further on; at first of the first. */
function inLayer(from: store.UnitPlace | null, by: number): store.UnitPlace | null {
  const layers = store.shownLayers.peek();
  const now = layers.findIndex(({ name }) => name === from?.layer);
  const layer = layers[now < 0 ? 0 : Math.max(0, Math.min(layers.length - 1, now + by))];
  if (layer === undefined) return null;
  if (now >= 0 && layer.name === from?.layer) return from;
  const { columns, rows } = plateSize(layer.grid);
  const middle = unitAt(layer.grid, { column: Math.floor(columns / 2), row: Math.floor(rows / 2) });
  return { layer: layer.name, unit: middle ?? 0 };
}
