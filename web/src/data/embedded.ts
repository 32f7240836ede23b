/** The source of a page that is one file: everything it will ever know stands in the page. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Lesson, PassDocument, TensorKind, TensorView, Window } from "../wire";
import { obtain } from "./collections";
import { LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY, valueOf } from "./network/store";
import { ByteCache } from "./requests";
import { checkDocument, fromBase64, seedDigits, valuesOf } from "./socket";
import {
  type Asked,
  type Connection,
  type Listener,
  type OpenedPass,
  type PassListing,
  Refusal,
  type Reply,
  type Source,
  type TensorAnswer,
  type TensorValues,
} from "./source";
import * as store from "./store";
import { crop } from "./tensor-window";

const NO_PASS = "There is no pass in this file.";

/** What pages of one file have in common: nothing comes and goes, and what is not said otherwise is not in it. */
export abstract class FileSource implements Source {
  abstract readonly hasRuns: ReadonlySignal<boolean | null>;
  abstract readonly hasLessons: ReadonlySignal<boolean | null>;
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "one-file" });
  readonly canMove = false;

  ask(question: Asked): Promise<Reply> {
    return Promise.reject(this.refusal(question));
  }

  /** One answer, a moment later, as that of a server; nothing more will come. */
  follow(question: Asked, listener: Listener): () => void {
    let isWanted = true;
    queueMicrotask(() => {
      if (!isWanted) return;
      const reply = this.known(question);
      if (reply === null) listener.refuse(this.refusal(question).message);
      else listener.hear(reply);
    });
    return () => {
      isWanted = false;
    };
  }

  /** What is followed and stands in the page. */
  protected known(_question: Asked): Reply | null {
    return null;
  }

  protected refusal({ type }: Asked): Refusal {
    return new Refusal(`This file has no answer to ${type}.`);
  }

  openPass(_pass: string): Promise<OpenedPass> {
    return Promise.reject(new Refusal(NO_PASS));
  }

  tensor(_pass: string, _kind: TensorKind, _index: number, _window: Window | null): Promise<TensorAnswer> {
    return Promise.resolve({ missing: NO_PASS });
  }

  figures(_pass: string, _name: string): Promise<(number | null)[]> {
    return Promise.reject(new Refusal(NO_PASS));
  }

  refreshPasses(): void {
    // None will come.
  }

  retryNow(): void {
    // Nothing to connect to.
  }
}

interface EmbeddedTensor {
  kind: TensorKind;
  index: number;
  view: TensorView;
  data: string;
}

export interface EmbeddedData {
  document: PassDocument;
  tensors: EmbeddedTensor[];
  /** Why a tensor that has a value is not shown: it is sparse and too large, say. */
  reasons?: { kind: TensorKind; index: number; reason: string }[];
  figures: Record<string, (number | null)[]>;
  notes: string[];
}

const NOT_HERE = "Not in this file (byte budget): torcheer view on the saved pass shows all.";
const WINDOW_NOT_HERE =
  "These values are not in this file (byte budget): torcheer view on the saved pass shows all.";
const ONLY = "embedded";

/** The source of a page that holds a pass. */
export class EmbeddedSource extends FileSource {
  readonly hasRuns = signal<boolean | null>(false);
  readonly hasLessons = signal<boolean | null>(false);
  readonly notes: readonly string[];
  readonly #opened: OpenedPass;
  readonly #figures: Record<string, (number | null)[]>;
  readonly #tensors = new Map<string, EmbeddedTensor>();
  readonly #reasons = new Map<string, string>();
  readonly #read = new Map<string, TensorValues>();

  /** Throws where the text is no data of a page. */
  constructor(json: string) {
    super();
    const data = JSON.parse(json) as EmbeddedData;
    const document = checkDocument(data.document);
    this.#opened = { document, seed: seedDigits(json) ?? String(document.random_seed) };
    this.#figures = data.figures;
    this.notes = data.notes;
    for (const tensor of data.tensors) this.#tensors.set(`${tensor.kind} ${tensor.index}`, tensor);
    for (const { kind, index, reason } of data.reasons ?? []) this.#reasons.set(`${kind} ${index}`, reason);
    this.passes.value = [{ id: ONLY, name: document.model_name, detail: "", run_id: "", step: null }];
  }

  override openPass(): Promise<OpenedPass> {
    return Promise.resolve(this.#opened);
  }

  override tensor(_pass: string, kind: TensorKind, index: number, window: Window | null): Promise<TensorAnswer> {
    const key = `${kind} ${index}`;
    const whole = this.#values(key);
    if (whole === null) return Promise.resolve({ missing: this.#reasons.get(key) ?? NOT_HERE });
    if (window === null) return Promise.resolve(whole);
    return Promise.resolve(crop(whole, window) ?? { missing: WINDOW_NOT_HERE });
  }

  override figures(_pass: string, name: string): Promise<(number | null)[]> {
    const values = this.#figures[name];
    return values === undefined ? Promise.reject(new Refusal(NOT_HERE)) : Promise.resolve(values);
  }

  #values(key: string): TensorValues | null {
    const tensor = this.#tensors.get(key);
    if (tensor === undefined) return null;
    const { view, data } = tensor;
    return obtain(this.#read, key, () => ({ view, values: valuesOf(view, fromBase64(data), 0) }));
  }
}

/** `id`: of the element with the data. `remedy`: what writes such a file. */
export function startEmbedded(id: string, remedy: string, begin: (json: string) => void): void {
  try {
    begin(document.getElementById(id)?.textContent ?? "");
  } catch (reason) {
    // A refusal says it all; any other error is that of a file which was cut off or changed.
    const detail = reason instanceof Error ? reason.message : String(reason);
    const why = reason instanceof Refusal ? detail : `Its data is damaged (${detail}). Write it again with ${remedy}.`;
    store.opening.value = { state: "failed", name: "This page", reason: why };
  }
}

// --- Numbers as levels, as a server makes them: see app/netview/net_reader.py.

export interface Levels {
  readonly levels: Uint16Array;
  readonly low: number;
  readonly high: number;
}

/** The highest less the lowest must be a number, too. */
const LARGEST = Number.MAX_VALUE / 2;

/** From the lowest to the highest number. What is not there has a code of its own and does not count. */
export function levelsOf(values: Float32Array | Float64Array, isThere: Uint8Array | null = null): Levels {
  const has = (at: number): boolean => isThere === null || isThere[at] === 1;
  let [low, high] = [Infinity, -Infinity];
  values.forEach((value, at) => {
    if (!(Math.abs(value) <= LARGEST) || !has(at)) return;
    if (value < low) low = value;
    if (value > high) high = value;
  });
  if (low > high) [low, high] = [0, 0];
  const span = high - low;
  const levels = new Uint16Array(values.length);
  values.forEach((value, at) => {
    if (!has(at)) levels[at] = NOT_THERE;
    else if (Math.abs(value) <= LARGEST) levels[at] = span === 0 ? 0 : Math.round(((value - low) / span) * LEVELS);
    else levels[at] = Number.isNaN(value) ? NOT_A_NUMBER : value > 0 ? PLUS_INFINITY : MINUS_INFINITY;
  });
  return { levels, low, high };
}

// --- The values of records that stand in a page: base64, most of them deflated, read when they are wanted.

export interface EmbeddedPiece {
  step: number;
  /** Of values. */
  count: number;
  /** Levels of two bytes, or the values as they are. */
  encoding: "u2" | "f4" | "f8";
  low?: number;
  high?: number;
  deflated?: boolean;
  data: string;
}

export interface Numbers extends Levels {
  /** Of the record. */
  readonly step: number;
  /** The values as they are; null where only levels are in the page. */
  readonly exact: Float32Array | Float64Array | null;
}

const MAX_KEPT_BYTES = 128_000_000;

/** Reads a piece by its number. */
export function pieceReader(pieces: readonly EmbeddedPiece[]): (number: number) => Promise<Numbers> {
  const kept = new ByteCache<Promise<Numbers>>(MAX_KEPT_BYTES);
  return (number) => {
    const known = kept.get(String(number));
    if (known !== undefined) return known;
    const piece = pieces[number];
    if (piece === undefined) return Promise.reject(new Error("a part of this file is missing"));
    const numbers = readPiece(piece);
    kept.set(String(number), numbers, 6 * piece.count + 200);
    return numbers;
  };
}

async function readPiece({ step, count, encoding, deflated, data, low = 0, high = 0 }: EmbeddedPiece): Promise<Numbers> {
  const bytes = deflated === true ? await inflated(fromBase64(data)) : fromBase64(data);
  if (bytes.byteLength !== count * Number(encoding.slice(1))) throw new Error("a part of this file is damaged");
  if (encoding === "u2") return { step, levels: new Uint16Array(bytes), low, high, exact: null };
  const exact = encoding === "f4" ? new Float32Array(bytes) : new Float64Array(bytes);
  return { step, ...levelsOf(exact), exact };
}

function inflated(packed: ArrayBuffer): Promise<ArrayBuffer> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

export function numberAt(numbers: Numbers, at: number): number | null {
  return numbers.exact === null ? valueOf(numbers, at) : (numbers.exact[at] ?? null);
}

/** Throws where the text is no lesson. */
export function readLesson(json: string): Lesson {
  const found = JSON.parse(json) as Partial<Lesson>;
  if (!Array.isArray(found.nodes) || !Array.isArray(found.backward)) throw new Error("there is no expression in it");
  return found as Lesson;
}

export class EmbeddedLesson extends FileSource {
  readonly hasRuns = signal<boolean | null>(false);
  readonly hasLessons = signal<boolean | null>(true);

  protected override refusal({ type }: Asked): Refusal {
    return new Refusal(`This file has no answer to ${type}: torcheer learn has.`);
  }
}
