/** Ask the server for the network of a run, its moments and their values, and for more as it comes. */
import { batch, computed, effect, type Signal, untracked } from "@preact/signals";
import type { Answer, NetBlock, NetLayer, NetMomentsAnswer, NetSceneAnswer } from "../../wire";
import { askOf, ByteCache, Desk, follow, type Held, type ReplyOf, type Wanted as WantedNow } from "../requests";
import { type Asked, Refusal, type Reply, type Source } from "../source";
import { followAsked } from "../useAsked";
import {
  at,
  givenRun,
  isSettled,
  isShown,
  lastList,
  list,
  type MomentList,
  moments,
  rank,
  runId,
  step,
  withNews,
} from "./moments";
import * as state from "./network-state";
import * as store from "./store";
import type { PlateValues } from "./store";
import { followUnits } from "./unit-readings";
import { lastVariable } from "./value-ranges";
import { weightVariable } from "./words";

/** The server answers for no more at a time. */
const MAX_LAYERS = 2048;
const NUM_AHEAD = 4;

export function followNet(source: Source): () => void {
  const desk = valueDesk(source, showValues, (reason) => (state.valueFailure.value = reason));
  const stops = [
    followAnswers(source, "net_scene", state.sceneFailure, takeScene, forgetScene),
    keepWithinNet(),
    followAnswers(source, "net_moments", state.valueFailure, (answer, place) => takeMoments(answer, place, desk)),
    followValues(desk),
    followRaster(source),
    followUnits(source),
    () => desk.stop(),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

type Place = Pick<MomentList, "runId" | "rank">;
type AnswerOf<Type> = Extract<Answer, { type: Type }>;

/** All answers of the network that is shown, from the first again for each attempt. Call what it returns to stop. */
function followAnswers<Type extends "net_scene" | "net_moments">(
  source: Source,
  type: Type,
  failure: Signal<string>,
  hear: (answer: AnswerOf<Type>, place: Place) => void,
  begin: () => void = () => undefined,
): () => void {
  return effect(() => {
    const place = { runId: runId.value, rank: rank.value, attempt: state.attempts.value };
    if (place.runId === "" || !isShown.value) return undefined;
    untracked(begin);
    const question = { type, run_id: place.runId, rank: place.rank } as Asked & { type: Type };
    const take = ({ answer }: ReplyOf<Type>): void => batch(() => hear(answer, place));
    return follow(source, question, take, (reason) => (failure.value = reason));
  });
}

function forgetScene(): void {
  // Where run follows run, what is seen of the one before stays until there is something of the next.
  if (!state.isKnown.peek() && givenRun.peek() === null) batch(state.forget);
}

function takeScene({ scene, variables, ...facts }: NetSceneAnswer, { runId: run, rank: itsRank }: Place): void {
  state.sceneFailure.value = "";
  const isOther = state.known.peek()?.runId !== run;
  if (isOther && scene.layers.length === 0 && givenRun.peek() !== null && store.scene.peek() !== null) return;
  state.known.value = { ...facts, runId: run, rank: itsRank };
  store.scene.value = scene;
  store.variables.value = variables;
  if (isOther) store.values.value = stillFitting(store.values.peek(), scene.layers);
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

function takeMoments(answer: NetMomentsAnswer, place: Place, desk: ValueDesk): void {
  // What was thinned or written anew is not what was fetched of it.
  if (answer.is_all) desk.forget();
  lastList.value = withNews(lastList.peek(), place, answer);
}

/** Every layer of the network may have the variable: the server says of each why it has not. */
const wantedLayers = computed(() => store.shownLayers.value.slice(0, MAX_LAYERS).map(({ name }) => name));

function wantedAt(index: number): Wanted | null {
  const moment = moments.value[index];
  if (moment === undefined || !state.isKnown.value) return null;
  const variable = store.variable.value;
  const isFinal = list.value?.isRunning !== true || index < moments.value.length - 1;
  const place = { run_id: runId.value, rank: rank.value, step: moment.step, item: store.item.value };
  const weight = weightVariable(variable);
  if (weight === null) {
    return { variable, isFinal, asked: { ...place, type: "net_values", variable, layers: wantedLayers.value } };
  }
  const chosen = state.chosenUnit.value;
  if (chosen === null) return null;
  const { direction, name } = weight;
  const unit = { layer: chosen.layer.name, unit: chosen.unit, direction, variable: name };
  return { variable, isFinal, asked: { ...place, ...unit, type: "net_weights" } };
}

function followValues(desk: ValueDesk): () => void {
  let before = -1;
  return effect(() => {
    if (!isShown.value) return;
    const now = at.value;
    const by = now < before ? -1 : 1;
    before = now;
    const [wanted, ...ahead] = Array.from({ length: 1 + NUM_AHEAD }, (_, far) => wantedAt(now + by * far));
    untracked(() => {
      isSettled.value = false;
      if (wanted == null) showNothing();
      desk.want(wanted ?? null, ahead.filter((one) => one !== null));
    });
  });
}

/** Weights of no unit: there is nothing to wait for. */
function showNothing(): void {
  if (!state.isOfWeights.peek() || step.peek() === null) return;
  const why = "Select a unit to see its weights.";
  batch(() => {
    lastVariable.value = store.variable.peek();
    state.weightFacts.value = null;
    isSettled.value = true;
    store.values.value = new Map(store.shownLayers.peek().map(({ name }) => [name, nothing(step.peek() ?? 0, why)]));
  });
}

function showValues(wanted: Wanted, { blocks, bias, numWeights }: Fetched): void {
  const isWeights = wanted.asked.type === "net_weights";
  batch(() => {
    state.valueFailure.value = "";
    state.weightFacts.value = isWeights ? { bias, numWeights, missing: reasonsOf(blocks) } : null;
    lastVariable.value = wanted.variable;
    state.shownStep.value = wanted.asked.step;
    const next = isWeights ? withUnconnected(blocks, wanted.asked.step) : new Map([...store.values.peek(), ...blocks]);
    if (!isSameMap(next, store.values.peek())) store.values.value = next;
    isSettled.value = wanted.asked.step === step.peek();
  });
}

function reasonsOf(blocks: Fetched["blocks"]): string[] {
  const empty = [...blocks.values()].filter(({ levels, why }) => levels.length === 0 && why !== "");
  return [...new Set(empty.map(({ why }) => why))];
}

/** What is not at the other end of a weight has no value. */
function withUnconnected(blocks: Fetched["blocks"], now: number): Map<string, store.PlateValues> {
  const layers = store.scene.peek()?.layers ?? [];
  return new Map(layers.map(({ name }) => [name, blocks.get(name) ?? nothing(now, "Not connected with the unit.")]));
}

/** An upload for nothing is a frame lost. */
function isSameMap(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
  if (one.size !== other.size) return false;
  for (const [key, value] of one) if (other.get(key) !== value) return false;
  return true;
}

/** Of all layers together; two bytes each. */
const MAX_LEVELS = 4_000_000;
const MOST_MOMENTS = 256;
const LEAST_MOMENTS = 32;

/** The small layers first: one that is too large to be seen over time is left as it is. */
export function rasterPlan(all: readonly NetLayer[]): { readonly layers: string[]; readonly numMoments: number } {
  const layers: string[] = [];
  let numUnits = 0;
  for (const { name, grid } of all.toSorted((a, b) => a.grid.num_units - b.grid.num_units)) {
    if ((numUnits + grid.num_units) * LEAST_MOMENTS > MAX_LEVELS) break;
    numUnits += grid.num_units;
    layers.push(name);
  }
  return { layers, numMoments: Math.min(MOST_MOMENTS, Math.floor(MAX_LEVELS / Math.max(1, numUnits))) };
}

type RasterQuestion = Extract<Asked, { type: "net_raster" }>;

function followRaster(source: Source): () => void {
  const wanted = (): WantedNow<ReadonlyMap<string, store.RasterValues>> | null => {
    const now = step.value;
    const isWanted = state.isRaster.value && state.isKnown.value && !state.isOfWeights.value;
    const plan = isWanted && now !== null ? rasterPlan(store.shownLayers.value) : null;
    state.notInRaster.value = plan === null ? 0 : store.shownLayers.value.length - plan.layers.length;
    if (plan === null) store.raster.value = null;
    if (plan === null || now === null || plan.layers.length === 0) return null;
    const question: RasterQuestion = {
      type: "net_raster",
      run_id: runId.value,
      rank: rank.value,
      step: now,
      variable: store.variable.value,
      item: store.item.value,
      layers: plan.layers,
      num_moments: plan.numMoments,
    };
    return { key: rasterSubject() + JSON.stringify(question), version: "", ask: () => askRaster(source, question) };
  };
  const stop = followAsked(wanted, ({ value, key, problem }) => {
    if (problem !== "") state.valueFailure.value = problem;
    // While somebody scrubs, a raster of another moment of the same run and variable is better than none.
    else if (state.isRaster.peek() && key.startsWith(rasterSubject())) store.raster.value = value;
  });
  return () => {
    stop();
    store.raster.value = null;
  };
}

function rasterSubject(): string {
  return [runId.value, store.variable.value, ""].join("\n");
}

async function askRaster(source: Source, question: RasterQuestion): Promise<ReadonlyMap<string, store.RasterValues>> {
  const reply = await askOf(question, "net_raster", source);
  const { steps, blocks } = reply.answer;
  return new Map([...blocksOf(reply, blocks, steps.length)].map(([layer, block]) => [layer, { ...block, steps }] as const));
}

const MAX_CACHED_BYTES = 192_000_000;
/** What is asked for ahead takes at most this share of what can be kept. */
const AHEAD_SHARE = 0.25;
/** Of a block besides its levels. */
const ENTRY_BYTES = 200;

type ValuesQuestion = Extract<Asked, { type: "net_values" | "net_weights" }>;

/** The values of some layers at a moment, or the weights of a unit. */
export interface Wanted {
  readonly asked: ValuesQuestion;
  /** As it is called where it is chosen: `r.Wt`. */
  readonly variable: string;
  /** No record of this moment will come any more. */
  readonly isFinal: boolean;
}

export interface Fetched {
  readonly blocks: ReadonlyMap<string, PlateValues>;
  /** Of weights: the bias of the unit, and how many there are. */
  readonly bias: number | null;
  readonly numWeights: number | null;
}

type Answered = Fetched & { readonly of: Wanted };
type Show = (wanted: Wanted, fetched: Fetched) => void;

type ValueDesk = ReturnType<typeof valueDesk>;

/**
 * Fetch the values of a moment, one question at a time: the latest wins, what was fetched is kept up to so many bytes.
 */
export function valueDesk(source: Source, show: Show, fail: (reason: string) => void, maxBytes = MAX_CACHED_BYTES) {
  const desk = new Desk<Answered>(hear);
  let cache = new ByteCache<Fetched>(maxBytes);
  let wanted: Wanted | null = null;
  let ahead: readonly Wanted[] = [];
  let isShown = false;
  let numWishes = 0;
  let lastBytes = 0;

  function advance(): void {
    if (wanted !== null && !isShown && missing(wanted) === null) {
      isShown = true;
      show(wanted, cache.get(keyOf(wanted)) ?? NOTHING);
    }
    const next = wanted === null || !isShown ? wanted : nextAhead();
    // A wish that is made once more is asked once more: there may be a record by now.
    const key = `${numWishes} ${next?.asked.step}`;
    desk.want(next === null ? null : { key, version: "", ask: () => fetch(next) });
  }

  function nextAhead(): Wanted | null {
    const room = Math.floor((AHEAD_SHARE * maxBytes) / Math.max(1, lastBytes));
    return ahead.slice(0, room).find((one) => one.isFinal && missing(one) !== null) ?? null;
  }

  function hear({ value, problem }: Held<Answered>): void {
    if (problem !== "") {
      ahead = [];
      if (!isShown) fail(problem);
      // It is not asked again and again: the next wish does.
      isShown = true;
    } else if (value !== null && wanted !== null && !isShown && keyOf(value.of, 0) === keyOf(wanted, 0)) {
      // While somebody scrubs, what has come is shown although another moment is wanted by now.
      isShown = JSON.stringify(value.of) === JSON.stringify(wanted);
      show(value.of, value);
    }
    advance();
  }

  /** With what is kept of it; kept itself, but for what may still come: the record of this very moment. */
  async function fetch(of: Wanted): Promise<Answered> {
    const [into, key] = [cache, keyOf(of)];
    const fetched = await fetchBlocks(source, missing(of) ?? of.asked);
    lastBytes = bytesOf(fetched);
    const final = [...fetched.blocks].filter(([, block]) => of.isFinal || block.step === of.asked.step);
    const before = into.get(key)?.blocks ?? [];
    // Weights are those of the unit all together.
    if (of.asked.type === "net_values" || final.length === fetched.blocks.size) {
      const kept = { ...fetched, blocks: new Map([...before, ...final]) };
      into.set(key, kept, bytesOf(kept));
    }
    return { ...fetched, of, blocks: new Map([...before, ...fetched.blocks]) };
  }

  /** What is still to be asked for; null where all of it is here. */
  function missing({ asked }: Wanted): ValuesQuestion | null {
    const kept = cache.get(keyOf({ asked }));
    if (asked.type === "net_weights") return kept === undefined ? asked : null;
    const layers = asked.layers.filter((layer) => kept?.blocks.has(layer) !== true);
    return layers.length === 0 ? null : { ...asked, layers };
  }

  return {
    /** Show this as soon as possible, and have the others ready, the first of them first. */
    want(next: Wanted | null, after: readonly Wanted[] = []): void {
      [wanted, ahead, isShown] = [next, after, false];
      numWishes += 1;
      advance();
    },
    /** What was kept holds no longer. What is on its way is kept where nobody looks any more. */
    forget(): void {
      cache = new ByteCache(maxBytes);
    },
    stop(): void {
      wanted = null;
      desk.close();
    },
  };
}

const NOTHING: Fetched = { blocks: new Map(), bias: null, numWeights: null };

/** Of all that is seen but which layers are. */
function keyOf({ asked }: Pick<Wanted, "asked">, step = asked.step): string {
  return JSON.stringify({ ...asked, step, layers: [] });
}

function bytesOf({ blocks }: Fetched): number {
  return [...blocks.values()].reduce((bytes, { levels }) => bytes + levels.byteLength + ENTRY_BYTES, 0);
}

async function fetchBlocks(source: Source, asked: ValuesQuestion): Promise<Fetched> {
  if (asked.type === "net_values") {
    const reply = await askOf(asked, "net_values", source);
    return { ...NOTHING, blocks: blocksOf(reply, reply.answer.blocks) };
  }
  const reply = await askOf(asked, "net_weights", source);
  const { blocks, bias, num_weights: numWeights } = reply.answer;
  return { blocks: blocksOf(reply, blocks), bias, numWeights };
}

// --- Take the blocks of a binary answer apart: the levels of each layer.

const LEVEL_BYTES = 2;

/**
 * The values of each layer. Each has bytes of its own, so that one that is kept does not keep the whole answer.
 * Of a raster there are so many moments of each.
 */
export function blocksOf(reply: Reply, blocks: readonly NetBlock[], numMoments = 1): Map<string, PlateValues> {
  const numLevels = blocks.reduce((sum, { num_units }) => sum + num_units * numMoments, 0);
  const numBytes = reply.buffer.byteLength - Math.min(reply.offset, reply.buffer.byteLength);
  if (numBytes !== numLevels * LEVEL_BYTES) {
    throw new Refusal(`${numLevels} values came as ${numBytes} bytes: the answer is damaged.`);
  }
  const found = new Map<string, PlateValues>();
  let from = reply.offset;
  for (const { layer, step, num_units: numUnits, low, high, why } of blocks) {
    const end = from + numUnits * numMoments * LEVEL_BYTES;
    found.set(layer, { levels: new Uint16Array(reply.buffer.slice(from, end)), low, high, step, why });
    from = end;
  }
  return found;
}

/** A layer of which there is nothing. */
function nothing(step: number, why: string): PlateValues {
  return { levels: new Uint16Array(0), low: 0, high: 0, step, why };
}
