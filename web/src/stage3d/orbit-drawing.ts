/** A drawing with a camera that goes around it: by WebGL2, text above it on a canvas of its own, frames only when something changed. */
import { type Camera, plus, rayThrough, type Size, type Vector } from "./camera";

/** So long after it was moved last the camera is at rest. */
const REST_MS = 140;
/** Of pixels of the screen to those of the page: finer ones cost more than they show. */
const MOST_RATIO = 2;

export abstract class OrbitDrawing {
  /** Told when the camera has come to rest. */
  onRest: (camera: Camera) => void = () => undefined;
  /** What is drawn, and what stands above it. */
  readonly canvases: readonly [HTMLCanvasElement, HTMLCanvasElement];
  camera: Camera;
  size: Size = { width: 1, height: 1 };
  protected ratio = 1;
  #frame = 0;
  #movesUntil = -Infinity;
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, camera: Camera) {
    this.canvases = [canvas, overlay];
    this.camera = camera;
  }

  protected abstract paint(): void;

  resize(width: number, height: number): void {
    const ratio = Math.min(MOST_RATIO, devicePixelRatio || 1);
    if (width === this.size.width && height === this.size.height && ratio === this.ratio) return;
    this.size = { width, height };
    this.ratio = ratio;
    for (const canvas of this.canvases) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.resized();
    this.paint();
  }

  /** It is of another size, and not drawn yet. */
  protected resized(): void {
    // Nothing depends on it.
  }

  /** By hand, or to a place that was asked for. */
  look(camera: Camera): void {
    this.camera = camera;
    this.stir();
    this.draw();
  }

  protected get isMoving(): boolean {
    return performance.now() < this.#movesUntil;
  }

  protected stir(wait = REST_MS): void {
    this.#movesUntil = performance.now() + wait * 0.9;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.draw();
      this.onRest(this.camera);
    }, wait);
  }

  /** Soon, once, however often it is asked for. */
  draw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.paint();
    });
  }

  protected get isToBeDrawn(): boolean {
    return this.#frame !== 0;
  }

  /** At once, and as at rest: for a file. */
  drawNow(): void {
    this.#movesUntil = -Infinity;
    this.paint();
  }

  /** The place in space under a pixel, at the depth of the target. */
  placeAt(x: number, y: number): Vector {
    const { origin, direction } = rayThrough(this.camera, this.size, x, y);
    return plus(origin, direction);
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#rest);
  }
}
