/** Sets of stored activations: which set, which layer, which picture of it, how what is asked of it comes, and its words. */
import { batch, computed, effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { inAddress } from "../../data/address-choice";
import { sets } from "../../data/feature-sets";
import { formatCount, formatNumberOf } from "../../data/format";
import { messageOf } from "../../data/message-of";
import { follow, type ReplyOf } from "../../data/requests";
import { param, route, setParams, type Changes } from "../../data/route";
import type { Asked, Source } from "../../data/source";
import * as page from "../../data/store";
import { actOn } from "../../ui/keys";
import type { Answer, FeatureLayer, FeatureRows, FeatureSetAnswer, FeatureSetListing } from "../../wire";
import { METRICS } from "./choice";

export const sight = inAddress("see", [
  ["layers", "Layers", "All layers of the set"],
  ["values", "Values", "Samples by units of one layer"],
  ["similarity", "Similarity", "How alike samples are to a layer, and layers to one another"],
  ["probes", "Probes", "How well labels can be read from each layer"],
  ["projector", "Projector", "Samples as points"],
]);
export const metric = inAddress("by", METRICS);
export const probeKind = inAddress("probe", [
  ["ridge", "Ridge", "Ridge regression: quick; for classes, one against the others"],
  ["logistic", "Logistic", "Logistic regression: for classes; takes longer"],
]);
export const comparison = inAddress("compare", [
  ["rsa", "RSA", "Rank correlation of how two layers order all pairs of samples"],
  ["cka", "CKA", "Linear centred kernel alignment: 1 where two layers are alike up to rotation and size"],
]);
export const numSimilar = counts("n", [100, 200, 500, 1000, 2000], 500);
export const numProbed = counts("probed", [500, 1000, 2000, 5000, 20_000, 1_000_000], 2000);
export const numPoints = counts("points", [500, 1000, 2000, 5000, 10_000, 20_000], 2000);
export const numFolds = counts("folds", [3, 5, 10], 5);

function counts(name: string, choices: readonly number[], usual: number) {
  return inAddress(name, choices.map((count) => [count, formatCount(count)] as const), usual);
}

/** The one that the address names, or the first. Empty where there is none. */
export const setId = computed(() => {
  // On the way to another view its address has other things in it.
  const isShown = route.value.view === "features" || route.value.view === null;
  return (isShown ? param("set") : "") || (sets.value?.[0]?.id ?? "");
});

/** The newest answer about the set that is shown. */
export const detail = signal<FeatureSetAnswer | null>(null);
/** Why nothing can be known of it; empty where something is. */
export const failure = signal("");

/** What the list says is newer, where the set itself cannot be read any more. */
export const listing = computed<FeatureSetListing | null>(
  () => detail.value?.listing ?? sets.value?.find(({ id }) => id === setId.value) ?? null,
);
export const numDone = computed(() => listing.value?.num_done ?? 0);

export const layers = computed<readonly FeatureLayer[]>(() => detail.value?.layers ?? []);

/** The number of the layer that is looked at: by itself the last one, which is nearest to the answer. */
export const layerAt = computed(() => {
  const named = layers.value.findIndex(({ name }) => name === param("layer"));
  return named >= 0 ? named : layers.value.length - 1;
});
export const layer = computed<FeatureLayer | null>(() => layers.value[layerAt.value] ?? null);

/** A unit of one layer is none of another. */
export function chooseLayer(at: number, changes: Changes = {}): void {
  const next = layers.peek()[at];
  if (next !== undefined) setParams({ layer: next.name, unit: null, ...changes });
}

/** Keys of a list of layers: arrows go through those that are shown, Enter leads to the values. */
export function stepLayer(event: KeyboardEvent, shown: readonly number[], reveal?: (row: number) => void): void {
  const move = (by: number) => (): void => {
    if (shown.length === 0) return;
    const next = Math.max(0, Math.min(shown.length - 1, shown.indexOf(layerAt.peek()) + by));
    chooseLayer(shown[next]!);
    reveal?.(next);
  };
  actOn(event, {
    ArrowDown: move(1),
    ArrowUp: move(-1),
    Home: move(-shown.length),
    End: move(shown.length),
    Enter: () => sight.choose("values"),
  });
}

let stopAll = (): void => undefined;

export function startFeatures(source: Source): void {
  stopAll();
  sets.value = null;
  // One that cannot say has none.
  const refuse = (): unknown => (sets.value ??= []);
  stopAll = follow(source, { type: "feature_sets" }, ({ answer }) => (sets.value = answer.sets), refuse);
}

/** Rises when somebody wants to try again. */
export const attempt = signal(0);

export function followSet(source: Source): () => void {
  return effect(() => {
    const id = attempt.value < 0 ? "" : setId.value;
    batch(() => {
      if (detail.peek()?.listing.id !== id) detail.value = null;
      failure.value = "";
    });
    if (id === "") return undefined;
    return follow(source, { type: "feature_set", set_id: id }, takeSet, (reason) => (failure.value = reason));
  });
}

function takeSet({ answer }: ReplyOf<"feature_set">): void {
  const before = detail.peek();
  // What has not changed is the same object as before, so that what hangs on it is not made anew.
  const isSame = before !== null && JSON.stringify(before.layers) === JSON.stringify(answer.layers);
  batch(() => {
    detail.value = isSame ? { ...answer, layers: before.layers } : answer;
    failure.value = "";
  });
}

// --- Ask for what takes its time: hear how far it is, take pieces as they come, stop when it is not wanted.

export interface Followed<Value> {
  /** The last that came, also of what was asked before. */
  readonly value: Value | null;
  /** Is it the answer to what is asked now, whole or in part? */
  readonly isOwn: boolean;
  /** From 0 to 1; null where nothing is being done. */
  readonly progress: number | null;
  readonly since: number;
  /** How many samples there were when it was asked for. */
  readonly numThen: number;
  readonly note: string;
  readonly problem: string;
  readonly isCancelled: boolean;
  readonly retry: () => void;
  readonly cancel: () => void;
}

const NOTHING = { value: null, key: "", progress: null, since: 0, numThen: 0, note: "", problem: "", isCancelled: false };

type Kind = Extract<Answer, { progress: number; is_done: boolean }>["type"] & Asked["type"];

/** Null asks for nothing. `take` is given what has come of the same question before; null is nothing yet. */
export function useFollowed<Type extends Kind, Value>(
  type: Type,
  own: Omit<Extract<Asked, { type: Type }>, "type" | "set_id"> | null,
  take: (reply: ReplyOf<Type>, before: Value | null) => Value | null,
): Followed<Value> {
  const [state, setState] = useState<Omit<Followed<Value>, "isOwn" | "retry" | "cancel"> & { key: string }>(NOTHING);
  const [turn, setTurn] = useState(0);
  const stop = useRef<() => void>(() => undefined);
  const asked = { type, set_id: setId.value, ...own } as unknown as Asked;
  const key = own === null ? "" : JSON.stringify(asked);
  const source = page.source.value;
  useEffect(() => {
    if (own === null || source === null) return undefined;
    let mine: Value | null = null;
    const fail = (problem: string): void => setState((before) => ({ ...before, progress: null, problem }));
    setState(({ value, key }) => ({ ...NOTHING, value, key, progress: 0, since: Date.now(), numThen: numDone.peek() }));
    stop.current = source.follow(asked, {
      hear: (reply) => {
        if (reply.answer.type !== type) return;
        const { progress, note, is_done: isDone } = reply.answer;
        try {
          mine = take(reply as ReplyOf<Type>, mine);
          setState((before) => ({ ...before, ...(mine === null ? {} : { value: mine, key }), progress: isDone ? null : progress, note }));
          if (isDone) stop.current();
        } catch (reason) {
          stop.current();
          fail(messageOf(reason));
        }
      },
      refuse: fail,
    });
    return () => stop.current();
  }, [key, turn, source]);
  const cancel = (): void => {
    stop.current();
    setState((before) => ({ ...before, progress: null, isCancelled: true }));
  };
  return { ...state, isOwn: state.value !== null && state.key === key, retry: () => setTurn((one) => one + 1), cancel };
}

/** `digit-0012: 3`, as far as that is known. */
export function sampleName(rows: FeatureRows, row: number): string {
  const label = rows.labels[rows.label_of[row] ?? -1] ?? "";
  const id = rows.ids[row] ?? "";
  const name = id === String(rows.samples[row]) ? `sample ${formatCount(rows.samples[row] ?? 0)}` : id;
  return label === "" ? name : `${name} (${label})`;
}

/** `16×8×8`; what varies is a question mark. */
export function shapeText(shape: readonly number[]): string {
  return shape.length === 0 ? "scalar" : shape.map((size) => (size < 0 ? "?" : String(size))).join("×");
}

/** `[3, 0, 7]`: where a unit is in its layer. */
export function placeText(place: readonly number[]): string {
  return place.length < 2 ? "" : `[${place.join(", ")}]`;
}

/** `on 500 of 1797 samples`. */
export function basisText(count: number, all: number): string {
  return count >= all ? `all ${formatNumberOf(all, "sample")}` : `${formatCount(count)} of ${formatNumberOf(all, "sample")}`;
}

/** `640 of 1797 samples`, or all of them. */
export function samplesText({ num_done: done, num_samples: all, is_complete: isComplete }: FeatureSetListing): string {
  if (isComplete) return formatCount(done);
  return all === null ? `${formatCount(done)} so far` : `${formatCount(done)} of ${formatCount(all)}`;
}
