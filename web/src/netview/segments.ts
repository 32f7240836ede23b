/** Straight lines, packed as the graphics card takes them. */
import type { Rgb } from "../tensor/colour";
import type { Vector } from "./vectors";

/** Of one line: two places, a colour, four widths. The colour takes the place of one number. */
export const SEGMENT_FLOATS = 11;

export interface Stroke {
  readonly colour: Rgb;
  readonly alpha: number;
  /** In pixels, at the start and at the end. */
  readonly width: number;
  readonly endWidth?: number;
  /** The same as lengths in space, added to those in pixels. */
  readonly breadth?: number;
  readonly endBreadth?: number;
}

export class Segments {
  #numbers = new Float32Array(64 * SEGMENT_FLOATS);
  #bytes = new Uint8Array(this.#numbers.buffer);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get numbers(): Float32Array {
    return this.#numbers.subarray(0, this.#count * SEGMENT_FLOATS);
  }

  add(from: Vector, to: Vector, stroke: Stroke): void {
    if ((this.#count + 1) * SEGMENT_FLOATS > this.#numbers.length) this.#grow();
    const at = this.#count * SEGMENT_FLOATS;
    this.#numbers.set(from, at);
    this.#numbers.set(to, at + 3);
    this.#bytes.set([...stroke.colour, Math.round(stroke.alpha * 255)], (at + 6) * 4);
    this.#numbers.set(
      [stroke.width, stroke.endWidth ?? stroke.width, stroke.breadth ?? 0, stroke.endBreadth ?? stroke.breadth ?? 0],
      at + 7,
    );
    this.#count += 1;
  }

  /** Through all places, one after the other. */
  addPath(places: readonly Vector[], stroke: Stroke): void {
    for (let at = 1; at < places.length; at++) this.add(places[at - 1]!, places[at]!, stroke);
  }

  #grow(): void {
    // As bytes: some of these numbers are colours, which a copy as numbers might change.
    const larger = new Uint8Array(this.#bytes.length * 2);
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#numbers = new Float32Array(larger.buffer);
  }
}
