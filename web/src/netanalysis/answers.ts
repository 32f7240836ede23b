/** Ask for an analysis of one layer, and take its numbers out of the bytes. */
import { Refusal, type Asked as Question, type Reply } from "../source/source";
import { useAsked, type Asked } from "../sections/useAsked";
import { askOf } from "../sections/asking";
import { signal } from "@preact/signals";
import { rank, runId } from "../netview/netrun";
import type { Answer, NetLayer } from "../wire";
import type { Items } from "./items";
import { items } from "./items";

type HeadOf<Type extends Answer["type"]> = Extract<Answer, { type: Type }>;

/** What came, of which layer, and of which items. */
export interface Analysed<Type extends Answer["type"]> {
  readonly layer: NetLayer;
  readonly items: Items;
  readonly head: HeadOf<Type>;
  /** What was asked of the layer. */
  readonly own: Type extends Question["type"] ? OwnPart<Type> : never;
  readonly bytes: { readonly buffer: ArrayBuffer; readonly offset: number };
}

/** Questions of the main pictures that are on their way: what is beside them waits. */
export const numAwaited = signal(0);

type Place = "run_id" | "rank" | "choice" | "layer" | "type";

/** The part of a question that is its own. */
export type OwnPart<Type extends Question["type"]> = Omit<Extract<Question, { type: Type }>, Place>;

/** Null where nothing is wanted of the layer now. */
export function useAnalysis<Type extends Extract<Question, { layer: string; choice: unknown }>["type"] & Answer["type"]>(
  type: Type,
  layer: NetLayer | null,
  own: OwnPart<Type> | null,
): Asked<Analysed<Type>> {
  const of = items.value;
  const isWanted = of !== null && layer !== null && own !== null;
  const key = isWanted ? JSON.stringify([of.runId, rank.value, of.choice, layer.name, type, own]) : "";
  return useAsked<Analysed<Type>>(
    isWanted
      ? {
          key,
          version: "",
          ask: async () => {
            numAwaited.value += 1;
            try {
              const place = { run_id: runId.peek(), rank: rank.peek(), choice: of.choice, layer: layer.name };
              const { answer, buffer, offset } = await askOf({ type, ...place, ...own } as unknown as Question, type);
              return { layer, items: of, head: answer, own, bytes: { buffer, offset } } as Analysed<Type>;
            } finally {
              numAwaited.value -= 1;
            }
          },
        }
      : null,
  );
}

/** So many numbers of four bytes, from a place among the bytes of an answer. */
export function singlesOf({ buffer, offset }: Pick<Reply, "buffer" | "offset">, count: number, skipped = 0): Float32Array {
  const from = offset + skipped;
  if (buffer.byteLength < from + 4 * count) throw new Refusal("The answer is shorter than it says.");
  return new Float32Array(buffer.slice(from, from + 4 * count));
}

export function doublesOf({ buffer, offset }: Pick<Reply, "buffer" | "offset">, count: number): Float64Array {
  if (buffer.byteLength < offset + 8 * count) throw new Refusal("The answer is shorter than it says.");
  return new Float64Array(buffer.slice(offset, offset + 8 * count));
}
