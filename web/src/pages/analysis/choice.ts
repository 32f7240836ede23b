/** What is analysed and how it is seen: all of it in the address, so that it can be shared. */
import { computed, signal } from "@preact/signals";
import { step } from "../../data/network/moments";
import { numItems } from "../../data/network/network-state";
import * as net from "../../data/network/store";
import { weightVariable } from "../../data/network/words";
import { go, param } from "../../data/route";
import * as store from "../../data/store";
import { autoScale, type Range, type Scale } from "../../ui/colour-scale";
import type { NetItemChoice, NetLayer } from "../../wire";

export const SCOPES = ["batch", "moments", "all"] as const;
export const METRICS = ["correlation", "cosine", "euclidean"] as const;
export const SIGHTS = ["similarity", "components", "clusters", "tuning", "field"] as const;
export const ORDERS = ["label", "tree", "item"] as const;
export const MOSTS = [64, 128, 256, 512, 1024] as const;

export type Scope = (typeof SCOPES)[number];
export type Metric = (typeof METRICS)[number];
export type Sight = (typeof SIGHTS)[number];
export type Order = (typeof ORDERS)[number];

/** Said in the address: no labels, although there are some. */
export const NO_LABELS = "none";

/** A page that is one file has nobody who could compute it. */
export const isAnalysis = computed(
  () => param("show") === "analysis" && store.source.value?.connection.value.state !== "one-file",
);

export const sight = computed<Sight>(() => known(SIGHTS, param("see")));
export const metric = computed<Metric>(() => known(METRICS, param("metric")));
export const order = computed<Order>(() => known(ORDERS, param("order")));
/** A batch of one has nothing to compare: then moments are items. */
export const scope = computed<Scope>(() =>
  param("scope") === "" && numItems.value === 1 ? "moments" : known(SCOPES, param("scope")),
);
export const isTable = computed(() => param("table") === "yes");
export const minusMean = computed(() => param("mean") !== "kept");
/** What of a response counts in a receptive field. */
export const above = computed<"zero" | "mean">(() => (param("above") === "mean" ? "mean" : "zero"));
export const most = computed<number>(() => MOSTS.find((one) => String(one) === param("most")) ?? 256);

/** The one of some words that an address names, or the first. */
export function known<Word extends string>(words: readonly [Word, ...Word[]], text: string): Word {
  return words.find((one) => one === text) ?? words[0];
}

/** What responses are taken from; weights of a unit are none. */
export const variable = computed(() => (weightVariable(net.variable.value) === null ? net.variable.value : "Act"));

/** Layers that have the variable, from the input on. */
export const layers = computed<readonly NetLayer[]>(() =>
  (net.scene.value?.layers ?? []).filter((layer) => layer.variables.includes(variable.value) && layer.grid.num_units > 0),
);

/** The layer that is looked at, and the one beside it; by itself the last one, which is nearest to the answer. */
export const first = computed<NetLayer | null>(() => {
  const named = layers.value.find(({ name }) => name === param("one"));
  return named ?? layers.value.find(({ name }) => name === net.selected.value?.layer) ?? layers.value.at(-1) ?? null;
});
export const second = computed<NetLayer | null>(() => layers.value.find(({ name }) => name === param("two")) ?? null);

/** What receptive fields are laid on: the input, unless another one is chosen. */
export const source = computed<NetLayer | null>(() => {
  const all = (net.scene.value?.layers ?? []).filter(({ variables }) => variables.includes("Act"));
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
    most: most.value,
    labels: "",
  };
});

// --- units ----------------------------------------------------------------------------------------

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

// --- items ----------------------------------------------------------------------------------------

/** The item under the pointer, or that the keys have reached: outlined in every picture. */
export const current = signal<number | null>(null);

/** To the item of a moment in the network. The way back leads here. */
export function showInNetwork(moment: number, item: number): void {
  go("netview", { show: null, step: String(moment), item: item === 0 ? null : String(item) });
}

// --- The limits of colours: by themselves from what is shown, both layers on one scale, or fixed by hand.

const fixed = signal<ReadonlyMap<string, Scale>>(new Map());

export interface ChosenScale {
  readonly scale: Scale;
  readonly isAuto: boolean;
  readonly onChange: (scale: Scale | null) => void;
}

/** `name`: of what is shown; each kind of picture has limits of its own. */
export function chosenScale(name: string, range: Range | null, auto: Scale | null = null): ChosenScale {
  const by = fixed.value.get(name);
  return {
    scale: by ?? auto ?? autoScale(range ?? { min: 0, max: 0 }),
    isAuto: by === undefined,
    onChange: (scale) => {
      const next = new Map(fixed.peek());
      if (scale === null) next.delete(name);
      else next.set(name, scale);
      fixed.value = next;
    },
  };
}
