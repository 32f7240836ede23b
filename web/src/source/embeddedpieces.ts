/** The values of records that stand in a page: base64, most of them deflated, read when they are wanted. */
import { LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY } from "../netview/store";
import { ByteCache } from "../sections/bytecache";
import { levelsOf } from "./embeddedlevels";
import { fromBase64 } from "./framing";

export interface EmbeddedPiece {
  step: number;
  /** Of values. */
  count: number;
  /** Of a weight. */
  shape?: number[];
  /** Levels of two bytes, or the values as they are. */
  encoding: "u2" | "f4" | "f8";
  low?: number;
  high?: number;
  deflated?: boolean;
  data: string;
}

export interface Numbers {
  /** Of the record. */
  readonly step: number;
  readonly shape: readonly number[];
  readonly levels: Uint16Array;
  readonly low: number;
  readonly high: number;
  /** The values as they are; null where only levels are in the page. */
  readonly exact: Float32Array | Float64Array | null;
}

const MAX_KEPT_BYTES = 128_000_000;

export class Pieces {
  readonly #pieces: readonly EmbeddedPiece[];
  readonly #kept = new ByteCache<Promise<Numbers>>(MAX_KEPT_BYTES);

  constructor(pieces: readonly EmbeddedPiece[]) {
    this.#pieces = pieces;
  }

  /** The step of its record. */
  step(number: number): number {
    return this.#pieces[number]?.step ?? 0;
  }

  read(number: number): Promise<Numbers> {
    const known = this.#kept.get(String(number));
    if (known !== undefined) return known;
    const piece = this.#pieces[number];
    if (piece === undefined) return Promise.reject(new Error("a part of this file is missing"));
    const numbers = readPiece(piece);
    this.#kept.set(String(number), numbers, 6 * piece.count + 200);
    return numbers;
  }
}

async function readPiece(piece: EmbeddedPiece): Promise<Numbers> {
  const { step, count, encoding, deflated, data, shape = [] } = piece;
  const packed = fromBase64(data);
  const bytes = deflated === true ? await inflated(packed) : packed;
  if (bytes.byteLength !== count * Number(encoding.slice(1))) throw new Error("a part of this file is damaged");
  if (encoding === "u2") {
    return { step, shape, levels: new Uint16Array(bytes), low: piece.low ?? 0, high: piece.high ?? 0, exact: null };
  }
  const exact = encoding === "f4" ? new Float32Array(bytes) : new Float64Array(bytes);
  return { step, shape, ...levelsOf(exact), exact };
}

function inflated(packed: ArrayBuffer): Promise<ArrayBuffer> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

const SPECIAL: ReadonlyMap<number, number> = new Map([
  [MINUS_INFINITY, -Infinity],
  [PLUS_INFINITY, Infinity],
  [NOT_A_NUMBER, Number.NaN],
]);

/** Null where there is none. */
export function numberAt({ exact, levels, low, high }: Numbers, at: number): number | null {
  if (exact !== null) return exact[at] ?? null;
  const level = levels[at] ?? NOT_THERE;
  if (level === NOT_THERE) return null;
  return SPECIAL.get(level) ?? low + (level / LEVELS) * (high - low);
}
