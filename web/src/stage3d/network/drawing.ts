/** The drawing as a whole: what it shows, where from, and when it is drawn again. */
import type { MapName, PointedPlace, UnitPlace } from "../../data/network/store";
import { namePixels } from "./arrangement";
import {
  type Camera,
  eyeOf,
  fitted,
  type Margins,
  plus,
  project,
  rayThrough,
  type ScreenPlace,
  type Size,
  startCamera,
  times,
  type Vector,
  viewMatrix,
} from "./camera";
import { cssColour, type Inks, readInks, readRamp } from "./colours";
import { startFlatPainter } from "./flat-painter";
import { type Content, type Picture, pictureOf, unitHeight, unitPlace } from "./frame";
import { startGlPainter } from "./gl-painter";
import type { PaintedPlate, Painter } from "./painter";
import { type Hit, pick, unitOf } from "./picking";
import { type Label, labelsOf, placeLabels } from "./plate-labels";
import { cellOfUnit, inSpace, onPlate, placesOf, type Plate } from "./plates";

const REST_MS = 140;
/** Of values: whoever goes from moment to moment does not press a key more often. */
const VALUES_REST_MS = 350;
/** Of pixels of the screen to those of the page: finer ones cost more than they show. */
const MOST_RATIO = 2;
/** A card that takes longer for a frame draws plates flat while something moves. */
const SLOW_MS = 60;

export class Drawing {
  /** Told after each frame that is drawn; a video takes it. */
  onPainted: (() => void) | null = null;
  /** Told when the camera has come to rest. */
  onRest: (camera: Camera) => void = () => undefined;
  /** Do no tools stand over it? */
  isBare = false;
  hovered: PointedPlace | null = null;
  readonly #overlay: HTMLCanvasElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #painter: Painter;
  #camera: Camera = startCamera(false);
  #content: Content | null = null;
  #inks: Inks = readInks();
  #ramp: Uint8ClampedArray = new Uint8ClampedArray(1024);
  #size: Size = { width: 1, height: 1 };
  #ratio = 1;
  #picture: Picture | null = null;
  #uploaded = new Map<string, Uint16Array>();
  #frame = 0;
  #movesUntil = -Infinity;
  #rest: ReturnType<typeof setTimeout> | undefined;
  #fullMs = 0;
  #hasMoved = false;
  #theme = "";

  /** Throws where nothing can be drawn: not at all, or not on a canvas that WebGL has tried. `isPlain`: without WebGL. */
  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, isPlain: boolean) {
    this.#canvas = canvas;
    this.#overlay = overlay;
    const painter = (isPlain ? null : startGlPainter(canvas)) ?? startFlatPainter(canvas);
    if (painter === null) throw new Error("Nothing can be drawn on this canvas.");
    this.#painter = painter;
  }

  get painterName(): string {
    return this.#painter.name;
  }

  /** Without WebGL there is only the flat view. */
  get isDeep(): boolean {
    return this.#painter.isDeep;
  }

  get camera(): Camera {
    return this.#camera;
  }

  /** Somebody chose where it is seen from; else it fits itself. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  get size(): Size {
    return this.#size;
  }

  get canvases(): readonly [HTMLCanvasElement, HTMLCanvasElement] {
    return [this.#canvas, this.#overlay];
  }

  get canvasColour(): Inks["canvas"] {
    return this.#inks.canvas;
  }

  /** The colours of the theme are new with each tick. */
  readTheme(tick: number, map: MapName): void {
    const theme = `${tick} ${map}`;
    if (theme === this.#theme) return;
    this.#theme = theme;
    this.#inks = readInks();
    this.#ramp = readRamp(map);
    this.#painter.setRamp(this.#ramp);
    this.draw();
  }

  resize(width: number, height: number): void {
    const ratio = Math.min(MOST_RATIO, devicePixelRatio || 1);
    if (width === this.#size.width && height === this.#size.height && ratio === this.#ratio) return;
    this.#size = { width, height };
    this.#ratio = ratio;
    for (const canvas of this.canvases) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    // Nobody has turned it yet: it stays whole.
    if (!this.#hasMoved) this.#camera = this.fittedCamera(true);
    this.#paint();
  }

  setContent(content: Content): void {
    const before = this.#content;
    this.#content = content;
    this.#upload(content);
    if (before?.plates !== content.plates) {
      if (!this.#hasMoved) this.#camera = this.fittedCamera(true);
    }
    // On a slow card, values that follow each other quickly are a movement too.
    if (before?.values !== content.values && this.#fullMs > SLOW_MS) this.#stir(VALUES_REST_MS);
    this.draw();
  }

  /** Only what is new goes to the card. */
  #upload({ plates, values }: Content): void {
    const shown = new Set(plates.map((plate) => plate.layer.name));
    for (const name of [...this.#uploaded.keys()]) {
      if (shown.has(name) && values.has(name)) continue;
      this.#painter.setLevels(name, null);
      this.#uploaded.delete(name);
    }
    for (const [name, { levels }] of values) {
      if (!shown.has(name) || this.#uploaded.get(name) === levels) continue;
      this.#painter.setLevels(name, levels);
      this.#uploaded.set(name, levels);
    }
  }

  /** By hand, or to a place that was asked for. */
  look(camera: Camera): void {
    this.#camera = camera;
    this.#hasMoved = true;
    this.#stir();
    this.draw();
  }

  /** All of it, from the side from which it is seen now; `isFresh`: from that of the start. */
  fittedCamera(isFresh = false): Camera {
    return wholeView(this.#camera, this.#content?.plates ?? [], this.#size, isFresh, this.isBare);
  }

  /** It fits itself again whenever something changes, until somebody moves it. */
  release(): void {
    this.#hasMoved = false;
    // On the way to it the view may have become another.
    this.#camera = this.fittedCamera(true);
    this.draw();
  }

  setFlat(isFlat: boolean): void {
    if (this.#camera.isFlat === isFlat) return;
    this.#camera = startCamera(isFlat);
    this.#hasMoved = false;
    this.#camera = this.fittedCamera(true);
    this.draw();
  }

  #stir(wait = REST_MS): void {
    this.#movesUntil = performance.now() + wait * 0.9;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.draw();
      if (this.#hasMoved) this.onRest(this.#camera);
    }, wait);
  }

  /** Soon, once, however often it is asked for. */
  draw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  /** At once: for a file. */
  drawNow(): void {
    this.#movesUntil = -Infinity;
    this.#paint();
  }

  #paint(): void {
    if (this.#content === null) return;
    const isQuick = performance.now() < this.#movesUntil && this.#fullMs > SLOW_MS;
    const [camera, size, inks] = [this.#camera, this.#size, this.#inks];
    this.#picture = pictureOf(this.#content, camera, size, inks, this.#ramp, isQuick);
    this.#painter.paint({
      camera,
      matrix: viewMatrix(camera, size, this.#content.reach),
      size,
      ratio: this.#ratio,
      inks,
      fading: this.#content.look.fading,
      isQuick,
      isOfUnit: this.#content.isOfUnit,
      plates: this.#picture.plates,
      linesAfter: this.#picture.linesAfter,
    });
    if (!isQuick) this.#painter.measure((milliseconds) => (this.#fullMs = milliseconds));
    this.#drawOverlay();
    this.onPainted?.();
  }

  /** Names and outlines alone: nothing below them has changed. */
  drawAbove(): void {
    if (this.#frame === 0) this.#drawOverlay();
  }

  #drawOverlay(): void {
    const [camera, size] = [this.#camera, this.#size];
    drawOverlay(this.#overlay, {
      size,
      ratio: this.#ratio,
      inks: this.#inks,
      isFlat: camera.isFlat,
      labels: labelsOf(this.#picture?.plates ?? [], camera, size, [this.hovered?.layer, this.#content?.selected?.layer]),
      selected: this.#outline(this.#content?.selected ?? null),
      hovered: this.#outline(this.hovered),
    });
  }

  #outline(place: PointedPlace | null): Outline | null {
    const painted = this.#paintedOf(place);
    return painted === null || place === null ? null : outlineOf(painted, place, this.#camera, this.#size);
  }

  #paintedOf(place: UnitPlace | null): PaintedPlate | null {
    return this.#picture?.plates.find((one) => one.plate.layer.name === place?.layer) ?? null;
  }

  hitAt(x: number, y: number): Hit | null {
    return pick(this.#picture?.plates ?? [], rayThrough(this.#camera, this.#size, x, y));
  }

  unitAt(x: number, y: number): PointedPlace | null {
    return unitOf(this.hitAt(x, y));
  }

  /** The place in space under a pixel: of what is drawn there, or at the depth of the target. */
  placeAt(x: number, y: number): Vector {
    const ray = rayThrough(this.#camera, this.#size, x, y);
    const hit = this.#camera.isFlat ? null : this.hitAt(x, y);
    return plus(ray.origin, times(ray.direction, hit?.at ?? 1));
  }

  /** Where a unit is seen; null where it is not in the picture. */
  placeOnScreen(place: PointedPlace): ScreenPlace | null {
    const painted = this.#paintedOf(place);
    return painted === null ? null : project(this.#camera, this.#size, unitPlace(painted, place.unit, true, place.moment));
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#rest);
    this.#painter.dispose();
  }
}

// --- From where all is seen: the sides of the view that stay free, and the side from which one looks at
//   first.

/** On the left stand names: as much as they want, up to a share of the view. */
const MARGINS: Margins = { left: 56, right: 40, top: 56, bottom: 28 };
const FLAT_MARGINS: Margins = { left: 24, right: 24, top: 72, bottom: 20 };
/** Where no tools stand over the drawing. */
const BARE_TOP = 16;
/** In a narrow window the tools at the top take two lines. In pixels, both. */
const NARROW = 720;
const SECOND_LINE = 36;
const MOST_NAMES = 0.2;

/** With all plates in view, from the same side; `isFresh`: from that of the start. `isBare`: without tools over it. */
function wholeView(camera: Camera, plates: readonly Plate[], size: Size, isFresh: boolean, isBare = false): Camera {
  const { isFlat } = camera;
  const places = plates.flatMap(placesOf);
  const from = isFresh ? startCamera(isFlat, isWide(places)) : camera;
  const margins = isFlat ? FLAT_MARGINS : MARGINS;
  const top = isBare ? BARE_TOP : margins.top + (size.width < NARROW ? SECOND_LINE : 0);
  const names = Math.max(0, ...plates.map(({ layer }) => namePixels(layer)));
  const left = isFlat ? margins.left : Math.max(margins.left, Math.min(names, MOST_NAMES * size.width));
  return fitted(from, places, size, { ...margins, top, left });
}

function isWide(places: readonly Vector[]): boolean {
  const extent = (axis: 0 | 1): number => {
    const all = places.map((place) => place[axis]);
    return Math.max(...all) - Math.min(...all);
  };
  return extent(0) > extent(1);
}

// --- The outline of a unit on screen: of its cell where it lies flat, of the faces towards the eye where it
//   rises.

/** Null where it is behind the eye. */
function outlineOf(painted: PaintedPlate, { unit, moment }: PointedPlace, camera: Camera, size: Size): Outline | null {
  const { plate, inset } = painted;
  const { column, row } = cellOfUnit(plate, unit, moment);
  const height = painted.isRaised ? unitHeight(painted.levels, painted.scaling, unit) : 0;
  const [left, right, back, front] = [column + inset, column + 1 - inset, row + inset, row + 1 - inset];
  const eye = onPlate(plate, eyeOf(camera));
  const side = eye[0] * 2 > left + right ? right : left;
  const face = eye[1] * 2 > back + front ? front : back;
  const top = [
    [left, back, height],
    [right, back, height],
    [right, front, height],
    [left, front, height],
  ] as const;
  const sides = [
    [
      [side, back, 0],
      [side, front, 0],
      [side, front, height],
      [side, back, height],
    ],
    [
      [left, face, 0],
      [right, face, 0],
      [right, face, height],
      [left, face, height],
    ],
  ] as const;
  const ways = (height > 0 ? [...sides, top] : [top]).map((way) =>
    way.map(([x, y, up]) => project(camera, size, inSpace(plate, x, y, up))),
  );
  return ways.every((way) => way.every((place) => place !== null)) ? ways : null;
}

// --- Above the picture: names of plates, the outline of the selected unit and of the one under the pointer.

/** The faces of a unit that can be seen, each as a way around it. */
type Outline = readonly (readonly ScreenPlace[])[];

interface OverlayFrame {
  readonly size: Size;
  readonly ratio: number;
  readonly inks: Inks;
  readonly isFlat: boolean;
  readonly labels: readonly Label[];
  readonly selected: Outline | null;
  readonly hovered: Outline | null;
}

/** A smaller unit has a mark of this size around it. */
const LEAST_MARK = 9;

function drawOverlay(canvas: HTMLCanvasElement, frame: OverlayFrame): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { ratio, size } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  drawLabels(context, frame, getComputedStyle(canvas).fontFamily);
  context.lineJoin = "round";
  if (frame.hovered !== null) drawOutline(context, frame.hovered, frame.inks, 1.25);
  if (frame.selected !== null) drawOutline(context, frame.selected, frame.inks, 2);
}

function drawLabels(context: CanvasRenderingContext2D, frame: OverlayFrame, family: string): void {
  const fonts = { name: `600 11px ${family}`, about: `400 11px ${family}` };
  context.font = fonts.name;
  const widthOf = (text: string): number => context.measureText(text).width;
  const write = (text: string, x: number, y: number, colour: string): void => {
    context.strokeStyle = cssColour(frame.inks.canvas);
    context.lineWidth = 3;
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  };
  context.lineJoin = "round";
  for (const label of placeLabels(frame.labels, widthOf, frame.isFlat, frame.size)) {
    context.textAlign = label.isStart ? "left" : "right";
    context.font = fonts.name;
    write(label.name, label.x, label.y, cssColour(frame.inks.text));
    const after = label.isStart ? context.measureText(label.name).width + 6 : 0;
    context.font = fonts.about;
    const y = label.isStart ? label.y : label.y + 14;
    if (label.about !== "") write(label.about, label.x + after, y, cssColour(frame.inks.faint));
  }
  context.textAlign = "left";
}

function drawOutline(context: CanvasRenderingContext2D, outline: Outline, inks: Inks, width: number): void {
  const places = outline.flat();
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const isSmall = right - left < LEAST_MARK && bottom - top < LEAST_MARK;
  context.beginPath();
  if (isSmall) {
    const half = LEAST_MARK / 2;
    context.rect((left + right) / 2 - half, (top + bottom) / 2 - half, LEAST_MARK, LEAST_MARK);
  }
  for (const face of isSmall ? [] : outline) {
    for (const [at, { x, y }] of face.entries()) {
      if (at === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.closePath();
  }
  // A halo, so that the ink is seen on every colour.
  context.strokeStyle = cssColour(inks.surface);
  context.lineWidth = width + 2;
  context.globalAlpha = 0.85;
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = cssColour(inks.text);
  context.lineWidth = width;
  context.stroke();
}
