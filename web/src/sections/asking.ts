/** Ask the server for records and histograms, and check that what comes is what was asked for. */
import { Refusal, type Asked, type Reply } from "../source/source";
import * as store from "../store";
import type { Answer, HistogramsAnswer, RecordKind, RecordListing } from "../wire";
import { ByteCache } from "./bytecache";

/** So many places has a slider at most; of more records, so many are chosen evenly. */
const MAX_RECORDS = 1000;
const MAX_CACHED_BYTES = 64_000_000;

export interface Records {
  /** In the order of their steps. */
  readonly records: readonly RecordListing[];
  /** How many there are. */
  readonly numAll: number;
}

/** A record with its bytes. */
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

const recordCache = new ByteCache<FullRecord>(MAX_CACHED_BYTES);

export async function askRecords(runId: string, kind: RecordKind, name: string): Promise<Records> {
  const { answer } = await askOf(
    { type: "records", run_id: runId, kind, name, most: MAX_RECORDS },
    "records",
  );
  return { records: answer.records, numAll: answer.num_all };
}

export async function askRecord(runId: string, listing: RecordListing): Promise<FullRecord> {
  const key = recordKey(runId, listing);
  const known = recordCache.get(key);
  if (known !== undefined) return known;
  const reply = await askOf({ type: "record", run_id: runId, record: listing.record }, "record");
  const found: FullRecord = { entry: reply.answer.entry, bytes: new Uint8Array(reply.buffer, reply.offset) };
  recordCache.set(key, found, found.bytes.byteLength);
  return found;
}

/** A run that was purged and written anew may use a number again, but not at the same time. */
export function recordKey(runId: string, { record, step, time }: RecordListing): string {
  return JSON.stringify([runId, record, step, time]);
}

export async function askHistograms(
  runId: string,
  kind: "histogram" | "tensor",
  name: string,
  numSteps: number,
  numBins: number,
): Promise<HistogramGrid> {
  const asked: Asked = {
    type: "histograms",
    run_id: runId,
    kind,
    name,
    num_steps: numSteps,
    num_bins: numBins,
  };
  return gridOf(await askOf(asked, "histograms"));
}

export function gridOf({ answer, buffer, offset }: ReplyOf<"histograms">): HistogramGrid {
  const { steps, low, high, num_bins: numBins, num_all: numAll }: HistogramsAnswer = answer;
  const counts = floatsOf(new Uint8Array(buffer, offset), steps.length * numBins);
  return { steps, low, high, numBins, numAll, counts };
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
): Promise<ReplyOf<Type>> {
  const source = store.source.peek();
  if (source === null) throw new Refusal("There is no server behind this page.");
  const reply = await source.ask(question);
  if (reply.answer.type !== type) throw new Refusal(`The server answered with ${reply.answer.type}.`);
  return reply as ReplyOf<Type>;
}
