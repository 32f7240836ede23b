/** Points on a plain canvas, where the browser has no WebGL: slower, the same picture. */
import { projectAll } from "./camera";
import type { Frame, Painter, SpriteImage } from "./painter";

export function startFlatPainter(canvas: HTMLCanvasElement): Painter | null {
  const context = canvas.getContext("2d", { alpha: false });
  return context === null ? null : new FlatPainter(context);
}

class FlatPainter implements Painter {
  readonly name = "canvas";
  readonly #context: CanvasRenderingContext2D;
  #places = new Float32Array(0);
  #colours = new Uint8Array(0);
  #shown = new Int32Array(0);
  #marked = new Int32Array(0);
  #sprites: SpriteImage | null = null;

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  setPlaces(places: Float32Array<ArrayBuffer>): void {
    this.#places = places;
  }

  setColours(bytes: Uint8Array<ArrayBuffer>): void {
    this.#colours = bytes;
  }

  setShown(points: Int32Array<ArrayBuffer>): void {
    this.#shown = points;
  }

  setMarked(points: Int32Array<ArrayBuffer>): void {
    this.#marked = points;
  }

  setSprites(sprites: SpriteImage | null): string {
    this.#sprites = sprites;
    return "";
  }

  paint(frame: Frame): void {
    const context = this.#context;
    const { width, height } = frame.size;
    context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
    context.fillStyle = rgb(frame.surface);
    context.fillRect(0, 0, width, height);
    if (this.#places.length / 3 !== this.#colours.length / 4) return;
    const screen = new Float32Array(this.#places.length);
    projectAll(this.#places, frame.matrix, frame.size, screen);
    const drawn = this.#shown.subarray(0, frame.numDrawn);
    const order = frame.distance > 0 ? byDepth(drawn, screen) : drawn;
    const radius = frame.pointSize / 2;
    const sprites = frame.withSprites ? this.#sprites : null;
    for (const point of order) {
      const [x, y] = [screen[point * 3]!, screen[point * 3 + 1]!];
      if (!isNear(x, width) || !isNear(y, height)) continue;
      if (sprites !== null) this.#drawPicture(point, x, y, frame, sprites);
      else this.#drawDot(point, x, y, radius, null);
    }
    if (sprites !== null) return;
    for (const point of this.#marked)
      this.#drawDot(point, screen[point * 3]!, screen[point * 3 + 1]!, radius + 1.5, rgb(frame.ink));
  }

  #drawDot(point: number, x: number, y: number, radius: number, rim: string | null): void {
    const context = this.#context;
    context.fillStyle = this.#colourOf(point);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    if (rim === null) return;
    context.strokeStyle = rim;
    context.lineWidth = 2;
    context.stroke();
  }

  #drawPicture(point: number, x: number, y: number, frame: Frame, sprites: SpriteImage): void {
    const longest = Math.max(sprites.width, sprites.height);
    const [width, height] = [
      (frame.spriteSize * sprites.width) / longest,
      (frame.spriteSize * sprites.height) / longest,
    ];
    const context = this.#context;
    context.imageSmoothingEnabled = false;
    context.fillStyle = this.#colourOf(point);
    context.fillRect(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4);
    context.drawImage(
      sprites.image,
      (point % sprites.perRow) * sprites.width,
      Math.floor(point / sprites.perRow) * sprites.height,
      sprites.width,
      sprites.height,
      x - width / 2,
      y - height / 2,
      width,
      height,
    );
  }

  #colourOf(point: number): string {
    const at = point * 4;
    return rgb([this.#colours[at]!, this.#colours[at + 1]!, this.#colours[at + 2]!]);
  }

  dispose(): void {
    this.#sprites = null;
  }
}

/** Is it in view, or so little outside that a part of it is? */
function isNear(at: number, extent: number): boolean {
  return at > -50 && at < extent + 50;
}

/** Those behind first. */
function byDepth(points: Int32Array, screen: Float32Array): Int32Array {
  return Int32Array.from(points).sort((a, b) => screen[b * 3 + 2]! - screen[a * 3 + 2]!);
}

function rgb(parts: readonly [number, number, number]): string {
  return `rgb(${parts.join()})`;
}
