/** Fetch the values of a moment, one question at a time: the latest wins, what was fetched is kept up to so many bytes. */
import { ByteCache } from "../sections/bytecache";
import { Refusal, type Asked, type Reply } from "../source/source";
import { blocksOf } from "./blocks";
import type { PlateValues, UnitPlace } from "./store";
import { weightVariable } from "./wording";

const MAX_CACHED_BYTES = 192_000_000;
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

export interface Telling {
  ask(question: Asked): Promise<Reply>;
  show(wanted: Wanted, fetched: Fetched): void;
  fail(wanted: Wanted, reason: string): void;
}

export class ValueDesk {
  readonly #telling: Telling;
  #cache: ByteCache<Fetched>;
  readonly #maxBytes: number;
  #wanted: Wanted | null = null;
  #ahead: readonly Wanted[] = [];
  #isBusy = false;
  #isShown = false;
  #isStopped = false;
  /** Answers to what was asked before are not kept. */
  #generation = 0;
  #lastBytes = 0;

  constructor(telling: Telling, maxBytes = MAX_CACHED_BYTES) {
    this.#telling = telling;
    this.#maxBytes = maxBytes;
    this.#cache = new ByteCache(maxBytes);
  }

  /** Show this as soon as possible, and have the others ready, the first of them first. */
  want(wanted: Wanted | null, ahead: readonly Wanted[] = []): void {
    this.#wanted = wanted;
    this.#ahead = ahead;
    this.#isShown = false;
    this.#advance();
  }

  /** What was kept holds no longer. */
  forget(): void {
    this.#generation += 1;
    this.#cache = new ByteCache(this.#maxBytes);
  }

  stop(): void {
    this.#isStopped = true;
    this.#wanted = null;
  }

  #advance(): void {
    const wanted = this.#wanted;
    if (wanted === null || this.#isStopped) return;
    if (!this.#isShown) {
      const missing = this.#missing(wanted);
      if (missing.length === 0) {
        this.#isShown = true;
        this.#telling.show(wanted, this.#kept(wanted));
      } else {
        if (!this.#isBusy) void this.#fetch(wanted, missing, true);
        return;
      }
    }
    if (this.#isBusy) return;
    const room = Math.floor((AHEAD_SHARE * this.#maxBytes) / Math.max(1, this.#lastBytes));
    for (const next of this.#ahead.slice(0, room)) {
      const missing = next.isFinal ? this.#missing(next) : [];
      if (missing.length === 0) continue;
      void this.#fetch(next, missing, false);
      return;
    }
  }

  async #fetch(wanted: Wanted, layers: readonly string[], isForNow: boolean): Promise<void> {
    this.#isBusy = true;
    const generation = this.#generation;
    try {
      const fetched = fetchedOf(await this.#telling.ask(questionOf(wanted, layers)));
      this.#isBusy = false;
      if (this.#isStopped) return;
      if (generation === this.#generation) this.#keep(wanted, fetched);
      if (isForNow) this.#tell(wanted, fetched);
    } catch (reason) {
      this.#isBusy = false;
      if (this.#isStopped) return;
      if (!isForNow) this.#ahead = [];
      else if (this.#wanted !== null && isSame(this.#wanted, wanted)) {
        // It is not asked again and again: the next wish does.
        this.#isShown = true;
        this.#ahead = [];
        this.#telling.fail(wanted, reason instanceof Error ? reason.message : String(reason));
      }
    }
    this.#advance();
  }

  /** While somebody scrubs, what has come is shown although another moment is wanted by now. */
  #tell(wanted: Wanted, fetched: Fetched): void {
    const now = this.#wanted;
    if (now === null || !isSameView(now, wanted)) return;
    if (isSame(now, wanted)) this.#isShown = true;
    const kept = this.#kept(wanted);
    this.#telling.show(wanted, { ...fetched, blocks: new Map([...kept.blocks, ...fetched.blocks]) });
  }

  #missing(wanted: Wanted): readonly string[] {
    return wanted.layers.filter((layer) => this.#cache.get(keyOf(wanted, layer)) === undefined);
  }

  #kept(wanted: Wanted): Fetched {
    const all = wanted.layers.map((layer) => this.#cache.get(keyOf(wanted, layer)));
    const found = all.filter((one) => one !== undefined);
    return {
      blocks: new Map(found.flatMap(({ blocks }) => [...blocks])),
      bias: found[0]?.bias ?? null,
      numWeights: found[0]?.numWeights ?? null,
    };
  }

  #keep(wanted: Wanted, fetched: Fetched): void {
    this.#lastBytes = bytesOf(fetched);
    if (weightVariable(wanted.variable) !== null) {
      const isOld = [...fetched.blocks.values()].some(({ step }) => step !== wanted.step);
      if (wanted.isFinal || !isOld) this.#cache.set(keyOf(wanted, WEIGHTS), fetched, this.#lastBytes);
      return;
    }
    for (const [layer, block] of fetched.blocks) {
      // The record of this very moment may still come.
      if (!wanted.isFinal && block.step !== wanted.step) continue;
      const one = { ...fetched, blocks: new Map([[layer, block]]) };
      this.#cache.set(keyOf(wanted, layer), one, bytesOf(one));
    }
  }
}

/** In the place of layers: the weights of a unit come all at once, for the layers that they lead to. */
export const WEIGHTS = "*";

/** The same but for the moment. */
function isSameView(one: Wanted, other: Wanted): boolean {
  return viewKey(one) === viewKey(other);
}

function isSame(one: Wanted, other: Wanted): boolean {
  if (one === other) return true;
  const isAlike = one.step === other.step && one.layers.length === other.layers.length && isSameView(one, other);
  return isAlike && one.layers.every((layer, at) => layer === other.layers[at]);
}

function viewKey({ runId, rank, variable, item, unit }: Wanted): string {
  return JSON.stringify([runId, rank, variable, item, unit?.layer, unit?.unit]);
}

function keyOf(wanted: Wanted, layer: string): string {
  return `${viewKey(wanted)} ${wanted.step} ${layer}`;
}

function bytesOf({ blocks }: Fetched): number {
  let bytes = 0;
  for (const { levels } of blocks.values()) bytes += levels.byteLength + ENTRY_BYTES;
  return bytes;
}

function questionOf(wanted: Wanted, layers: readonly string[]): Asked {
  const { runId: run_id, rank, step, item, variable, unit } = wanted;
  const weight = weightVariable(variable);
  if (weight === null || unit === null) {
    return { type: "net_values", run_id, rank, step, variable, item, layers: [...layers] };
  }
  const { direction, name } = weight;
  return { type: "net_weights", run_id, rank, step, item, layer: unit.layer, unit: unit.unit, direction, variable: name };
}

function fetchedOf(reply: Reply): Fetched {
  const { answer } = reply;
  if (answer.type === "net_values") {
    return { blocks: blocksOf(reply, answer.blocks), bias: null, numWeights: null };
  }
  if (answer.type === "net_weights") {
    return { blocks: blocksOf(reply, answer.blocks), bias: answer.bias, numWeights: answer.num_weights };
  }
  throw new Refusal(`The server answered with ${answer.type}.`);
}
