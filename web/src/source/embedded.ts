/** The source of a page that is one file: everything it will ever know stands in the page. */
import { signal } from "@preact/signals";
import type { PassDocument, TensorKind, TensorView, Window } from "../wire";
import { crop } from "../tensor/window";
import { fromBase64, valuesOf } from "./framing";
import { checkDocument, seedDigits } from "./reading";
import { Refusal } from "./source";
import type {
  Asked,
  Connection,
  Listener,
  OpenedPass,
  PassListing,
  Reply,
  Source,
  TensorAnswer,
  TensorValues,
} from "./source";

export interface EmbeddedTensor {
  kind: TensorKind;
  index: number;
  view: TensorView;
  data: string;
}

/** Why a tensor that has a value is not shown: it is sparse and too large, say. */
export interface EmbeddedReason {
  kind: TensorKind;
  index: number;
  reason: string;
}

export interface EmbeddedData {
  document: PassDocument;
  tensors: EmbeddedTensor[];
  reasons?: EmbeddedReason[];
  figures: Record<string, (number | null)[]>;
  notes: string[];
}

const NOT_HERE = "Not in this file (byte budget): torcheer view on the saved pass shows all.";
const WINDOW_NOT_HERE =
  "These values are not in this file (byte budget): torcheer view on the saved pass shows all.";
const ONLY = "embedded";

export class EmbeddedSource implements Source {
  readonly hasRuns = signal<boolean | null>(false);
  readonly hasLessons = signal<boolean | null>(false);
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "one-file" });
  readonly canMove = false;
  readonly notes: readonly string[];
  readonly #opened: OpenedPass;
  readonly #figures: Record<string, (number | null)[]>;
  readonly #tensors = new Map<string, EmbeddedTensor>();
  readonly #reasons = new Map<string, string>();
  readonly #read = new Map<string, TensorValues>();

  /** Throws where the text is no data of a page. */
  constructor(json: string) {
    const data = JSON.parse(json) as EmbeddedData;
    const document = checkDocument(data.document);
    this.#opened = { document, seed: seedDigits(json) ?? String(document.random_seed) };
    this.#figures = data.figures;
    this.notes = data.notes;
    for (const tensor of data.tensors) this.#tensors.set(`${tensor.kind} ${tensor.index}`, tensor);
    for (const { kind, index, reason } of data.reasons ?? []) this.#reasons.set(`${kind} ${index}`, reason);
    this.passes.value = [{ id: ONLY, name: document.model_name, detail: "", run_id: "", step: null }];
  }

  ask(question: Asked): Promise<Reply> {
    return Promise.reject(new Refusal(`This file has no answer to ${question.type}.`));
  }

  follow(question: Asked, listener: Listener): () => void {
    listener.refuse(`This file has no answer to ${question.type}.`);
    return () => undefined;
  }

  openPass(): Promise<OpenedPass> {
    return Promise.resolve(this.#opened);
  }

  tensor(_pass: string, kind: TensorKind, index: number, window: Window | null): Promise<TensorAnswer> {
    const key = `${kind} ${index}`;
    const whole = this.#values(key);
    if (whole === null) return Promise.resolve({ missing: this.#reasons.get(key) ?? NOT_HERE });
    if (window === null) return Promise.resolve(whole);
    return Promise.resolve(crop(whole, window) ?? { missing: WINDOW_NOT_HERE });
  }

  figures(_pass: string, name: string): Promise<(number | null)[]> {
    const values = this.#figures[name];
    return values === undefined ? Promise.reject(new Refusal(NOT_HERE)) : Promise.resolve(values);
  }

  refreshPasses(): void {
    // There is one, and no other will come.
  }

  retryNow(): void {
    // Nothing to connect to.
  }

  #values(key: string): TensorValues | null {
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const tensor = this.#tensors.get(key);
    if (tensor === undefined) return null;
    const values = { view: tensor.view, values: valuesOf(tensor.view, fromBase64(tensor.data), 0) };
    this.#read.set(key, values);
    return values;
  }
}
