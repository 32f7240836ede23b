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
} from "../camera";
import { OrbitDrawing } from "../orbit-drawing";
import { namePixels } from "./arrangement";
import { fitted, onTheWay, startCamera } from "./camera";
import { cssColour, type Inks, readInks, readRamp } from "./colours";
import { type Content, type Frame, frameOf, type PaintedPlate, unitHeight, unitPlace } from "./frame";
import { glPainter } from "./gl-painter";
import { type Hit, pick, unitOf } from "./picking";
import { around, labelsOf, placeLabels } from "./plate-labels";
import { cellOfUnit, inSpace, onPlate, placesOf, type Plate } from "./plates";

/** Of values: whoever goes from moment to moment does not press a key more often. */
const VALUES_REST_MS = 350;
/** A card that takes longer for a frame draws plates flat while something moves. */
const SLOW_MS = 60;
/** So long the camera is on the way to a place that was asked for. */
const GLIDE_MS = 280;

export class Drawing extends OrbitDrawing {
  /** Told after each frame that is drawn; a video takes it. */
  onPainted: (() => void) | null = null;
  hovered: PointedPlace | null = null;
  /** Somebody chose where it is seen from; else it fits itself. */
  hasMoved = false;
  readonly #isBare: boolean;
  readonly #painter: ReturnType<typeof glPainter>;
  #content: Content | null = null;
  #inks: Inks = readInks();
  #ramp: Uint8ClampedArray = new Uint8ClampedArray(1024);
  #frame: Frame | null = null;
  #fullMs = 0;
  #theme = "";
  #glide = 0;

  /** Throws where the browser has no WebGL2. `isBare`: no tools stand over it. */
  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, isBare: boolean) {
    super(canvas, overlay, startCamera(false));
    this.#isBare = isBare;
    this.#painter = glPainter(canvas);
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
    this.#fitItself();
  }

  /** Nobody has turned it yet: it stays whole. */
  #fitItself(): void {
    if (!this.hasMoved) this.camera = this.fittedCamera(true);
  }

  setContent(content: Content): void {
    const before = this.#content;
    this.#content = content;
    this.#painter.levels.keep(content.values);
    if (before?.plates !== content.plates) this.#fitItself();
    // On a slow card, values that follow each other quickly are a movement too.
    if (before?.values !== content.values && this.#fullMs > SLOW_MS) this.stir(VALUES_REST_MS);
    this.draw();
  }

  override look(camera: Camera): void {
    this.hasMoved = true;
    super.look(camera);
  }

  /** To a camera that was asked for, or at once for those who want less motion. */
  glideTo(next: Camera, onThere: () => void = () => undefined): void {
    this.stopGliding();
    const from = this.camera;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches || from.isFlat !== next.isFlat;
    const start = performance.now();
    const step = (now: number): void => {
      const share = isStill ? 1 : Math.min(1, Math.max(0, now - start) / GLIDE_MS);
      this.look(share === 1 ? next : onTheWay(from, next, 1 - (1 - share) ** 3));
      if (share < 1) this.#glide = requestAnimationFrame(step);
      else onThere();
    };
    step(start);
  }

  /** A hand on the camera ends it. */
  stopGliding(): void {
    cancelAnimationFrame(this.#glide);
  }

  /** All of it, from the side from which it is seen now; `isFresh`: from that of the start. */
  fittedCamera(isFresh = false): Camera {
    return wholeView(this.camera, this.#content?.plates ?? [], this.size, isFresh, this.#isBare);
  }

  /** It fits itself again whenever something changes, until somebody moves it. */
  release(): void {
    this.hasMoved = false;
    // On the way to it the view may have become another.
    this.#fitItself();
    this.draw();
  }

  setFlat(isFlat: boolean): void {
    if (this.camera.isFlat === isFlat) return;
    this.camera = startCamera(isFlat);
    this.release();
  }

  protected override paint(): void {
    if (this.#content === null) return;
    const isQuick = this.isMoving && this.#fullMs > SLOW_MS;
    const { camera, size, ratio } = this;
    this.#frame = frameOf(this.#content, { camera, size, ratio, inks: this.#inks, isQuick }, this.#ramp);
    this.#painter.paint(this.#frame);
    if (!isQuick) this.#painter.measure((milliseconds) => (this.#fullMs = milliseconds));
    this.#drawOverlay();
    this.onPainted?.();
  }

  /** Names and outlines alone: nothing below them has changed. */
  drawAbove(): void {
    if (!this.isToBeDrawn) this.#drawOverlay();
  }

  #drawOverlay(): void {
    const canvas = this.canvases[1];
    const context = canvas.getContext("2d");
    if (context === null) return;
    const { ratio, size } = this;
    const selected = this.#content?.selected ?? null;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    context.lineJoin = "round";
    this.#drawLabels(context, getComputedStyle(canvas).fontFamily, [this.hovered?.layer, selected?.layer]);
    this.#drawOutline(context, this.hovered, 1.25);
    this.#drawOutline(context, selected, 2);
  }

  /** `first`: layers that are named whatever else is. */
  #drawLabels(context: CanvasRenderingContext2D, family: string, first: readonly (string | undefined)[]): void {
    const { camera, size } = this;
    const { canvas, text: ink, faint } = this.#inks;
    const fonts = { name: `600 11px ${family}`, about: `400 11px ${family}` };
    context.font = fonts.name;
    const widthOf = (text: string): number => context.measureText(text).width;
    const write = (text: string, x: number, y: number, colour: string): void => {
      context.strokeStyle = cssColour(canvas);
      context.lineWidth = 3;
      context.strokeText(text, x, y);
      context.fillStyle = colour;
      context.fillText(text, x, y);
    };
    for (const label of placeLabels(labelsOf(this.#frame?.plates ?? [], camera, size, first), widthOf, camera.isFlat, size)) {
      context.textAlign = label.isStart ? "left" : "right";
      context.font = fonts.name;
      write(label.name, label.x, label.y, cssColour(ink));
      const after = label.isStart ? widthOf(label.name) + 6 : 0;
      context.font = fonts.about;
      const y = label.isStart ? label.y : label.y + 14;
      if (label.about !== "") write(label.about, label.x + after, y, cssColour(faint));
    }
    context.textAlign = "left";
  }

  #drawOutline(context: CanvasRenderingContext2D, place: PointedPlace | null, width: number): void {
    const painted = this.#paintedOf(place);
    const faces = painted === null || place === null ? null : facesOf(painted, place, this.camera, this.size);
    if (faces === null) return;
    traceOutline(context, faces);
    // A halo, so that the ink is seen on every colour.
    context.strokeStyle = cssColour(this.#inks.surface);
    context.lineWidth = width + 2;
    context.globalAlpha = 0.85;
    context.stroke();
    context.globalAlpha = 1;
    context.strokeStyle = cssColour(this.#inks.text);
    context.lineWidth = width;
    context.stroke();
  }

  #paintedOf(place: UnitPlace | null): PaintedPlate | null {
    return this.#frame?.plates.find((one) => one.plate.layer.name === place?.layer) ?? null;
  }

  hitAt(x: number, y: number): Hit | null {
    return pick(this.#frame?.plates ?? [], rayThrough(this.camera, this.size, x, y));
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
    this.stopGliding();
    this.#painter.dispose();
  }
}

/** On the left stand names: as much as they want, up to a share of the view. */
const MARGINS = { left: 56, right: 40, top: 56, bottom: 28 };
const FLAT_MARGINS = { left: 24, right: 24, top: 72, bottom: 20 };
/** Where no tools stand over the drawing. */
const BARE_TOP = 16;
/** In a narrow window the tools at the top take two lines. In pixels, both. */
const NARROW = 720;
const SECOND_LINE = 36;
const MOST_NAMES = 0.2;

/** With all plates in view, from the same side; `isFresh`: from that of the start. */
function wholeView(camera: Camera, plates: readonly Plate[], size: Size, isFresh: boolean, isBare: boolean): Camera {
  const { isFlat } = camera;
  const places = plates.flatMap(placesOf);
  const from = isFresh ? startCamera(isFlat, extentOf(places, 0) > extentOf(places, 1)) : camera;
  const margins = isFlat ? FLAT_MARGINS : MARGINS;
  const top = isBare ? BARE_TOP : margins.top + (size.width < NARROW ? SECOND_LINE : 0);
  const names = Math.max(0, ...plates.map(({ layer }) => namePixels(layer)));
  const left = isFlat ? margins.left : Math.max(margins.left, Math.min(names, MOST_NAMES * size.width));
  return fitted(from, places, size, { ...margins, top, left });
}

function extentOf(places: readonly Vector[], axis: 0 | 1): number {
  const all = places.map((place) => place[axis]);
  return Math.max(...all) - Math.min(...all);
}

/** Each as a way around it. */
type Faces = readonly (readonly ScreenPlace[])[];

/** A smaller unit has a mark of this size around it. */
const LEAST_MARK = 9;

/** Null where it is behind the eye. */
function facesOf(painted: PaintedPlate, { unit, moment }: PointedPlace, camera: Camera, size: Size): Faces | null {
  const { plate, inset, levels, scaling, isRaised } = painted;
  const { column, row } = cellOfUnit(plate, unit, moment);
  const height = isRaised ? unitHeight(levels, scaling, unit) : 0;
  const [left, right, back, front] = [column + inset, column + 1 - inset, row + inset, row + 1 - inset];
  const eye = onPlate(plate, eyeOf(camera));
  const side = eye[0] * 2 > left + right ? right : left;
  const face = eye[1] * 2 > back + front ? front : back;
  const at = (x: number, y: number, up: number): ScreenPlace | null => project(camera, size, inSpace(plate, x, y, up));
  const wall = (x: number, y: number, toX: number, toY: number) => [at(x, y, 0), at(toX, toY, 0), at(toX, toY, height), at(x, y, height)];
  const top = [at(left, back, height), at(right, back, height), at(right, front, height), at(left, front, height)];
  const faces = height > 0 ? [wall(side, back, side, front), wall(left, face, right, face), top] : [top];
  return faces.every((way) => way.every((place) => place !== null)) ? faces : null;
}

function traceOutline(context: CanvasRenderingContext2D, faces: Faces): void {
  const { left, right, top, bottom } = around(faces.flat());
  context.beginPath();
  if (right - left < LEAST_MARK && bottom - top < LEAST_MARK) {
    const half = LEAST_MARK / 2;
    context.rect((left + right) / 2 - half, (top + bottom) / 2 - half, LEAST_MARK, LEAST_MARK);
    return;
  }
  for (const face of faces) {
    context.moveTo(face[0]!.x, face[0]!.y);
    for (const { x, y } of face) context.lineTo(x, y);
    context.closePath();
  }
}
