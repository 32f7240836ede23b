/** What connects two layers, and how it is laid on the units at one end. */
import type { Connection } from "../wire";

/** Units at the other end, and where in its tensor the weight of each stands. */
export interface Laid {
  readonly units: readonly number[];
  readonly places: readonly number[];
}

/** A connection with its weights. Shapes are those of one item. */
export interface Ends {
  readonly connection: Connection;
  readonly weightShape: readonly number[];
  readonly source: readonly number[];
  readonly target: readonly number[];
  /** The number of the token at a place of the source; null where it is not known. Needed of embeddings only. */
  readonly token: (place: number) => number | null;
}

export function product(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all * size, 1);
}
