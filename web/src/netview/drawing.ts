/** The drawing as a whole: what it shows, where from, and when it is drawn again. */
import { project, rayThrough, startCamera, viewMatrix, type Camera, type ScreenPlace, type Size } from "./camera";
import { readInks, readRamp, type Inks } from "./colours";
import { wholeView } from "./fitting";
import { labelsOf } from "./labels";
import { outlineOf } from "./outlines";
import { drawOverlay, type Outline } from "./overlay";
import type { PaintedPlate, Painter } from "./painter";
import { startFlatPainter } from "./painterflat";
import { startGlPainter } from "./paintergl";
import { pick, unitOf, type Hit } from "./picking";
import { pictureOf, unitPlace, type Content, type Picture } from "./picturing";
import type { MapName, PointedPlace, UnitPlace } from "./store";
import { plus, times, type Vector } from "./vectors";

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
