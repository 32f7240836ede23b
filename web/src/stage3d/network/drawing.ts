/** The drawing as a whole: what it shows, where from, and when it is drawn again. */
import type { MapName, PointedPlace, UnitPlace } from "../../data/network/store";
import {
  type Camera,
  eyeOf,
  plus,
  project,
  rayThrough,
  type ScreenPlace,
  type Size,
  times,
  type Vector,
  viewMatrix,
} from "../camera";
import { OrbitDrawing } from "../orbit-drawing";
import { namePixels } from "./arrangement";
import { fitted, type Margins, startCamera } from "./camera";
import { cssColour, type Inks, readInks, readRamp } from "./colours";
import { type Content, type PaintedPlate, type Picture, pictureOf, unitHeight, unitPlace } from "./frame";
import { GlPainter } from "./gl-painter";
import { type Hit, pick, unitOf } from "./picking";
import { type Label, labelsOf, placeLabels } from "./plate-labels";
import { cellOfUnit, inSpace, onPlate, placesOf, type Plate } from "./plates";

/** Of values: whoever goes from moment to moment does not press a key more often. */
const VALUES_REST_MS = 350;
/** A card that takes longer for a frame draws plates flat while something moves. */
const SLOW_MS = 60;

export class Drawing extends OrbitDrawing {
  /** Told after each frame that is drawn; a video takes it. */
  onPainted: (() => void) | null = null;
  /** Do no tools stand over it? */
  isBare = false;
  hovered: PointedPlace | null = null;
  readonly #painter: GlPainter;
  #content: Content | null = null;
  #inks: Inks = readInks();
  #ramp: Uint8ClampedArray = new Uint8ClampedArray(1024);
  #picture: Picture | null = null;
  #uploaded = new Map<string, Uint16Array>();
  #fullMs = 0;
  #hasMoved = false;
  #theme = "";

  /** Throws where the browser has no WebGL2. */
  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement) {
    super(canvas, overlay, startCamera(false));
    this.#painter = new GlPainter(canvas);
  }

  /** Somebody chose where it is seen from; else it fits itself. */
  get hasMoved(): boolean {
    return this.#hasMoved;
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

  protected override resized(): void {
    // Nobody has turned it yet: it stays whole.
    if (!this.#hasMoved) this.camera = this.fittedCamera(true);
  }

  setContent(content: Content): void {
    const before = this.#content;
    this.#content = content;
    this.#upload(content);
    if (before?.plates !== content.plates) {
      if (!this.#hasMoved) this.camera = this.fittedCamera(true);
    }
    // On a slow card, values that follow each other quickly are a movement too.
    if (before?.values !== content.values && this.#fullMs > SLOW_MS) this.stir(VALUES_REST_MS);
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

  override look(camera: Camera): void {
    this.#hasMoved = true;
    super.look(camera);
  }

  /** All of it, from the side from which it is seen now; `isFresh`: from that of the start. */
  fittedCamera(isFresh = false): Camera {
    return wholeView(this.camera, this.#content?.plates ?? [], this.size, isFresh, this.isBare);
  }

  /** It fits itself again whenever something changes, until somebody moves it. */
  release(): void {
    this.#hasMoved = false;
    // On the way to it the view may have become another.
    this.camera = this.fittedCamera(true);
    this.draw();
  }

  setFlat(isFlat: boolean): void {
    if (this.camera.isFlat === isFlat) return;
    this.camera = startCamera(isFlat);
    this.#hasMoved = false;
    this.camera = this.fittedCamera(true);
    this.draw();
  }

  protected override paint(): void {
    if (this.#content === null) return;
    const isQuick = this.isMoving && this.#fullMs > SLOW_MS;
    const [camera, size, inks] = [this.camera, this.size, this.#inks];
    this.#picture = pictureOf(this.#content, camera, size, inks, this.#ramp, isQuick);
    this.#painter.paint({
      camera,
      matrix: viewMatrix(camera, size, this.#content.reach),
      size,
      ratio: this.ratio,
      inks,
      fading: this.#content.fading,
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
    if (!this.isToBeDrawn) this.#drawOverlay();
  }

  #drawOverlay(): void {
    const [camera, size] = [this.camera, this.size];
    drawOverlay(this.canvases[1], {
      size,
      ratio: this.ratio,
      inks: this.#inks,
      isFlat: camera.isFlat,
      labels: labelsOf(this.#picture?.plates ?? [], camera, size, [this.hovered?.layer, this.#content?.selected?.layer]),
      selected: this.#outline(this.#content?.selected ?? null),
      hovered: this.#outline(this.hovered),
    });
  }

  #outline(place: PointedPlace | null): Outline | null {
    const painted = this.#paintedOf(place);
    return painted === null || place === null ? null : outlineOf(painted, place, this.camera, this.size);
  }

  #paintedOf(place: UnitPlace | null): PaintedPlate | null {
    return this.#picture?.plates.find((one) => one.plate.layer.name === place?.layer) ?? null;
  }

  hitAt(x: number, y: number): Hit | null {
    return pick(this.#picture?.plates ?? [], rayThrough(this.camera, this.size, x, y));
  }

  unitAt(x: number, y: number): PointedPlace | null {
    return unitOf(this.hitAt(x, y));
  }

  /** Of what is drawn there, or at the depth of the target. */
  override placeAt(x: number, y: number): Vector {
    const ray = rayThrough(this.camera, this.size, x, y);
    const hit = this.camera.isFlat ? null : this.hitAt(x, y);
    return plus(ray.origin, times(ray.direction, hit?.at ?? 1));
  }

  /** Where a unit is seen; null where it is not in the picture. */
  placeOnScreen(place: PointedPlace): ScreenPlace | null {
    const painted = this.#paintedOf(place);
    return painted === null ? null : project(this.camera, this.size, unitPlace(painted, place.unit, true, place.moment));
  }

  override dispose(): void {
    super.dispose();
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
