/** Items of a network: which are taken, with which labels, which layers are looked at, and what is asked of these. */
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inAddress } from "../../data/address-choice";
import { formatCount } from "../../data/format";
import { rank, runId, step } from "../../data/network/moments";
import { numItems } from "../../data/network/network-state";
import * as net from "../../data/network/store";
import { weightVariable } from "../../data/network/words";
import { askOf, type Held, type ReplyOf } from "../../data/requests";
import { go, param } from "../../data/route";
import { type Asked as Question, Refusal, type Reply } from "../../data/source";
import * as page from "../../data/store";
import { type Asked, followAsked, type Replied, useReply } from "../../data/useAsked";
import type { Answer, NetItemChoice, NetItemsAnswer, NetLabelChoice, NetLayer } from "../../wire";
import { METRICS } from "./choice";

/** Said in the address: no labels, although there are some. */
export const NO_LABELS = "none";

/** A page that is one file has nobody who could compute it. */
export const isAnalysis = computed(
  () => param("show") === "analysis" && page.source.value?.connection.value.state !== "one-file",
);

export const sight = inAddress("see", [
  ["similarity", "Similarity", "How alike a layer sees the items"],
  ["components", "Components", "The items along the directions in which a layer varies most"],
  ["clusters", "Clusters", "The items as a tree"],
  ["tuning", "Tuning", "Which label each unit responds to, and how selective it is"],
  ["field", "Receptive field", "What the input looks like when a unit responds"],
]);
export const metric = inAddress("metric", METRICS);
export const order = inAddress("order", [["label", "Label"], ["tree", "Cluster"], ["item", "Item"]]);
/** What of a response counts in a receptive field. */
export const above = inAddress("above", [
  ["zero", "zero"],
  ["mean", "their mean", "For units that respond below zero as well"],
]);
export const most = inAddress("most", [64, 128, 256, 512, 1024].map((count) => [count, `${formatCount(count)} items`] as const), 256);

export const SCOPES = [
  ["batch", "Batch", "The items of the batch at this moment"],
  ["moments", "Moments", "One item of the batch at every moment up to this one"],
  ["all", "All", "All items of the batch at every moment up to this one"],
] as const;

/** A batch of one has nothing to compare: then moments are items. */
export const scope = computed<NetItemChoice["scope"]>(() => {
  const named = SCOPES.find(([word]) => word === param("scope"));
  return named?.[0] ?? (numItems.value === 1 ? "moments" : "batch");
});

/** What responses are taken from; weights of a unit are none. */
export const variable = computed(() => (weightVariable(net.variable.value) === null ? net.variable.value : "Act"));

/** Layers that have the variable, from the input on. */
export const layers = computed<readonly NetLayer[]>(() =>
  layersWith(variable.value).filter(({ grid }) => grid.num_units > 0),
);

export function layersWith(name: string): readonly NetLayer[] {
  return (net.scene.value?.layers ?? []).filter(({ variables }) => variables.includes(name));
}

/** The layer that is looked at, and the one beside it; by itself the last one, which is nearest to the answer. */
export const first = computed<NetLayer | null>(() => {
  const named = layers.value.find(({ name }) => name === param("one"));
  return named ?? layers.value.find(({ name }) => name === net.selected.value?.layer) ?? layers.value.at(-1) ?? null;
});
export const second = computed<NetLayer | null>(() => layers.value.find(({ name }) => name === param("two")) ?? null);

/** What receptive fields are laid on: the input, unless another one is chosen. */
export const fieldSource = computed<NetLayer | null>(() => {
  const all = layersWith("Act");
  return all.find(({ name }) => name === param("source")) ?? all.find(({ is_input }) => is_input) ?? all[0] ?? null;
});

/** The choice but for its labels; null until there is a moment. */
export const choice = computed<NetItemChoice | null>(() => {
  if (step.value === null || layers.value.length === 0) return null;
  return {
    variable: variable.value,
    scope: scope.value,
    step: step.value,
    item: scope.value === "moments" ? net.item.value : 0,
    most: most.chosen,
    labels: "",
  };
});

/** The unit that was chosen last in each layer: the network has one selected unit, two layers need one each. */
const units = signal<ReadonlyMap<string, number>>(new Map());

export function unitOf(layer: NetLayer): number | null {
  const selected = net.selected.value;
  const unit = selected?.layer === layer.name ? selected.unit : units.value.get(layer.name);
  return unit === undefined || unit >= layer.grid.num_units ? null : unit;
}

export function chooseUnit(layer: NetLayer, unit: number): void {
  units.value = new Map(units.peek()).set(layer.name, unit);
  net.selected.value = { layer: layer.name, unit };
}

// --- The items, with their labels: asked for whenever the choice changes.

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

async function askItems(run: string, wanted: NetItemChoice, named: string): Promise<Items> {
  const withLabels = async (labels: string): Promise<Items> => {
    const choice = { ...wanted, labels };
    const { answer } = await askOf({ type: "net_items", run_id: run, rank: rank.peek(), choice }, "net_items");
    return { ...answer, choice, runId: run };
  };
  const found = await withLabels(named === NO_LABELS ? "" : named);
  const usual = named === "" ? usualLabels(found.label_choices, wanted.scope) : "";
  return usual === "" ? found : withLabels(usual);
}

export function followItems(): () => void {
  return followAsked<Items>(
    () => {
      const [run, wanted, named] = [runId.value, choice.value, param("labels")];
      if (!isAnalysis.value || run === "" || wanted === null) return null;
      return { key: JSON.stringify([run, rank.value, wanted, named]), version: "", ask: () => askItems(run, wanted, named) };
    },
    (next) => (held.value = next),
  );
}

export function labelOf(all: Items, place: number): string {
  return all.labels[all.label_of[place] ?? -1] ?? "";
}

/** `item 3 at step 20`, as far as that tells it from others. */
export function itemName(all: Items, place: number): string {
  const { scope } = all.choice;
  if (scope === "batch") return `item ${all.items[place] ?? place}`;
  const moment = `step ${all.steps[place] ?? 0}`;
  return scope === "moments" ? moment : `${moment}, item ${all.items[place] ?? 0}`;
}

export function describe(all: Items, place: number): string {
  const label = labelOf(all, place);
  return label === "" ? itemName(all, place) : `${itemName(all, place)}: ${label}`;
}

/** The item under the pointer, or that the keys have reached: outlined in every picture. */
export const current = signal<number | null>(null);

/** To the item in the network. The way back leads here. */
export function goToItem({ steps, items: numbers }: Items, place: number): void {
  const item = numbers[place]!;
  go("netview", { show: null, step: String(steps[place]), item: item === 0 ? null : String(item) });
}

// --- Ask for an analysis of one layer, and take its numbers out of the bytes.

type Kind = Extract<Question, { layer: string; choice: unknown }>["type"] & Answer["type"];
type OwnPart<Type extends Kind> = Omit<Extract<Question, { type: Type }>, "run_id" | "rank" | "choice" | "layer" | "type">;

/** What came, of which layer, and of which items. */
export interface Analysed<Type extends Kind, Data> extends Replied<Type, Data> {
  readonly layer: NetLayer;
  readonly items: Items;
}

/** What is known of a layer that is looked at. */
export interface Look<Value> extends Asked<Value> {
  readonly layer: NetLayer;
  readonly isWanted: boolean;
  /** Is what there is that of before? */
  readonly isOld: boolean;
}

type Take<Type extends Kind, Data> = (reply: ReplyOf<Type>, of: Items) => Data;

/** Null where there is no layer; nothing is asked of one whose own part is null. */
export function useAnalysis<Type extends Kind, Data>(
  type: Type,
  layer: NetLayer | null,
  own: OwnPart<Type> | null,
  take: Take<Type, Data>,
): Look<Analysed<Type, Data>> | null {
  const all = items.value;
  const isWanted = layer !== null && own !== null;
  const about = { run_id: all?.runId, rank: rank.value, choice: all?.choice, layer: layer?.name, ...own };
  const { value: found, isOwn, ...asked } = useReply(
    type,
    all !== null && isWanted ? (about as unknown as Omit<Extract<Question, { type: Type }>, "type">) : null,
    (reply) => ({ layer: layer!, items: all!, taken: take(reply, all!) }),
  );
  if (layer === null) return null;
  const value = found?.data.layer.name === layer.name ? { ...found, ...found.data, data: found.data.taken } : null;
  return { ...asked, value, layer, isWanted, isOld: value !== null && !isOwn };
}

/** Is a question of the main pictures on its way? What is beside them waits. */
export const isAwaited = signal(false);

export function useBoth<Type extends Kind, Data>(
  type: Type,
  ownOf: (layer: NetLayer) => OwnPart<Type> | null,
  take: Take<Type, Data>,
): readonly Look<Analysed<Type, Data>>[] {
  const own = (layer: NetLayer | null) => (layer === null ? null : ownOf(layer));
  const one = useAnalysis(type, first.value, own(first.value), take);
  const other = useAnalysis(type, second.value, own(second.value), take);
  const looks = [one, other].filter((look) => look !== null);
  const isWaiting = looks.some(({ isWanted, isOld, value, problem }) => isWanted && problem === "" && (isOld || value === null));
  useEffect(() => {
    isAwaited.value = isWaiting;
    return () => void (isAwaited.value = false);
  }, [isWaiting]);
  return looks;
}

/** So many numbers of four bytes, from a place among the bytes of an answer. */
export function singlesOf(reply: Pick<Reply, "buffer" | "offset">, count: number, skipped = 0): Float32Array {
  return new Float32Array(bytesOf(reply, skipped, 4 * count));
}

export function doublesOf(reply: Pick<Reply, "buffer" | "offset">, count: number): Float64Array {
  return new Float64Array(bytesOf(reply, 0, 8 * count));
}

function bytesOf({ buffer, offset }: Pick<Reply, "buffer" | "offset">, skipped: number, size: number): ArrayBuffer {
  const from = offset + skipped;
  if (buffer.byteLength < from + size) throw new Refusal("The answer is shorter than it says.");
  return buffer.slice(from, from + size);
}
