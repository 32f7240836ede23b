/** The network in three dimensions: the drawing, names over it, and what is under the pointer. */
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { chosenUnit, layerOf } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { hoveredReading, pointedStep } from "../../data/network/unit-readings";
import { unitName } from "../../data/network/words";
import type { NetLayer } from "../../wire";
import { handleViewKey, OrbitCanvas, OrbitNotes, usePageKeys } from "../Orbit";
import { panned, type ScreenPlace, turned } from "../camera";
import { distance, Pointing } from "../pointing";
import type { Drawing } from "./drawing";
import { cellOf, plateSize, unitAt } from "./plates";
import { type Stage, stage, usedCamera, useStage } from "./stage";

interface Props {
  /** Cameras are saved under it. */
  runKey: string;
  /** Does it share its page with other things? Then it has no tools, and leaves keys to what has the focus. */
  isPart?: boolean;
}

export function NetStage({ runKey, isPart = false }: Props) {
  const orbit = useStage(runKey, isPart);
  const chosen = chosenUnit.value;
  const pointing = useMemo(() => new UnitPointing(() => orbit.drawing.current), []);
  usePageKeys((event) => {
    const control = stage.peek();
    return control !== null && !(isPart && isElsewhere(event.target)) && handlePageKey(control, event);
  });
  useEffect(() => {
    const onDoubleClick = (event: MouseEvent): void => pointing.doubleClick(event);
    addEventListener("dblclick", onDoubleClick);
    return () => removeEventListener("dblclick", onDoubleClick);
  }, []);
  return (
    <div class="net-stage">
      <OrbitCanvas
        orbit={orbit}
        pointing={pointing}
        label={summary()}
        onClick={(event) => pointing.click(event)}
        onKey={handleStageKey}
      />
      <StageTip />
      <div class="net-stage-notes" role="status">
        <OrbitNotes orbit={orbit} />
      </div>
      <p class="sr" role="status">
        {chosen !== null && `${unitName(chosen.layer, chosen.unit)} selected`}
      </p>
    </div>
  );
}

function summary(): string {
  const layers = store.shownLayers.value;
  const numUnits = layers.reduce((sum, layer) => sum + layer.grid.num_units, 0);
  const where = (store.isFlat.value ? "flat" : "in three dimensions") + (store.raster.value === null ? "" : ", over time");
  const what = `${formatNumberOf(layers.length, "layer")}, ${formatNumberOf(numUnits, "unit")}`;
  return `Network, variable ${store.variable.value}, ${where}: ${what}. Keys w a s d turn it, i j k l go from unit to unit, u and o from layer to layer.`;
}

function isElsewhere(target: EventTarget | null): boolean {
  return target !== document.body && target instanceof Element && target.closest(".net-stage") === null;
}

const CLEAR = 14;
/** Values of other variables: more would hide what is pointed at. */
const MOST_OTHERS = 6;

/** What is under the pointer: which unit, and its value. */
function StageTip() {
  const box = useRef<HTMLDivElement>(null);
  const place = store.hovered.value;
  const layer = layerOf(place?.layer);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || place === null) return;
    const at = stage.peek()?.drawing.placeOnScreen(place);
    const room = element.parentElement;
    element.hidden = at == null;
    if (at == null || room === null) return;
    const { offsetWidth: width, offsetHeight: height } = element;
    // Above the unit and to its right, unless that is outside.
    const left = at.x + CLEAR + width > room.clientWidth ? at.x - CLEAR - width : at.x + CLEAR;
    const top = at.y - CLEAR - height < 0 ? at.y + CLEAR : at.y - CLEAR - height;
    element.style.left = `${Math.max(0, left)}px`;
    element.style.top = `${Math.max(0, top)}px`;
  });
  if (place === null || layer === null) return null;
  // The one that is drawn stands above them.
  const others = hoveredReading.value?.values.filter(([name]) => name !== store.variable.value) ?? [];
  return (
    <div ref={box} class="net-tip" role="tooltip">
      <b>{nameOf(layer, place)}</b>
      <div>
        {store.variable.value} {exactWords(place, layer) ?? wordsOf(place, layer.grid)}
      </div>
      {others.slice(0, MOST_OTHERS).map(([name, text]) => (
        <span key={name} class="tip-value">
          {name} {text}
        </span>
      ))}
    </div>
  );
}

/** Where time runs along a plate, with the step. */
function nameOf(layer: NetLayer, { unit, moment }: store.PointedPlace): string {
  if (moment === undefined) return unitName(layer, unit);
  const name = unitName({ ...layer, grid: { ...layer.grid, is_colour: false } }, unit);
  return pointedStep.value === null ? name : `${name} at step ${formatCount(pointedStep.value)}`;
}

/** As it was recorded, once that has come. */
function exactWords({ moment }: store.PointedPlace, { grid }: NetLayer): string | undefined {
  // Over time each of the three numbers of a colour has a place of its own.
  if (moment !== undefined && grid.is_colour) return undefined;
  return hoveredReading.value?.values.find(([name]) => name === store.variable.value)?.[1];
}

/** As it is drawn: as exact as a level is. */
function wordsOf(place: store.PointedPlace, grid: NetLayer["grid"]): string {
  const raster = store.raster.value?.get(place.layer);
  const block = raster ?? store.values.value.get(place.layer);
  if (block === undefined) return "not here yet";
  if (block.levels.length === 0) return block.why || "not recorded";
  const numMoments = raster?.steps.length ?? 1;
  const from = (Math.min(place.moment ?? Infinity, numMoments - 1) * block.levels.length) / numMoments;
  const maps = grid.is_colour && raster === undefined ? [0, 1, 2] : [0];
  return maps
    .map((map) => store.valueOf(block, from + place.unit + map * grid.rows * grid.columns))
    .map((value) => (value === null ? "not there" : formatValue(value)))
    .join(", ");
}

/** The two of a double click: as long after each other, and as far apart, as a system may allow. */
const DOUBLE_MS = 900;
const DOUBLE_PIXELS = 10;

/** What the pointer does on the stage: turn, move, zoom, choose a unit, isolate a layer. */
class UnitPointing extends Pointing<Drawing> {
  /** What was under the last two presses, the older one first. */
  #pressed: readonly { readonly layer: string | null; readonly event: MouseEvent }[] = [];

  override down(event: PointerEvent): void {
    super.down(event);
    this.drawing()?.stopGliding();
    const layer = this.drawing()?.hitAt(event.offsetX, event.offsetY)?.plate.layer.name ?? null;
    this.#pressed = [...this.#pressed.slice(-1), { layer, event }];
  }

  protected override drags(drawing: Drawing, at: ScreenPlace, byX: number, byY: number): void {
    this.hover(drawing, null);
    super.drags(drawing, at, byX, byY);
  }

  protected override moved(): void {
    this.drawing()?.stopGliding();
    usedCamera.value = null;
  }

  protected override hover(drawing: Drawing, at: ScreenPlace | null): void {
    const [place, before] = [at === null ? null : drawing.unitAt(at.x, at.y), store.hovered.peek()];
    const isSame = before?.layer === place?.layer && before?.unit === place?.unit && before?.moment === place?.moment;
    if (!isSame) store.hovered.value = place;
  }

  click(event: MouseEvent): void {
    const drawing = this.drawing();
    // The second of two belongs to a double click, and what is below it may have moved.
    if (drawing === null || this.hasMoved || event.detail === 2) return;
    const at = drawing.unitAt(event.offsetX, event.offsetY);
    store.selected.value = at === null ? null : { layer: at.layer, unit: at.unit };
  }

  /**
   * Anywhere on the page, if it began on the stage: what the first click opens may make the stage smaller,
   * and the second one then falls on another plate or beside the stage.
   */
  doubleClick(event: MouseEvent): void {
    const isOne = (press: MouseEvent): boolean =>
      event.timeStamp - press.timeStamp < DOUBLE_MS && distance(onPage(press), onPage(event)) < DOUBLE_PIXELS;
    const first = this.#pressed.find((press) => isOne(press.event));
    this.#pressed = [];
    if (first !== undefined && !this.hasMoved) isolate(first.layer);
  }
}

/** The page stays where it is. */
function onPage(event: MouseEvent): ScreenPlace {
  return { x: event.clientX, y: event.clientY };
}

/** What a key event says, as far as it matters here. */
type Key = Pick<KeyboardEvent, "key" | "code" | "shiftKey">;

/** In pixels of a hand that drags it. */
const DIRECTIONS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  KeyW: [0, 24],
  KeyS: [0, -24],
  KeyA: [24, 0],
  KeyD: [-24, 0],
};
const NEIGHBOURS: Readonly<Record<string, readonly [columns: number, rows: number]>> = {
  i: [0, -1],
  k: [0, 1],
  j: [-1, 0],
  l: [1, 0],
};

/** Keys that hold anywhere on the page. True where one was taken. */
export function handlePageKey(control: Stage, { key, code, shiftKey }: Key): boolean {
  // By the place of the key: with Shift its sign is another on every keyboard.
  const slot = /^(?:Digit|Numpad)([1-4])$/.exec(code)?.[1];
  if (slot !== undefined) {
    if (shiftKey) control.saveCamera(Number(slot));
    else control.useCamera(Number(slot));
    return true;
  }
  if (key === "Escape") return clear();
  return handleViewKey(key, control);
}

/** First the selection, then the layer that is alone. */
function clear(): boolean {
  if (store.selected.peek() !== null) store.selected.value = null;
  else if (store.isolated.peek() !== null) store.isolated.value = null;
  else return false;
  return true;
}

function handleStageKey(drawing: Drawing, { key, code, shiftKey }: Key): boolean {
  const direction = DIRECTIONS[code];
  if (direction !== undefined) {
    const [x, y] = direction;
    const isPan = shiftKey || drawing.camera.isFlat;
    drawing.look(isPan ? panned(drawing.camera, x, y, drawing.size) : turned(drawing.camera, x, y));
    return true;
  }
  const by = NEIGHBOURS[key];
  if (by !== undefined) store.selected.value = neighbour(store.selected.peek(), ...by);
  else if (key === "o") store.selected.value = inLayer(store.selected.peek(), 1);
  else if (key === "u") store.selected.value = inLayer(store.selected.peek(), -1);
  else if (key === "Enter") isolate(store.selected.peek()?.layer ?? null);
  else return false;
  return true;
}

/** From one layer alone back to all. */
function isolate(layer: string | null): void {
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
