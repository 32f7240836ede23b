/** Where a page gets its passes from: a server over a socket, or the page itself. */
import type { ReadonlySignal } from "@preact/signals";
import type { Answer, PassDocument, PassListing, Question, TensorKind, TensorView, Window } from "../wire";

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

/** A question but for its number, which the source chooses. */
export type Asked = Question extends infer One ? (One extends Question ? Omit<One, "id"> : never) : never;

/** An answer, and the bytes that came with it: they begin at the offset, a multiple of eight. */
export interface Reply {
  readonly answer: Answer;
  readonly buffer: ArrayBuffer;
  readonly offset: number;
  /** What it came as, where that was no frame of bytes. */
  readonly text?: string;
}

/** What hears the answers to a question that is followed. */
export interface Listener {
  hear(reply: Reply): void;
  refuse(reason: string): void;
}

export interface Source {
  /** Is there a folder of runs behind it? Unknown (null) until the server has said so. */
  readonly hasRuns: ReadonlySignal<boolean | null>;
  /** Can it take expressions apart? Unknown (null) until the server has said so. */
  readonly hasLessons: ReadonlySignal<boolean | null>;
  readonly passes: ReadonlySignal<readonly PassListing[]>;
  readonly connection: ReadonlySignal<Connection>;
  /** Can any window be asked for, or only what was put into the file? */
  readonly canMove: boolean;
  openPass(passId: string): Promise<OpenedPass>;
  /** Values of an op (output, grad) or a parameter (param, param_grad); the whole in a coarse window for null. */
  tensor(passId: string, kind: TensorKind, index: number, window: Window | null): Promise<TensorAnswer>;
  /** One figure for each op: `zeros` is the share of zeros in its output. */
  figures(passId: string, name: string): Promise<(number | null)[]>;
  /** Ask once. Throws a Refusal where the server says no. */
  ask(question: Asked): Promise<Reply>;
  /**
   * Ask, and hear every answer until the function that is returned is called. After a lost connection it is asked
   * again, so the first answer of all may come a second time.
   */
  follow(question: Asked, listener: Listener): () => void;
  refreshPasses(): void;
  retryNow(): void;
}

/** An answer that says no, in a sentence for the reader. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** How much memory it takes, for those who keep some. */
export function bytesOf(answer: TensorAnswer): number {
  return "missing" in answer ? answer.missing.length : answer.values.byteLength;
}
