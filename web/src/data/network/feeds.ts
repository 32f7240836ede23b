/** Ask the server for the network of a run, its moments and their values, and for more as it comes. */
import { batch, computed, effect, type Signal, untracked } from "@preact/signals";
import type { Answer, NetBlock, NetLayer, NetMomentsAnswer, NetSceneAnswer } from "../../wire";
import { askOf, ByteCache, Desk, follow, type Held, type ReplyOf, type Wanted as WantedNow } from "../requests";
import { type Asked, Refusal, type Reply, type Source } from "../source";
import { followAsked } from "../useAsked";
import {
  at,
  continues,
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
import type { PlateValues, UnitPlace } from "./store";
import { followUnits } from "./unit-readings";
import { forgetSeen, lastVariable, see } from "./value-ranges";
import { weightVariable } from "./words";

/** The server answers for no more at a time. */
const MAX_LAYERS = 2048;
/** So many moments are asked for ahead. */
const NUM_AHEAD = 4;

/** Call what it returns to stop. */
export function followNet(source: Source): () => void {
  const desk = new ValueDesk(source, showValues, (reason) => (state.valueFailure.value = reason));
  const stops = [
    followAnswers(source, "net_scene", state.sceneFailure, forgetScene, takeScene),
    keepWithinNet(),
    followAnswers(source, "net_moments", state.valueFailure, forgetSeen, (answer, place) => takeMoments(answer, place, desk)),
    followValues(desk),
    followRaster(source),
    followUnits(source),
    () => desk.stop(),
  ];
  return () => stops.forEach((stop) => stop());
}

type Place = Pick<MomentList, "runId" | "rank">;
type AnswerOf<Type> = Extract<Answer, { type: Type }>;

/** All answers of the network that is shown, from the first again for each attempt. Call what it returns to stop. */
function followAnswers<Type extends "net_scene" | "net_moments">(
  source: Source,
  type: Type,
  failure: Signal<string>,
  begin: () => void,
  hear: (answer: AnswerOf<Type>, place: Place) => void,
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
  const before = lastList.peek();
  const next = withNews(before, place, answer);
  // What was thinned or written anew is not what was fetched of it.
  if (!continues(next, before)) desk.forget();
  lastList.value = next;
}

/** Every layer of the network may have the variable: the server says of each why it has not. */
const wantedLayers = computed<readonly string[]>(() =>
  store.shownLayers.value.slice(0, MAX_LAYERS).map(({ name }) => name),
);

const unitOfWeights = computed(() => {
  const chosen = state.isOfWeights.value ? state.chosenUnit.value : null;
  return chosen === null ? null : { layer: chosen.layer.name, unit: chosen.unit };
});

function wantedAt(index: number): Wanted | null {
  const moment = moments.value[index];
  if (moment === undefined || !state.isKnown.value) return null;
  const unit = unitOfWeights.value;
  if (state.isOfWeights.value && unit === null) return null;
  return {
    runId: runId.value,
    rank: rank.value,
    step: moment.step,
    variable: store.variable.value,
    item: store.item.value,
    layers: unit === null ? wantedLayers.value : [WEIGHTS],
    unit,
    isFinal: list.value?.isRunning !== true || index < moments.value.length - 1,
  };
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
  const isWeights = wanted.unit !== null;
  batch(() => {
    state.valueFailure.value = "";
    state.weightFacts.value = isWeights ? { bias, numWeights, missing: reasonsOf(blocks) } : null;
    lastVariable.value = wanted.variable;
    state.shownStep.value = wanted.step;
    see(wanted.variable, blocks.values());
    const next = isWeights ? withUnconnected(blocks, wanted) : new Map([...store.values.peek(), ...blocks]);
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

interface Raster {
  readonly question: RasterQuestion;
  readonly found: ReadonlyMap<string, store.RasterValues>;
}

/** Call what it returns to stop. */
function followRaster(source: Source): () => void {
  const wanted = (): WantedNow<Raster> | null => {
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
    return { key: JSON.stringify(question), version: "", ask: () => askRaster(source, question) };
  };
  const stop = followAsked(wanted, ({ value, problem }) => {
    if (problem !== "") state.valueFailure.value = problem;
    else if (value !== null && isWantedRaster(value.question)) store.raster.value = value.found;
  });
  return () => {
    stop();
    store.raster.value = null;
  };
}

/** While somebody scrubs, a raster of another moment of the same run and variable is better than none. */
function isWantedRaster({ run_id: asked, variable }: RasterQuestion): boolean {
  return state.isRaster.peek() && asked === runId.peek() && variable === store.variable.peek();
}

async function askRaster(source: Source, question: RasterQuestion): Promise<Raster> {
  const reply = await askOf(question, "net_raster", source);
  const { steps, blocks } = reply.answer;
  const found = [...blocksOf(reply, blocks, steps.length)].map(([layer, block]) => [layer, { ...block, steps }] as const);
  return { question, found: new Map(found) };
}

// --- Fetch the values of a moment, one question at a time: the latest wins, what was fetched is kept up to
//   so many bytes.

/** What is asked for ahead takes at most this share of what can be kept. */
const AHEAD_SHARE = 0.25;
/** Of a block besides its levels. */
const ENTRY_BYTES = 200;

/** The values of some layers at a moment. */
export interface Wanted {
  readonly runId: string;
  readonly rank: number;
  readonly step: number;
  readonly variable: string;
  readonly item: number;
  readonly layers: readonly string[];
  /** Whose weights, for variables of weights; null where no unit is selected. */
  readonly unit: UnitPlace | null;
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

export class ValueDesk {
  readonly #source: Source;
  readonly #show: Show;
  readonly #fail: (reason: string) => void;
  readonly #maxBytes: number;
  readonly #desk = new Desk<Answered>((held) => this.#hear(held));
  #cache: ByteCache<Fetched>;
  #wanted: Wanted | null = null;
  #ahead: readonly Wanted[] = [];
  #isShown = false;
  #numWishes = 0;
  #lastBytes = 0;

  constructor(source: Source, show: Show, fail: (reason: string) => void, maxBytes = 192_000_000) {
    this.#source = source;
    this.#show = show;
    this.#fail = fail;
    this.#maxBytes = maxBytes;
    this.#cache = new ByteCache(maxBytes);
  }

  /** Show this as soon as possible, and have the others ready, the first of them first. */
  want(wanted: Wanted | null, ahead: readonly Wanted[] = []): void {
    this.#wanted = wanted;
    this.#ahead = ahead;
    this.#isShown = false;
    this.#numWishes += 1;
    this.#advance();
  }

  /** What was kept holds no longer. What is on its way is kept where nobody looks any more. */
  forget(): void {
    this.#cache = new ByteCache(this.#maxBytes);
  }

  stop(): void {
    this.#wanted = null;
    this.#desk.close();
  }

  #advance(): void {
    const wanted = this.#wanted;
    if (wanted !== null && !this.#isShown && this.#missing(wanted).length === 0) {
      this.#isShown = true;
      this.#show(wanted, this.#kept(wanted));
    }
    const next = wanted === null || !this.#isShown ? wanted : this.#nextAhead();
    // A wish that is made once more is asked once more: there may be a record by now.
    const key = `${this.#numWishes} ${next?.step}`;
    this.#desk.want(next === null ? null : { key, version: "", ask: () => this.#fetch(next) });
  }

  #nextAhead(): Wanted | null {
    const room = Math.floor((AHEAD_SHARE * this.#maxBytes) / Math.max(1, this.#lastBytes));
    return this.#ahead.slice(0, room).find((one) => one.isFinal && this.#missing(one).length > 0) ?? null;
  }

  #hear({ value, problem }: Held<Answered>): void {
    const wanted = this.#wanted;
    if (problem !== "") {
      this.#ahead = [];
      if (!this.#isShown) this.#fail(problem);
      // It is not asked again and again: the next wish does.
      this.#isShown = true;
    } else if (value !== null && wanted !== null && !this.#isShown && viewKey(value.of) === viewKey(wanted)) {
      // While somebody scrubs, what has come is shown although another moment is wanted by now.
      this.#isShown = value.of.step === wanted.step && value.of.layers.join("\n") === wanted.layers.join("\n");
      const kept = this.#kept(value.of);
      this.#show(value.of, { ...value, blocks: new Map([...kept.blocks, ...value.blocks]) });
    }
    this.#advance();
  }

  async #fetch(wanted: Wanted): Promise<Answered> {
    const cache = this.#cache;
    const fetched = await fetchBlocks(this.#source, wanted, this.#missing(wanted));
    this.#keep(cache, wanted, fetched);
    return { ...fetched, of: wanted };
  }

  #missing(wanted: Wanted): readonly string[] {
    return wanted.layers.filter((layer) => this.#cache.get(keyOf(wanted, layer)) === undefined);
  }

  #kept(wanted: Wanted): Fetched {
    const found = wanted.layers.map((layer) => this.#cache.get(keyOf(wanted, layer))).filter((one) => one !== undefined);
    const blocks = new Map(found.flatMap((one) => [...one.blocks]));
    return { bias: null, numWeights: null, ...found[0], blocks };
  }

  #keep(cache: ByteCache<Fetched>, wanted: Wanted, fetched: Fetched): void {
    this.#lastBytes = bytesOf(fetched);
    // The record of this very moment may still come.
    const isKept = (block: PlateValues): boolean => wanted.isFinal || block.step === wanted.step;
    if (wanted.unit !== null) {
      if ([...fetched.blocks.values()].every(isKept)) cache.set(keyOf(wanted, WEIGHTS), fetched, this.#lastBytes);
      return;
    }
    for (const [layer, block] of fetched.blocks) {
      const one = { ...fetched, blocks: new Map([[layer, block]]) };
      if (isKept(block)) cache.set(keyOf(wanted, layer), one, bytesOf(one));
    }
  }
}

/** In the place of layers: the weights of a unit come all at once, for the layers that they lead to. */
export const WEIGHTS = "*";

/** Of all that is seen but the moment. */
function viewKey({ runId, rank, variable, item, unit }: Wanted): string {
  return [runId, rank, variable, item, unit?.layer, unit?.unit].join(" ");
}

function keyOf(wanted: Wanted, layer: string): string {
  return `${viewKey(wanted)} ${wanted.step} ${layer}`;
}

function bytesOf({ blocks }: Fetched): number {
  return [...blocks.values()].reduce((bytes, { levels }) => bytes + levels.byteLength + ENTRY_BYTES, 0);
}

async function fetchBlocks(source: Source, wanted: Wanted, layers: readonly string[]): Promise<Fetched> {
  const { runId: run_id, rank, step, item, variable, unit: place } = wanted;
  const weight = weightVariable(variable);
  if (weight === null || place === null) {
    const reply = await askOf({ type: "net_values", run_id, rank, step, variable, item, layers: [...layers] }, "net_values", source);
    return { blocks: blocksOf(reply, reply.answer.blocks), bias: null, numWeights: null };
  }
  const { direction, name } = weight;
  const asked = { type: "net_weights", run_id, rank, step, item, ...place, direction, variable: name } as const;
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
