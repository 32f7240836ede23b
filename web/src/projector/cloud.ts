/** The drawing: a camera, a painter, an overlay for text and outlines, and frames only when something changed. */
import { distanceOf, projectAll, startCamera, viewMatrix, type Camera, type Size } from "./camera";
import { readInks, type Inks } from "./colouring";
import { startFlatPainter } from "./flatpainter";
import { startGlPainter } from "./glpainter";
import type { Label } from "./labelling";
import { drawOverlay, type OverlayFrame } from "./overlay";
import type { Painter, SpriteImage } from "./painter";
import { Pace } from "./pace";
import { ScreenIndex, type Place } from "./picking";
import { spread } from "./spreading";

/** Text for what is on screen: asked anew for each frame. */
export interface Wording {
  /** Of points that matter, wherever they are. */
  readonly strong: (screen: Float32Array) => readonly Label[];
  /** Of any points, when few are in view. */
  readonly near: (screen: Float32Array, inView: Int32Array) => readonly Label[];
  readonly axisNames: readonly string[];
}

export type SpriteMode = "auto" | "on" | "off";

const REST_MS = 120;
/** Labels of all points, when no more than these are in view. */
const FEW = 120;
const SPRITE = 26;

export class Cloud {
  camera: Camera = startCamera(3);
  wording: Wording | null = null;
  /** A box or line that is being drawn. */
  outline: readonly Place[] | null = null;
  spriteMode: SpriteMode = "auto";
  /** Told when the camera has come to rest. */
  onRest: (camera: Camera) => void = () => undefined;
  readonly #overlay: HTMLCanvasElement;
  readonly #canvas: HTMLCanvasElement;
  #painter: Painter;
  #inks: Inks = readInks();
  #size: Size = { width: 1, height: 1 };
  #places = new Float32Array(0);
  #shown = new Int32Array(0);
  #screen = new Float32Array(0);
  #index: ScreenIndex | null = null;
  #frame = 0;
  #themeTick = 0;
  #lastMove = 0;
  #rest: ReturnType<typeof setTimeout> | undefined;
  #hasSprites = false;
  readonly #pace = new Pace();

  /** Throws where nothing can be drawn at all. */
  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#overlay = overlay;
    const painter = startGlPainter(canvas) ?? startFlatPainter(canvas);
    if (painter === null) throw new Error("This browser can draw neither with WebGL nor on a canvas.");
    this.#painter = painter;
  }

  get painterName(): string {
    return this.#painter.name;
  }

  get inks(): Inks {
    return this.#inks;
  }

  get size(): Size {
    return this.#size;
  }

  /** The colours of the theme are new with each tick. */
  readTheme(tick: number): void {
    if (tick === this.#themeTick) return;
    this.#themeTick = tick;
    this.#inks = readInks();
    this.draw();
  }

  resize(width: number, height: number): void {
    this.#size = { width, height };
    const ratio = this.#ratio();
    for (const canvas of [this.#canvas, this.#overlay]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.#index = null;
    this.#paint();
  }

  setPlaces(places: Float32Array<ArrayBuffer>): void {
    this.#places = places;
    this.#screen = new Float32Array(places.length);
    this.#painter.setPlaces(places);
    this.#changed();
  }

  setColours(bytes: Uint8Array): void {
    this.#painter.setColours(bytes);
    this.draw();
  }

  setShown(points: Int32Array<ArrayBuffer>): void {
    this.#shown = points;
    this.#painter.setShown(spread(points));
    this.#changed();
  }

  setMarked(points: Int32Array): void {
    this.#painter.setMarked(points);
    this.draw();
  }

  setSprites(sprites: SpriteImage | null): string {
    const fault = this.#painter.setSprites(sprites);
    this.#hasSprites = sprites !== null && fault === "";
    this.draw();
    return fault;
  }

  look(camera: Camera): void {
    this.camera = camera;
    this.#lastMove = performance.now();
    this.#changed();
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.draw();
      this.onRest(this.camera);
    }, REST_MS);
  }

  #changed(): void {
    this.#index = null;
    this.draw();
  }

  /** Soon, once, however often it is asked for. */
  draw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  get index(): ScreenIndex {
    if (this.#index === null) {
      projectAll(this.#places, viewMatrix(this.camera, this.#size), this.#size, this.#screen);
      const shown = this.#screen.length === 0 ? new Int32Array(0) : this.#shown;
      this.#index = new ScreenIndex(this.#screen, shown, this.#size.width, this.#size.height);
    }
    return this.#index;
  }

  #ratio(): number {
    return Math.min(2, devicePixelRatio || 1);
  }

  /** Fewer points are drawn larger. */
  get pointSize(): number {
    const base = Math.max(2, Math.min(9, 14 - 2.3 * Math.log10(Math.max(10, this.#shown.length))));
    return base * Math.min(2.5, Math.max(0.7, this.camera.zoom ** 0.25));
  }

  get #withSprites(): boolean {
    if (!this.#hasSprites || this.spriteMode === "off") return false;
    if (this.spriteMode === "on") return true;
    // When they have room side by side.
    const { width, height } = this.#size;
    return this.index.numInView * SPRITE * SPRITE < 0.6 * width * height;
  }

  #paint(): void {
    const isResting = performance.now() - this.#lastMove > REST_MS * 0.9;
    const matrix = viewMatrix(this.camera, this.#size);
    const withSprites = this.#withSprites;
    this.#painter.paint({
      matrix,
      size: this.#size,
      ratio: this.#ratio(),
      pointSize: this.pointSize,
      distance: this.camera.dims === 3 ? distanceOf(this.camera) : 0,
      surface: this.#inks.surface,
      ink: this.#inks.text,
      withSprites,
      spriteSize: SPRITE,
      numDrawn: isResting ? this.#shown.length : this.#pace.affordable(this.#shown.length, performance.now()),
    });
    drawOverlay(this.#overlay, this.#overlayFrame(matrix, isResting, withSprites));
  }

  #overlayFrame(matrix: Float32Array, isResting: boolean, withSprites: boolean): OverlayFrame {
    // Text needs to know where points are, which takes time where they are many: it waits until the camera rests.
    const isQuick = this.#places.length < 3 * 20_000;
    const labels: Label[] = [];
    if (this.wording !== null && this.#places.length > 0 && (isResting || isQuick)) {
      const { index } = this;
      labels.push(...this.wording.strong(this.#screen));
      if (index.numInView <= FEW && index.numInView > 0)
        labels.push(...this.wording.near(this.#screen, index.inView));
    }
    return {
      size: this.#size,
      ratio: this.#ratio(),
      matrix,
      camera: this.camera,
      inks: this.#inks,
      labels,
      labelShift: withSprites ? SPRITE / 2 : this.pointSize / 2 + 1,
      outline: this.outline,
      axisNames: this.wording?.axisNames ?? [],
    };
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#rest);
    this.#painter.dispose();
  }
}
