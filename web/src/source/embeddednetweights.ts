/** The weights of one unit, laid on the units at their other end, from the weights that stand in the page. */
import { NOT_WEIGHTED } from "../netview/wording";
import type { Connection, NetLayer } from "../wire";
import { filled, replyWith, unfilled, type Filled } from "./embeddednetanswers";
import type { NetData, When } from "./embeddednetdata";
import { levelsOf } from "./embeddedlevels";
import { numberAt, type Numbers } from "./embeddedpieces";
import { laid } from "./embeddedweights";
import type { Asked, Reply } from "./source";

type WeightsQuestion = Extract<Asked, { type: "net_weights" }>;

const WEIGHT = "Wt";
const NO_FIT = "the weights do not fit the layers that they connect";

export async function answerWeights(data: NetData, question: WeightsQuestion): Promise<Reply> {
  const own = data.layerWith(question.layer, question.unit);
  const isReceived = question.direction === "received";
  const byLayer = new Map<string, OneLayer>();
  for (const connection of data.net.scene.scene.connections) {
    if (own.name !== (isReceived ? connection.target : connection.source)) continue;
    const other = data.layer(isReceived ? connection.source : connection.target);
    if (other === undefined) continue;
    const its = byLayer.get(other.name) ?? new OneLayer(other);
    byLayer.set(other.name, its);
    await its.add(data, connection, question);
  }
  const all = [...byLayer.values()];
  const blocks = all.map((one) => one.filled());
  const numWeights = all.reduce((sum, one) => sum + one.numWeights, 0);
  const bias = await biasOf(data, question);
  const answer = { type: "net_weights", id: 0, blocks: blocks.map(({ block }) => block), bias, num_weights: numWeights } as const;
  return replyWith({ ...answer, blocks: [...answer.blocks] }, blocks);
}

async function biasOf(data: NetData, { layer, unit, variable, step, item }: WeightsQuestion): Promise<number | null> {
  const numbers = variable === WEIGHT ? await data.values(layer, "Bias", { step, item }) : null;
  const value = numbers === null ? null : numberAt(numbers, unit);
  return value !== null && Number.isFinite(value) ? value : null;
}

/** Where several connections lead to a unit, they add up. */
class OneLayer {
  readonly #layer: NetLayer;
  readonly #values: Float64Array;
  readonly #isConnected: Uint8Array;
  #step = 0;
  #why: string | null = null;
  #hasValues = false;
  numWeights = 0;

  constructor(layer: NetLayer) {
    this.#layer = layer;
    this.#values = new Float64Array(layer.grid.num_units);
    this.#isConnected = new Uint8Array(layer.grid.num_units);
  }

  async add(data: NetData, connection: Connection, question: WeightsQuestion): Promise<void> {
    const weight = await weightOf(data, connection, question);
    if (typeof weight === "string") {
      this.#why ??= weight;
      return;
    }
    const [source, target] = [data.layer(connection.source)!, data.layer(connection.target)!];
    const tokens = connection.form === "embedding" ? await data.values(source.name, "Act", question) : null;
    const token = (place: number): number | null => (tokens === null ? null : tokenAt(tokens, place));
    const ends = { connection, weightShape: weight.shape, source: source.shape, target: target.shape, token };
    const found = laid(ends, question.unit, question.direction);
    if (found === null) {
      this.#why ??= NO_FIT;
      return;
    }
    this.#hasValues = true;
    this.#step = Math.max(this.#step, weight.numbers.step);
    this.numWeights += found.units.length;
    found.units.forEach((unit, at) => {
      this.#values[unit]! += numberAt(weight.numbers, found.places[at]!) ?? 0;
      this.#isConnected[unit] = 1;
    });
  }

  filled(): Filled {
    if (!this.#hasValues) return unfilled(this.#layer.name, this.#why ?? NO_FIT);
    return filled(this.#layer.name, this.#step, levelsOf(this.#values, this.#isConnected));
  }
}

interface Weight {
  readonly numbers: Numbers;
  readonly shape: readonly number[];
}

/** Or why it is not here. */
async function weightOf(data: NetData, connection: Connection, question: WeightsQuestion): Promise<Weight | string> {
  if (connection.weight === "") return NOT_WEIGHTED;
  if (connection.form === "attention") return attentionOf(data, connection.weight, question);
  const found = data.findWeight(connection.weight, question.variable, question.step);
  if (typeof found === "string") return found;
  const numbers = await data.read(found);
  return { numbers, shape: numbers.shape };
}

/** Attention is a variable of a layer: the name is split at the last dot that leaves one. */
async function attentionOf(data: NetData, name: string, { variable, step, item }: WeightsQuestion): Promise<Weight | string> {
  if (variable !== WEIGHT) return `attention has no ${variable}`;
  const when: When = { step, item };
  for (let at = name.lastIndexOf("."); at > 0; at = name.lastIndexOf(".", at - 1)) {
    const layer = data.layer(name.slice(0, at));
    if (layer === undefined) continue;
    const found = data.find(layer.name, name.slice(at + 1), when);
    return typeof found === "string" ? found : { numbers: await data.read(found), shape: layer.shape };
  }
  return `${name} was not recorded`;
}

/** Numbers of tokens are whole: where they were rounded to levels, the nearest one is meant. */
function tokenAt(tokens: Numbers, place: number): number | null {
  const value = numberAt(tokens, place);
  return value === null || tokens.exact !== null ? value : Math.round(value);
}
