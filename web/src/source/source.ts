/** Where a page gets its passes from: a server over a socket, or the page itself. */
import type { ReadonlySignal } from "@preact/signals";
import type { PassDocument, PassListing, TensorKind, TensorView, Window } from "../wire";

export type { PassListing };

export interface OpenedPass {
  readonly document: PassDocument;
  /** Its random seed as digits: it may have more than a JavaScript number keeps. */
  readonly seed: string;
}

export type Values = Float32Array | Float64Array;

/** Values of a tensor, tile by tile, row by row, as its window says. */
export interface TensorValues {
  readonly view: TensorView;
  readonly values: Values;
}

/** Why there are no values. */
export interface Missing {
  readonly missing: string;
}

export type TensorAnswer = TensorValues | Missing;

export type Connection =
  /** The page holds all of its data. */
  | { readonly state: "one-file" }
  | { readonly state: "connecting" }
  | { readonly state: "connected" }
  /** Times as Date.now() counts them. */
  | { readonly state: "lost"; readonly lastHeard: number; readonly retryAt: number }
  /** The server is there and does not know this page: only a fresh address helps. */
  | { readonly state: "refused" };

export interface Source {
  readonly passes: ReadonlySignal<readonly PassListing[]>;
  readonly connection: ReadonlySignal<Connection>;
  /** Can any window be asked for, or only what was put into the file? */
  readonly canMove: boolean;
  openPass(passId: string): Promise<OpenedPass>;
  /** Values of an op (output, grad) or a parameter (param, param_grad); the whole in a coarse window for null. */
  tensor(passId: string, kind: TensorKind, index: number, window: Window | null): Promise<TensorAnswer>;
  /** One figure for each op: `zeros` is the share of zeros in its output. */
  figures(passId: string, name: string): Promise<(number | null)[]>;
  /** Look again which passes there are. */
  refreshPasses(): void;
  /** Try to connect at once instead of waiting. */
  retryNow(): void;
}

/** An answer that says no, in a sentence for the reader. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}
