/** Ask the server for records and histograms, and check that what comes is what was asked for. */
import type { Answer, RecordKind, RecordListing } from "../wire";
import { messageOf } from "./message-of";
import { type Asked, Refusal, type Reply, type Source } from "./source";
import * as store from "./store";

/** What was fetched last, up to so many bytes: looking back and forth asks only once. */
export class ByteCache<Value> {
  readonly #values = new Map<string, { value: Value; bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): Value | undefined {
    const found = this.#values.get(key);
    if (found === undefined) return undefined;
    // A Map keeps the order of setting: what was used last stands last.
    this.#values.delete(key);
    this.#values.set(key, found);
    return found.value;
  }

  set(key: string, value: Value, bytes: number): void {
    this.#drop(key);
    this.#values.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#maxBytes || this.#values.size === 1) break;
      this.#drop(oldest);
    }
  }

  /** What is known, or else what comes when it is asked for. A failure is not kept. */
  async fetched(key: string, ask: () => Promise<Value>, bytesOf: (value: Value) => number): Promise<Value> {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = await ask();
    this.set(key, value, bytesOf(value));
    return value;
  }

  #drop(key: string): void {
    this.#bytes -= this.#values.get(key)?.bytes ?? 0;
    this.#values.delete(key);
  }
}

/** So many places has a slider at most; of more records, so many are chosen evenly. */
const MAX_RECORDS = 1000;

export interface Records {
  /** In the order of their steps. */
  readonly records: readonly RecordListing[];
  readonly numAll: number;
}

export interface FullRecord {
  readonly entry: RecordListing;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Histograms over time, on common bins. */
export interface HistogramGrid {
  readonly steps: readonly number[];
  readonly low: number;
  readonly high: number;
  readonly numBins: number;
  readonly numAll: number;
  /** A row for each step. */
  readonly counts: Float64Array;
}

const recordCache = new ByteCache<FullRecord>(64_000_000);

export async function askRecords(runId: string, kind: RecordKind, name: string): Promise<Records> {
  const { answer } = await askOf({ type: "records", run_id: runId, kind, name, most: MAX_RECORDS }, "records");
  return { records: answer.records, numAll: answer.num_all };
}

export function askRecord(runId: string, listing: RecordListing): Promise<FullRecord> {
  const ask = async (): Promise<FullRecord> => {
    const reply = await askOf({ type: "record", run_id: runId, record: listing.record }, "record");
    return { entry: reply.answer.entry, bytes: new Uint8Array(reply.buffer, reply.offset) };
  };
  return recordCache.fetched(recordKey(runId, listing), ask, ({ bytes }) => bytes.byteLength);
}

/** A run that was purged and written anew may use a number again, but not at the same time. */
export function recordKey(runId: string, { record, step, time }: RecordListing): string {
  return `${runId} ${record} ${step} ${time}`;
}

export async function askHistograms(
  runId: string,
  kind: "histogram" | "tensor",
  name: string,
  numSteps: number,
  numBins: number,
): Promise<HistogramGrid> {
  const asked: Asked = { type: "histograms", run_id: runId, kind, name, num_steps: numSteps, num_bins: numBins };
  const { answer, buffer, offset } = await askOf(asked, "histograms");
  const { steps, low, high, num_all: numAll } = answer;
  const counts = floatsOf(new Uint8Array(buffer, offset), steps.length * answer.num_bins);
  return { steps, low, high, numBins: answer.num_bins, numAll, counts };
}

/** So many numbers of eight bytes each; throws where there are too few or too many. */
export function floatsOf(bytes: Uint8Array<ArrayBuffer>, count: number): Float64Array {
  if (bytes.byteLength !== count * 8) {
    throw new Refusal(`${count} numbers came as ${bytes.byteLength} bytes: the record is damaged.`);
  }
  // What is not where a number may begin has to be copied.
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return new Float64Array(aligned.buffer, aligned.byteOffset, count);
}

export type ReplyOf<Type extends Answer["type"]> = Reply & {
  readonly answer: Extract<Answer, { type: Type }>;
};

export async function askOf<Type extends Answer["type"]>(
  question: Asked,
  type: Type,
  source: Source | null = store.source.peek(),
): Promise<ReplyOf<Type>> {
  if (source === null) throw new Refusal("There is no server behind this page.");
  const reply = await source.ask(question);
  if (reply.answer.type !== type) throw new Refusal(`The server answered with ${reply.answer.type}.`);
  return reply as ReplyOf<Type>;
}

/**
 * Hear every answer to a question, of the type that it has itself, until what it returns is called. Where nothing is
 * given for a refusal, what was known stays.
 */
export function follow<Type extends Answer["type"]>(
  source: Source,
  question: Asked & { readonly type: Type },
  hear: (reply: ReplyOf<Type>) => void,
  refuse: (reason: string) => void = () => undefined,
): () => void {
  return source.follow(question, {
    hear: (reply) => {
      if (reply.answer.type === question.type) hear(reply as ReplyOf<Type>);
    },
    refuse,
  });
}

export interface Held<Value> {
  /** The last value that came, whatever was asked since; null before the first. */
  readonly value: Value | null;
  readonly key: string;
  /** Why the last question was not answered; empty where it was. */
  readonly problem: string;
}

export interface Wanted<Value> {
  /** Of the thing itself, such as a record of a run. */
  readonly key: string;
  /** Of its state: changes when there is news. */
  readonly version: string;
  ask(): Promise<Value>;
}

/** So long after an answer the same thing is not asked again, however much news there is. */
export const PAUSE_MS = 1000;

/** Asks for what is wanted now: one question at a time, the newest wins, and not more often than it helps. */
export class Desk<Value> {
  readonly #tell: (held: Held<Value>) => void;
  readonly #pauseMs: number;
  #wanted: Wanted<Value> | null = null;
  #asked = "";
  #held: Held<Value> = { value: null, key: "", problem: "" };
  #isBusy = false;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(tell: (held: Held<Value>) => void, pauseMs = PAUSE_MS) {
    this.#tell = tell;
    this.#pauseMs = pauseMs;
  }

  /** From now on this is wanted; null for nothing. */
  want(wanted: Wanted<Value> | null): void {
    const isOther = wanted?.key !== this.#wanted?.key;
    this.#wanted = wanted;
    // Another thing does not have to wait for the pause of the one before.
    if (isOther) this.#stopTimer();
    this.#next();
  }

  retry(): void {
    this.#asked = "";
    this.#stopTimer();
    this.#next();
  }

  close(): void {
    this.#isClosed = true;
    this.#wanted = null;
    this.#stopTimer();
  }

  #next(): void {
    const wanted = this.#wanted;
    if (wanted === null || this.#isBusy || this.#timer !== null) return;
    const question = `${wanted.key}\n${wanted.version}`;
    if (question === this.#asked) return;
    this.#asked = question;
    this.#isBusy = true;
    void this.#ask(wanted);
  }

  async #ask(wanted: Wanted<Value>): Promise<void> {
    try {
      const value = await wanted.ask();
      this.#hold({ value, key: wanted.key, problem: "" });
    } catch (reason) {
      // Why there is nothing of what is no longer wanted is of no interest; wanted again, it is asked again.
      if (this.#wanted?.key !== wanted.key) this.#asked = "";
      else this.#hold({ ...this.#held, problem: messageOf(reason) });
    }
    this.#isBusy = false;
    if (this.#wanted?.key === wanted.key) {
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.#next();
      }, this.#pauseMs);
    }
    this.#next();
  }

  #hold(held: Held<Value>): void {
    this.#held = held;
    // Also to one who wants nothing just now: when it is wanted again, it is not asked for again.
    if (!this.#isClosed) this.#tell(held);
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
