/** Ask the server for the network of a run, its moments and their values, and for more as it comes. */
import { batch, computed, effect, untracked } from "@preact/signals";
import type { Asked, Source } from "../source/source";
import type { NetLayer, NetSceneAnswer } from "../wire";
import { blocksOf, nothing } from "./blocks";
import { Latest } from "./latest";
import { at, continues, isSettled, lastList, list, moments, step, withNews } from "./moments";
import { givenRun, isShown, rank, runId } from "./netrun";
import * as state from "./netstate";
import { followRange, forgetSeen, see, shownVariable } from "./ranges";
import { followUnits } from "./readings";
import * as store from "./store";
import { type Fetched, ValueDesk, type Wanted, WEIGHTS } from "./valuedesk";
import { weightVariable } from "./wording";

/** The server answers for no more at a time. */
const MAX_LAYERS = 2048;
/** So many moments are asked for ahead. */
const NUM_AHEAD = 4;

/** Call what it returns to stop. */
export function followNet(source: Source): () => void {
  const desk = new ValueDesk({
    ask: (question) => source.ask(question),
    show: showValues,
    fail: (_, reason) => (state.valueFailure.value = reason),
  });
  const stops = [
    followScene(source),
    keepWithinNet(),
    followMoments(source, desk),
    followRange(),
    followValues(desk),
    followRaster(source),
    followUnits(source),
    () => desk.stop(),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Of which network something is asked, once for each attempt; null for none. */
function askedNow(): { readonly runId: string; readonly rank: number; readonly attempt: number } | null {
  const asked = { runId: runId.value, rank: rank.value, attempt: state.attempts.value };
  return asked.runId === "" || !isShown.value ? null : asked;
}

function followScene(source: Source): () => void {
  return effect(() => {
    const asked = askedNow();
    if (asked === null) return undefined;
    untracked(() => {
      // Where run follows run, what is seen of the one before stays until there is something of the next.
      if (!state.isKnown.peek() && givenRun.peek() === null) batch(state.forget);
    });
    return source.follow(
      { type: "net_scene", run_id: asked.runId, rank: asked.rank },
      {
        hear: ({ answer }) => {
          if (answer.type === "net_scene") batch(() => takeScene(answer, asked));
        },
        refuse: (reason) => (state.sceneFailure.value = reason),
      },
    );
  });
}

function takeScene(answer: NetSceneAnswer, asked: { runId: string; rank: number }): void {
  state.sceneFailure.value = "";
  const isOther = state.known.peek()?.runId !== asked.runId;
  const { layers } = answer.scene;
  if (isOther && layers.length === 0 && givenRun.peek() !== null && store.scene.peek() !== null) return;
  const { source, num_items: numItems, ranks, note } = answer;
  state.known.value = { runId: asked.runId, rank: asked.rank, source, numItems, ranks, note };
  store.scene.value = answer.scene;
  store.variables.value = answer.variables;
  if (isOther) store.values.value = stillFitting(store.values.peek(), layers);
}

/** Values of a network before, for the layers that are as large as they were in it. */
function stillFitting(
  values: ReadonlyMap<string, store.PlateValues>,
  layers: readonly NetLayer[],
): ReadonlyMap<string, store.PlateValues> {
  const sizes = new Map(layers.map(({ name, grid }) => [name, grid.num_units]));
  return new Map([...values].filter(([name, { levels }]) => levels.length === sizes.get(name)));
}

/** An address may name what this network has not: then what it has is shown. */
function keepWithinNet(): () => void {
  let before = "";
  return effect(() => {
    if (!state.isKnown.value) return;
    const isOtherRun = before !== "" && before !== runId.value;
    before = runId.value;
    // A unit was selected in the network before; an address that names one which is not there is told so.
    if (isOtherRun && untracked(() => state.chosenUnit.value) === null) store.selected.value = null;
    const names = store.variables.value.map(({ name }) => name);
    if (names.length > 0 && !names.includes(store.variable.value)) store.variable.value = names[0]!;
    if (store.isolated.value !== null && state.layerOf(store.isolated.value) === null) store.isolated.value = null;
    if (store.item.value >= state.numItems.value) store.item.value = state.numItems.value - 1;
  });
}

function followMoments(source: Source, desk: ValueDesk): () => void {
  return effect(() => {
    const asked = askedNow();
    if (asked === null) return undefined;
    untracked(forgetSeen);
    return source.follow(
      { type: "net_moments", run_id: asked.runId, rank: asked.rank },
      {
        hear: ({ answer }) => {
          if (answer.type !== "net_moments") return;
          const before = lastList.peek();
          const next = withNews(before, asked, answer);
          // What was thinned or written anew is not what was fetched of it.
          if (!continues(next, before)) desk.forget();
          lastList.value = next;
        },
        refuse: (reason) => (state.valueFailure.value = reason),
      },
    );
  });
}

/** Every layer of the network may have the variable: the server says of each why it has not. */
const wantedLayers = computed<readonly string[]>(() =>
  store.shownLayers.value.slice(0, MAX_LAYERS).map(({ name }) => name),
);

const unitOfWeights = computed(() => {
  if (weightVariable(store.variable.value) === null) return null;
  const chosen = state.chosenUnit.value;
  return chosen === null ? null : { layer: chosen.layer.name, unit: chosen.unit };
});

function wantedAt(index: number): Wanted | null {
  const moment = moments.value[index];
  if (moment === undefined || !state.isKnown.value) return null;
  const isOfWeights = weightVariable(store.variable.value) !== null;
  const unit = unitOfWeights.value;
  if (isOfWeights && unit === null) return null;
  return {
    runId: runId.value,
    rank: rank.value,
    step: moment.step,
    variable: store.variable.value,
    item: store.item.value,
    layers: isOfWeights ? [WEIGHTS] : wantedLayers.value,
    unit,
    isFinal: list.value?.isRunning !== true || index < moments.value.length - 1,
  };
}

function followValues(desk: ValueDesk): () => void {
  let before = -1;
  return effect(() => {
    if (!isShown.value) return;
    const now = at.value;
    const wanted = wantedAt(now);
    const by = now < before ? -1 : 1;
    before = now;
    const ahead: Wanted[] = [];
    for (let far = 1; far <= NUM_AHEAD; far++) {
      const next = wantedAt(now + by * far);
      if (next !== null) ahead.push(next);
    }
    untracked(() => {
      isSettled.value = false;
      if (wanted === null) showNothing();
      desk.want(wanted, ahead);
    });
  });
}

/** Weights of no unit: there is nothing to wait for. */
function showNothing(): void {
  if (weightVariable(store.variable.peek()) === null || step.peek() === null) return;
  const why = "Select a unit to see its weights.";
  batch(() => {
    shownVariable.value = store.variable.peek();
    state.weightFacts.value = null;
    isSettled.value = true;
    store.values.value = new Map(store.shownLayers.peek().map(({ name }) => [name, nothing(step.peek() ?? 0, why)]));
  });
}

function showValues(wanted: Wanted, { blocks, bias, numWeights }: Fetched): void {
  const isOfWeights = wanted.unit !== null;
  batch(() => {
    state.valueFailure.value = "";
    state.weightFacts.value = isOfWeights ? { bias, numWeights, missing: reasonsOf(blocks) } : null;
    shownVariable.value = wanted.variable;
    state.shownStep.value = wanted.step;
    see(wanted.variable, blocks.values());
    const next = isOfWeights ? withUnconnected(blocks, wanted) : new Map([...store.values.peek(), ...blocks]);
    if (!isSameMap(next, store.values.peek())) store.values.value = next;
    isSettled.value = wanted.step === step.peek();
  });
}

function reasonsOf(blocks: Fetched["blocks"]): string[] {
  const empty = [...blocks.values()].filter(({ levels, why }) => levels.length === 0 && why !== "");
  return [...new Set(empty.map(({ why }) => why))];
}

/** What is not at the other end of a weight has no value. */
function withUnconnected(blocks: Fetched["blocks"], { step: now }: Wanted): Map<string, store.PlateValues> {
  const layers = store.scene.peek()?.layers ?? [];
  return new Map(layers.map(({ name }) => [name, blocks.get(name) ?? nothing(now, "Not connected with the unit.")]));
}

/** An upload for nothing is a frame lost. */
function isSameMap(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
  if (one.size !== other.size) return false;
  for (const [key, value] of one) if (other.get(key) !== value) return false;
  return true;
}

// --- The last moments of each layer beside each other, as long as they are wanted.

/** Of all layers together; two bytes each. */
const MAX_LEVELS = 4_000_000;
const MOST_MOMENTS = 256;
const LEAST_MOMENTS = 32;

interface RasterPlan {
  readonly layers: readonly string[];
  readonly numMoments: number;
}

/** The small layers first: one that is too large to be seen over time is left as it is. */
export function rasterPlan(layers: readonly NetLayer[]): RasterPlan {
  const chosen: string[] = [];
  let numUnits = 0;
  for (const { name, grid } of [...layers].sort((a, b) => a.grid.num_units - b.grid.num_units)) {
    if ((numUnits + grid.num_units) * LEAST_MOMENTS > MAX_LEVELS) break;
    numUnits += grid.num_units;
    chosen.push(name);
  }
  const numMoments = Math.min(MOST_MOMENTS, Math.floor(MAX_LEVELS / Math.max(1, numUnits)));
  return { layers: chosen, numMoments };
}

type RasterQuestion = Extract<Asked, { type: "net_raster" }>;

/** Call what it returns to stop. */
function followRaster(source: Source): () => void {
  const latest = new Latest<RasterQuestion, ReadonlyMap<string, store.RasterValues>>({
    ask: (question) => askRaster(source, question),
    hear: (question, found) => {
      const isWanted = state.isRaster.peek() && question.run_id === runId.peek();
      if (isWanted && question.variable === store.variable.peek()) store.raster.value = found;
    },
    refuse: (_, reason) => (state.valueFailure.value = reason),
  });
  const stop = effect(() => {
    const now = step.value;
    const isWanted = state.isRaster.value && state.isKnown.value && weightVariable(store.variable.value) === null;
    if (!isWanted || now === null) {
      store.raster.value = null;
      state.notInRaster.value = 0;
      latest.want(null);
      return;
    }
    const { layers, numMoments } = rasterPlan(store.shownLayers.value);
    state.notInRaster.value = store.shownLayers.value.length - layers.length;
    const question: RasterQuestion = {
      type: "net_raster",
      run_id: runId.value,
      rank: rank.value,
      step: now,
      variable: store.variable.value,
      item: store.item.value,
      layers: [...layers],
      num_moments: numMoments,
    };
    latest.want(layers.length === 0 ? null : question);
  });
  return () => {
    stop();
    latest.stop();
    store.raster.value = null;
  };
}

async function askRaster(source: Source, question: RasterQuestion): Promise<ReadonlyMap<string, store.RasterValues>> {
  const reply = await source.ask(question);
  const { answer } = reply;
  if (answer.type !== "net_raster") throw new Error(`The server answered with ${answer.type}.`);
  const { steps } = answer;
  const blocks = blocksOf(reply, answer.blocks, steps.length);
  return new Map([...blocks].map(([layer, block]) => [layer, { ...block, steps }]));
}
