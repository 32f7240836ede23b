/** The drawing: a camera, a painter, an overlay for text and outlines, and frames only when something changed. */
import { type Camera, type ScreenPlace, type Size, viewMatrix } from "../camera";
import { OrbitDrawing } from "../orbit-drawing";
import { type Label, type PlacedLabel, placeLabels, projectAll, REACH, startCamera, zoomOf } from "./camera";
import { type Inks, readInks } from "./colours";
import { GlPainter, type SpriteImage } from "./gl-painter";
import { ScreenIndex } from "./picking";

/** Text for what is on screen: asked anew for each frame. */
export interface Wording {
  /** Of points that matter, wherever they are. */
  readonly strong: (screen: Float32Array) => readonly Label[];
  /** Of any points, when few are in view. */
  readonly near: (screen: Float32Array, inView: Int32Array) => readonly Label[];
  readonly axisNames: readonly string[];
}

export type SpriteMode = "auto" | "on" | "off";

/** Labels of all points, when no more than these are in view. */
const FEW = 120;
const SPRITE = 26;

export class Cloud extends OrbitDrawing {
  wording: Wording | null = null;
  /** A box or line that is being drawn. */
  outline: readonly ScreenPlace[] | null = null;
  spriteMode: SpriteMode = "auto";
  readonly #painter: GlPainter;
  #inks: Inks = readInks();
  #places = new Float32Array(0);
  #shown = new Int32Array(0);
  #screen = new Float32Array(0);
  #index: ScreenIndex | null = null;
  #themeTick = 0;
  #hasSprites = false;
  readonly #pace = new Pace();

  /** Throws where the browser has no WebGL2. */
  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement) {
    super(canvas, overlay, startCamera(false));
    this.#painter = new GlPainter(canvas);
  }

  get inks(): Inks {
    return this.#inks;
  }

  /** The colours of the theme are new with each tick. */
  readTheme(tick: number): void {
    if (tick === this.#themeTick) return;
    this.#themeTick = tick;
    this.#inks = readInks();
    this.draw();
  }

  protected override resized(): void {
    this.#index = null;
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

  override look(camera: Camera): void {
    this.#index = null;
    super.look(camera);
  }

  #changed(): void {
    this.#index = null;
    this.draw();
  }

  get index(): ScreenIndex {
    if (this.#index === null) {
      projectAll(this.#places, this.#matrix(), this.size, this.#screen);
      const shown = this.#screen.length === 0 ? new Int32Array(0) : this.#shown;
      this.#index = new ScreenIndex(this.#screen, shown, this.size.width, this.size.height);
    }
    return this.#index;
  }

  /** Fewer points are drawn larger. */
  get pointSize(): number {
    const base = Math.max(2, Math.min(9, 14 - 2.3 * Math.log10(Math.max(10, this.#shown.length))));
    return base * Math.min(2.5, Math.max(0.7, zoomOf(this.camera) ** 0.25));
  }

  get #withSprites(): boolean {
    if (!this.#hasSprites || this.spriteMode === "off") return false;
    if (this.spriteMode === "on") return true;
    // When they have room side by side.
    const { width, height } = this.size;
    return this.index.numInView * SPRITE * SPRITE < 0.6 * width * height;
  }

  protected override paint(): void {
    const isResting = !this.isMoving;
    const matrix = this.#matrix();
    const withSprites = this.#withSprites;
    this.#painter.paint({
      matrix,
      ratio: this.ratio,
      pointSize: this.pointSize,
      distance: this.camera.isFlat ? 0 : this.camera.distance,
      surface: this.#inks.surface,
      ink: this.#inks.text,
      withSprites,
      spriteSize: SPRITE,
      numDrawn: isResting ? this.#shown.length : this.#pace.affordable(this.#shown.length, performance.now()),
    });
    drawOverlay(this.canvases[1], this.#overlayFrame(matrix, isResting, withSprites));
  }

  #matrix(): Float32Array {
    return viewMatrix(this.camera, this.size, REACH);
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
      size: this.size,
      ratio: this.ratio,
      matrix,
      camera: this.camera,
      inks: this.#inks,
      labels,
      labelShift: withSprites ? SPRITE / 2 : this.pointSize / 2 + 1,
      outline: this.outline,
      axisNames: this.wording?.axisNames ?? [],
    };
  }

  override dispose(): void {
    super.dispose();
    this.#painter.dispose();
  }
}

// --- The same points in another order, in which any beginning is an even sample of all.

const GOLDEN = 0.618033988749895;

/** Labels often come sorted; drawn in that order, the last kind would lie on top of all others. */
export function spread(points: Int32Array): Int32Array<ArrayBuffer> {
  const count = points.length;
  let stride = Math.max(1, Math.round(count * GOLDEN));
  while (commonDivisor(stride, count) !== 1) stride += 1;
  const order = new Int32Array(count);
  for (let nth = 0, from = 0; nth < count; nth++) {
    order[nth] = points[from]!;
    from = (from + stride) % count;
  }
  return order;
}

function commonDivisor(left: number, right: number): number {
  return right === 0 ? left : commonDivisor(right, left % right);
}

// --- How many points can be drawn while the camera moves, learned from how long frames take.

const SLOW_MS = 45;
const QUICK_MS = 24;
/** Frames further apart than this were not one movement. */
const PAUSE_MS = 700;
const FEWEST = 8000;

export class Pace {
  #share = 1;
  #last = -Infinity;

  /** Called for each frame of a movement, with the time. */
  affordable(count: number, now: number): number {
    const took = now - this.#last;
    this.#last = now;
    if (took < PAUSE_MS) {
      if (took > SLOW_MS) this.#share *= Math.max(0.5, SLOW_MS / took);
      else if (took < QUICK_MS) this.#share = Math.min(1, this.#share * 1.15);
    }
    this.#share = Math.max(this.#share, Math.min(1, FEWEST / Math.max(1, count)));
    return Math.min(count, Math.max(FEWEST, Math.round(count * this.#share)));
  }
}

// --- Text and outlines above the points: labels with room around them, the box or line of a selection, the
//   axes.

interface OverlayFrame {
  readonly size: Size;
  readonly ratio: number;
  readonly matrix: Float32Array;
  readonly camera: Camera;
  readonly inks: Inks;
  readonly labels: readonly Label[];
  /** From the middle of a point to its edge. */
  readonly labelShift: number;
  readonly outline: readonly ScreenPlace[] | null;
  readonly axisNames: readonly string[];
}

const ARM = 30;
const CORNER = 46;

function drawOverlay(canvas: HTMLCanvasElement, frame: OverlayFrame): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { ratio, size, inks } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const family = getComputedStyle(canvas).fontFamily;
  context.lineJoin = "round";
  const fontOf = (label: Label): string => `${label.weight === "plain" ? 400 : 600} 11px ${family}`;
  const widthOf = (text: string): number => {
    context.font = `500 11px ${family}`;
    return context.measureText(text).width;
  };
  const placed = placeLabels(frame.labels, widthOf, size);
  for (const label of placed) drawLabel(context, label, fontOf(label), frame.labelShift, inks);
  drawAxes(context, frame, family);
  if (frame.outline !== null) drawOutline(context, frame.outline, inks);
}

function rgb(parts: readonly number[]): string {
  return `rgb(${parts.join()})`;
}

function drawLabel(
  context: CanvasRenderingContext2D,
  label: PlacedLabel,
  font: string,
  shift: number,
  inks: Inks,
): void {
  const side = label.weight === "middle" ? 0 : label.left < label.x ? -1 : 1;
  const left = label.left + side * Math.max(0, shift - 3);
  context.font = font;
  context.strokeStyle = rgb(inks.surface);
  context.lineWidth = 3;
  context.strokeText(label.text, left, label.base);
  context.fillStyle = rgb(inks.text);
  context.fillText(label.text, left, label.base);
}

/** Which way the axes go, in the corner: in three dimensions as they are turned. */
function drawAxes(context: CanvasRenderingContext2D, frame: OverlayFrame, family: string): void {
  if (frame.axisNames.length === 0) return;
  const { inks, size, camera } = frame;
  const turn = viewMatrix({ ...camera, target: [0, 0, 0] }, { width: 2, height: 2 }, REACH);
  const [x, y] = [CORNER, size.height - CORNER];
  const longest = Math.hypot(turn[0]!, turn[4]!, turn[8]!) || 1;
  context.font = `400 11px ${family}`;
  context.textAlign = "center";
  for (const [at, name] of frame.axisNames.entries()) {
    const [dx, dy] = [(turn[at * 4]! / longest) * ARM, (-turn[at * 4 + 1]! / longest) * ARM];
    context.strokeStyle = rgb(inks.none);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + dx, y + dy);
    context.stroke();
    context.fillStyle = rgb(inks.text);
    context.globalAlpha = 0.7;
    if (Math.hypot(dx, dy) > 6) context.fillText(name, x + dx * 1.4, y + dy * 1.4 + 4);
    context.globalAlpha = 1;
  }
  context.textAlign = "left";
}

function drawOutline(context: CanvasRenderingContext2D, outline: readonly ScreenPlace[], inks: Inks): void {
  context.beginPath();
  for (const [at, { x, y }] of outline.entries()) {
    if (at === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
  context.closePath();
  context.fillStyle = rgb(inks.text);
  context.globalAlpha = 0.08;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = rgb(inks.text);
  context.setLineDash([4, 3]);
  context.lineWidth = 1.5;
  context.stroke();
  context.setLineDash([]);
}
