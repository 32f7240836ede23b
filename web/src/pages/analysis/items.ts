/** The items that are analysed, with their labels: asked for whenever the choice changes. */
import { computed, effect, signal } from "@preact/signals";
import { rank, runId } from "../../data/network/moments";
import { askOf, Desk, type Held, type ReplyOf } from "../../data/requests";
import { param } from "../../data/route";
import { type Asked as Question, Refusal, type Reply } from "../../data/source";
import { type Asked, useAsked } from "../../data/useAsked";
import type { Labelled } from "../../plot/labels";
import type { Answer, NetItemChoice, NetItemsAnswer, NetLabelChoice, NetLayer } from "../../wire";
import { choice, first, isAnalysis, NO_LABELS, second } from "./choice";

export interface Items extends Omit<NetItemsAnswer, "type" | "id"> {
  /** With the labels that were taken: what all other questions ask with. */
  readonly choice: NetItemChoice;
  readonly runId: string;
}

const held = signal<Held<Items>>({ value: null, key: "", problem: "" });

/** The last ones that came, of the run that is shown. */
export const items = computed<Items | null>(() => (held.value.value?.runId === runId.value ? held.value.value : null));
export const problem = computed(() => held.value.problem);

/** Counters that say what an item is; of others, such as an epoch, only some ask. */
const NAMING = /^(label|labels|class|category|name|trial|item|target|condition)$/i;

/** Which labels are taken where nobody has chosen any. */
export function usualLabels(choices: readonly NetLabelChoice[], scope: NetItemChoice["scope"]): string {
  // Words before numbers.
  const written = choices.find(({ key }) => key.startsWith("text:")) ?? choices.find(({ key }) => key.startsWith("tensor:"));
  if (written !== undefined) return written.key;
  if (scope === "batch") return "";
  return choices.find(({ key, name }) => key.startsWith("counter:") && NAMING.test(name))?.key ?? "";
}

async function ask(run: string, wanted: NetItemChoice, named: string): Promise<Items> {
  const place = { run_id: run, rank: rank.peek() };
  const labels = named === NO_LABELS ? "" : named;
  const answered = await askOf({ type: "net_items", ...place, choice: { ...wanted, labels } }, "net_items");
  const usual = named === "" ? usualLabels(answered.answer.label_choices, wanted.scope) : "";
  if (usual === "") return { ...answered.answer, choice: { ...wanted, labels }, runId: run };
  const { answer } = await askOf({ type: "net_items", ...place, choice: { ...wanted, labels: usual } }, "net_items");
  return { ...answer, choice: { ...wanted, labels: usual }, runId: run };
}

/** Call what it returns to stop. */
export function followItems(): () => void {
  const desk = new Desk<Items>((next) => (held.value = next));
  const stop = effect(() => {
    const [run, wanted, named] = [runId.value, choice.value, param("labels")];
    if (!isAnalysis.value || run === "" || wanted === null) return;
    const key = JSON.stringify([run, rank.value, wanted, named]);
    desk.want({ key, version: "", ask: () => ask(run, wanted, named) });
  });
  return () => {
    stop();
    desk.close();
  };
}

export function labelOf(all: Items, place: number): string {
  const number = all.label_of[place];
  return number === undefined ? "" : (all.labels[number] ?? "");
}

/** `item 3 at step 20`, as far as that tells it from others. */
/** What is said of some of the items, in rows of their own. */
export function labelled(all: Items, places: readonly number[]): Labelled {
  return { labels: all.labels, label_of: all.labels.length === 0 ? [] : places.map((place) => all.label_of[place]!) };
}

export function itemName(all: Items, place: number): string {
  const { scope } = all.choice;
  if (scope === "batch") return `item ${all.items[place] ?? place}`;
  const moment = `step ${all.steps[place] ?? 0}`;
  return scope === "moments" ? moment : `${moment}, item ${all.items[place] ?? 0}`;
}

// --- Ask for an analysis of one layer, and take its numbers out of the bytes.

type Kind = Extract<Question, { layer: string; choice: unknown }>["type"] & Answer["type"];
type HeadOf<Type extends Answer["type"]> = Extract<Answer, { type: Type }>;
/** The part of a question that is its own. */
type OwnPart<Type extends Kind> = Omit<Extract<Question, { type: Type }>, "run_id" | "rank" | "choice" | "layer" | "type">;

/** What came, of which layer, and of which items. */
export interface Analysed<Type extends Kind, Data> {
  readonly layer: NetLayer;
  readonly items: Items;
  readonly head: HeadOf<Type>;
  /** What was asked of the layer. */
  readonly own: OwnPart<Type>;
  readonly data: Data;
}

/** How to take its numbers out of an answer. */
type Take<Type extends Kind, Data> = (reply: ReplyOf<Type>, of: Items) => Data;

/** What is known of a layer that is looked at. */
export interface Look<Type extends Kind, Data> extends Asked<Analysed<Type, Data>> {
  readonly layer: NetLayer;
  readonly isWanted: boolean;
  /** Is what there is that of before? */
  readonly isOld: boolean;
}

/** Questions of the main pictures that are on their way: what is beside them waits. */
export const numAwaited = signal(0);

/** Null where there is no layer; nothing is asked of one whose own part is null. */
export function useAnalysis<Type extends Kind, Data>(
  type: Type,
  layer: NetLayer | null,
  own: OwnPart<Type> | null,
  take: Take<Type, Data>,
): Look<Type, Data> | null {
  const of = items.value;
  const isWanted = layer !== null && own !== null;
  const key = of !== null && isWanted ? JSON.stringify([of.runId, rank.value, of.choice, layer.name, type, own]) : "";
  const ask = async (): Promise<Analysed<Type, Data>> => {
    numAwaited.value += 1;
    try {
      const place = { run_id: runId.peek(), rank: rank.peek(), choice: of!.choice, layer: layer!.name };
      const reply = await askOf({ type, ...place, ...own } as unknown as Question, type);
      return { layer: layer!, items: of!, head: reply.answer, own: own!, data: take(reply, of!) };
    } finally {
      numAwaited.value -= 1;
    }
  };
  const held = useAsked(key === "" ? null : { key, version: "", ask });
  if (layer === null) return null;
  const value = held.value?.layer.name === layer.name ? held.value : null;
  return { ...held, value, layer, isWanted, isOld: value !== null && held.key !== key };
}

/** The same of the layer that is looked at and, where there is one, of the one beside it. */
export function useBoth<Type extends Kind, Data>(
  type: Type,
  ownOf: (layer: NetLayer) => OwnPart<Type> | null,
  take: Take<Type, Data>,
): readonly Look<Type, Data>[] {
  const own = (layer: NetLayer | null) => (layer === null ? null : ownOf(layer));
  const one = useAnalysis(type, first.value, own(first.value), take);
  const other = useAnalysis(type, second.value, own(second.value), take);
  return [one, other].filter((look) => look !== null);
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
