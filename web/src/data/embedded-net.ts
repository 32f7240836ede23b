/** The source of a page that is one file and shows a network: it answers by itself what a NetView asks. */
import { signal } from "@preact/signals";
import type {
  Connection,
  NetBlock,
  NetLayer,
  NetMomentsAnswer,
  NetSceneAnswer,
  NetValuesAnswer,
  RunListing,
  SeriesListing,
} from "../wire";
import {
  type EmbeddedPiece,
  FileSource,
  type Levels,
  levelsOf,
  numberAt,
  type Numbers,
  Pieces,
} from "./embedded";
import { formatExact } from "./format";
import { LEVELS } from "./network/store";
import { NOT_IN_FILE, NOT_WEIGHTED } from "./network/words";
import { type Asked, Refusal, type Reply } from "./source";

/** What the list of runs needs to know: there is a network in it. */
const NETWORK: SeriesListing = {
  kind: "netview",
  name: "netview",
  count: 1,
  last_step: 0,
  last_time: 0,
  last_value: null,
  num_bad: 0,
  first_bad_step: null,
  description: "",
};

export class EmbeddedNetSource extends FileSource {
  readonly hasRuns = signal<boolean | null>(true);
  readonly hasLessons = signal<boolean | null>(false);
  readonly #data: NetData;

  /** Throws where the text is no data of a page. */
  constructor(json: string) {
    super();
    this.#data = new NetData(json);
  }

  override ask(question: Asked): Promise<Reply> {
    return this.#answer(question).catch((reason: unknown) => {
      if (reason instanceof Refusal) throw reason;
      const detail = reason instanceof Error ? reason.message : String(reason);
      throw new Refusal(`These values cannot be read (${detail}). Write the file again with view.write_html(path).`);
    });
  }

  async #answer(question: Asked): Promise<Reply> {
    switch (question.type) {
      case "net_values":
        return answerValues(this.#data, question);
      case "net_unit":
        return answerUnit(this.#data, question);
      case "net_unit_series":
        return answerUnitSeries(this.#data, question);
      case "net_raster":
        return answerRaster(this.#data, question);
      case "net_weights":
        return answerWeights(this.#data, question);
      default:
        throw this.refusal(question);
    }
  }

  protected override known(question: Asked): Reply | null {
    const { scene, moments, run } = this.#data.net;
    switch (question.type) {
      case "net_scene":
        return plainReply(scene);
      case "net_moments":
        return plainReply(moments);
      case "runs":
        return plainReply({ type: "runs", id: 0, folder: "", is_all: true, runs: [run], gone: [], note: "" });
      case "index":
        return plainReply({ type: "index", id: 0, runs: [{ run_id: run.id, is_all: true, series: [NETWORK] }] });
      default:
        return null;
    }
  }

  protected override refusal(question: Asked): Refusal {
    if (!question.type.startsWith("net_")) return super.refusal(question);
    // Analyses go through all items of a run.
    return new Refusal("This is not in the file, which has values only: view.show() and torcheer view show it.");
  }
}

// --- The weights of one unit, laid on the units at their other end, from the weights that stand in the page.

type WeightsQuestion = Extract<Asked, { type: "net_weights" }>;

const WEIGHT = "Wt";
const NO_FIT = "the weights do not fit the layers that they connect";

async function answerWeights(data: NetData, question: WeightsQuestion): Promise<Reply> {
  const own = data.layerWith(question.layer, question.unit);
  const isReceived = question.direction === "received";
  const byLayer = new Map<string, OneLayer>();
  for (const [at, connection] of data.net.scene.scene.connections.entries()) {
    if (own.name !== (isReceived ? connection.target : connection.source)) continue;
    const other = data.layer(isReceived ? connection.source : connection.target);
    if (other === undefined) continue;
    const its = byLayer.get(other.name) ?? new OneLayer(other);
    byLayer.set(other.name, its);
    await its.add(data, connection, data.net.axes[at] ?? null, question);
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

  async add(data: NetData, connection: Connection, axes: WeightAxes | null, question: WeightsQuestion): Promise<void> {
    const weight = await weightOf(data, connection, question);
    if (typeof weight === "string") {
      this.#why ??= weight;
      return;
    }
    const tokens = connection.form === "embedding" ? await data.values(connection.source, "Act", question) : null;
    const token = (place: number): number => (tokens === null ? Number.NaN : tokenAt(tokens, place));
    const found = axes === null ? null : laid(axes, question.unit, question.direction === "received", token);
    // A token that is none has no place among the weights.
    if (found === null || !found.every(([, place]) => place >= 0 && Number.isInteger(place) && place < weight.levels.length)) {
      this.#why ??= NO_FIT;
      return;
    }
    this.#hasValues = true;
    this.#step = Math.max(this.#step, weight.step);
    this.numWeights += found.length;
    for (const [unit, place] of found) {
      this.#values[unit]! += numberAt(weight, place) ?? 0;
      this.#isConnected[unit] = 1;
    }
  }

  filled(): Filled {
    if (!this.#hasValues) return unfilled(this.#layer.name, this.#why ?? NO_FIT);
    return filled(this.#layer.name, this.#step, levelsOf(this.#values, this.#isConnected));
  }
}

/** Or why it is not here. */
async function weightOf(data: NetData, connection: Connection, question: WeightsQuestion): Promise<Numbers | string> {
  if (connection.weight === "") return NOT_WEIGHTED;
  if (connection.form === "attention") return attentionOf(data, connection.weight, question);
  const found = data.findWeight(connection.weight, question.variable, question.step);
  return typeof found === "string" ? found : data.read(found);
}

/** Attention is a variable of a layer: the name is split at the last dot that leaves one. */
async function attentionOf(data: NetData, name: string, { variable, step, item }: WeightsQuestion): Promise<Numbers | string> {
  if (variable !== WEIGHT) return `attention has no ${variable}`;
  const when: When = { step, item };
  for (let at = name.lastIndexOf("."); at > 0; at = name.lastIndexOf(".", at - 1)) {
    const layer = data.layer(name.slice(0, at));
    if (layer === undefined) continue;
    const found = data.find(layer.name, name.slice(at + 1), when);
    return typeof found === "string" ? found : data.read(found);
  }
  return `${name} was not recorded`;
}

/** Numbers of tokens are whole: where they were rounded to levels, the nearest one is meant. */
function tokenAt(tokens: Numbers, place: number): number {
  const value = numberAt(tokens, place) ?? Number.NaN;
  return tokens.exact === null ? Math.round(value) : value;
}

// --- Which weights a unit receives and sends: along axes, which netview/weight_axes.py has found.

/** Of a connection. The steps along all axes add up to a unit of the source, one of the target and a place in the weight. */
export interface WeightAxes {
  /** Unit of the source. */
  first: number;
  axes: WeightAxis[];
}

interface WeightAxis {
  count: number;
  source: number;
  target: number;
  weight: number;
  /** A kernel: over a place of the narrow side lie those of the wide one at `place * stride - before + tap * gap`. */
  slide?: [numTaps: number, stride: number, before: number, gap: number, numWide: number, isWideSource: boolean];
  /** The place in the weight is that of the token at this unit of the source. */
  is_token?: boolean;
}

/** A unit at the other end, and the place of its weight. */
type Laid = readonly [unit: number, place: number];

/** A place may be NaN, where there is no such token. */
function laid({ first, axes }: WeightAxes, unit: number, isReceived: boolean, token: (place: number) => number): readonly Laid[] {
  const [mine, theirs] = isReceived ? (["target", "source"] as const) : (["source", "target"] as const);
  let rest = isReceived ? unit : unit - first;
  let found: readonly Laid[] = rest < 0 ? [] : [[isReceived ? first : 0, 0]];
  for (const axis of [...axes].sort((a, b) => b[mine] - a[mine])) {
    const own = axis[mine] === 0 ? null : Math.floor(rest / axis[mine]);
    rest -= (own ?? 0) * axis[mine];
    const steps = stepsAlong(axis, own, isReceived, token);
    found = found.flatMap(([base, from]) =>
      steps.map(([other, place]): Laid => [base + other * axis[theirs], from + place * axis.weight]),
    );
  }
  return found;
}

/** `own`: where the unit stands on the axis; null where it stands everywhere. */
function stepsAlong(
  { count, slide, is_token: isToken }: WeightAxis,
  own: number | null,
  isReceived: boolean,
  token: (place: number) => number,
): Laid[] {
  if (own === null) return Array.from({ length: count }, (_, at) => [at, at]);
  if (slide !== undefined) {
    const [numTaps, stride, before, gap, numWide, isWideSource] = slide;
    const isNarrow = isReceived === isWideSource;
    const reached = Array.from({ length: numTaps }, (_, tap): Laid => {
      return [isNarrow ? own * stride - before + tap * gap : (own + before - tap * gap) / stride, tap];
    });
    return reached.filter(([at]) => Number.isInteger(at) && at >= 0 && at < (isNarrow ? numWide : count));
  }
  if (own >= count) return [];
  return [[own, isToken === true ? token(own) : own]];
}

// --- What a page that is one file knows of a network: which values there are, and why others are not.

/** The number of a piece, or why there is none; null where it was left out. */
type PieceNumber = number | string | null;

/** One variable at a moment: a piece for each layer, or for each weight. */
export interface EmbeddedFrame {
  step: number;
  variable: string;
  item: number;
  pieces: PieceNumber[];
}

export interface EmbeddedNet {
  scene: NetSceneAnswer;
  moments: NetMomentsAnswer;
  run: RunListing;
  /** Their series. */
  weights: string[];
  /** For each connection; null where its weights do not fit the layers. */
  axes: (WeightAxes | null)[];
  max_bytes: number;
  is_exact: boolean;
  frames: EmbeddedFrame[];
  weight_frames: EmbeddedFrame[];
  pieces: EmbeddedPiece[];
}

const NOT_HERE = `${NOT_IN_FILE}, which was limited in size: view.show() and torcheer view show all`;

/** Of one moment and item. */
interface When {
  readonly step: number;
  readonly item: number;
}

export class NetData {
  readonly net: EmbeddedNet;
  /** Of the moments, rising. */
  readonly steps: readonly number[];
  readonly #pieces: Pieces;
  readonly #layers: ReadonlyMap<string, number>;
  readonly #weights: ReadonlyMap<string, number>;
  readonly #frames: ReadonlyMap<string, EmbeddedFrame>;
  readonly #weightFrames: ReadonlyMap<string, EmbeddedFrame>;

  /** Throws where the text is no data of a page. */
  constructor(json: string) {
    const net = JSON.parse(json) as EmbeddedNet;
    if (!Array.isArray(net.frames) || !Array.isArray(net.pieces) || !Array.isArray(net.scene.scene.layers)) {
      throw new Refusal("This is no network that torcheer wrote: it names no layers and values.");
    }
    this.net = net;
    this.steps = net.moments.steps;
    this.#pieces = new Pieces(net.pieces);
    this.#layers = new Map(net.scene.scene.layers.map(({ name }, at) => [name, at]));
    this.#weights = new Map(net.weights.map((name, at) => [name, at]));
    this.#frames = new Map(net.frames.map((frame) => [keyOf(frame.variable, frame), frame]));
    this.#weightFrames = new Map(net.weight_frames.map((frame) => [keyOf(frame.variable, { ...frame, item: 0 }), frame]));
  }

  layer(name: string): NetLayer | undefined {
    return this.net.scene.scene.layers[this.#layers.get(name) ?? -1];
  }

  /** The layer with this unit. Throws a Refusal where there is none. */
  layerWith(name: string, unit: number): NetLayer {
    const layer = this.layer(name);
    if (layer === undefined || unit >= layer.grid.num_units) throw new Refusal(`There is no unit ${unit} in “${name}”.`);
    return layer;
  }

  /** Of a layer: the number of its piece, or why there is none. */
  find(layer: string, variable: string, when: When): number | string {
    const at = this.#layers.get(layer);
    if (at === undefined) return "there is no such layer in this run";
    if (this.layer(layer)?.variables.includes(variable) !== true) return `${variable} was not recorded of this layer`;
    return this.#frames.get(keyOf(variable, when))?.pieces[at] ?? NOT_HERE;
  }

  findWeight(weight: string, variable: string, step: number): number | string {
    const at = this.#weights.get(weight);
    if (at === undefined) return `${weight} was not recorded`;
    return this.#weightFrames.get(keyOf(variable, { step, item: 0 }))?.pieces[at] ?? NOT_HERE;
  }

  /** Null where it is not here. */
  async values(layer: string, variable: string, when: When): Promise<Numbers | null> {
    const found = this.find(layer, variable, when);
    return typeof found === "number" ? this.read(found) : null;
  }

  read(piece: number): Promise<Numbers> {
    return this.#pieces.read(piece);
  }

  /** The step of the record that a piece is of. */
  stepOf(piece: number): number {
    return this.#pieces.step(piece);
  }
}

function keyOf(variable: string, { step, item }: When): string {
  return `${step} ${item} ${variable}`;
}

// --- Answer what a NetView asks from the values that stand in the page, as a server would from the run.

type Question<Type> = Extract<Asked, { type: Type }>;

/** A block, and the levels that go with it. */
interface Filled {
  readonly block: NetBlock;
  readonly levels: Uint16Array;
}

function filled(layer: string, step: number, { levels, low, high }: Levels | Numbers, numMoments = 1): Filled {
  return { block: { layer, step, num_units: levels.length / numMoments, low, high, why: "" }, levels };
}

function unfilled(layer: string, why: string): Filled {
  return { block: { layer, step: 0, num_units: 0, low: 0, high: 0, why }, levels: new Uint16Array(0) };
}

/** Levels one after the other, as in a frame. */
function replyWith(answer: Reply["answer"], blocks: readonly Filled[]): Reply {
  const all = new Uint16Array(blocks.reduce((sum, { levels }) => sum + levels.length, 0));
  let from = 0;
  for (const { levels } of blocks) {
    all.set(levels, from);
    from += levels.length;
  }
  return { answer, buffer: all.buffer, offset: 0 };
}

function plainReply(answer: Reply["answer"]): Reply {
  return { answer, buffer: new ArrayBuffer(0), offset: 0 };
}

async function answerValues(data: NetData, question: Question<"net_values">): Promise<Reply> {
  const blocks = await Promise.all(
    question.layers.map(async (layer): Promise<Filled> => {
      const found = data.find(layer, question.variable, question);
      if (typeof found === "string") return unfilled(layer, found);
      const numbers = await data.read(found);
      return filled(layer, numbers.step, numbers);
    }),
  );
  const answer: NetValuesAnswer = { type: "net_values", id: 0, step: question.step, blocks: blocks.map(({ block }) => block) };
  return replyWith(answer, blocks);
}

// --- one unit ------------------------------------------------------------------------------------

async function answerUnit(data: NetData, question: Question<"net_unit">): Promise<Reply> {
  const layer = data.layerWith(question.layer, question.unit);
  const [values, steps]: [Record<string, number | string>, Record<string, number>] = [{}, {}];
  for (const variable of layer.variables) {
    const numbers = await data.values(layer.name, variable, question);
    const value = numbers === null ? null : numberAt(numbers, question.unit);
    if (numbers === null || value === null) continue;
    values[variable] = said(value, numbers);
    steps[variable] = numbers.step;
  }
  return plainReply({ type: "net_unit", id: 0, values, steps });
}

/** Exactly where that is known; a value that was rounded comes as a text that says so. */
function said(value: number, { exact, low, high }: Numbers): number | string {
  if (!Number.isFinite(value)) return String(value);
  const width = (high - low) / LEVELS;
  if (exact !== null || width === 0) return value;
  // No digit that is smaller than the step from level to level; and less than half a step may be nothing at all.
  const digits = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(width)) + 1;
  const rounded = Math.abs(value) <= width / 2 ? 0 : Number(value.toPrecision(Math.max(1, Math.min(7, digits))));
  return `≈ ${formatExact(rounded, "f8")}`;
}

/** For each variable its steps, then its values, all of eight bytes. A record counts once. */
async function answerUnitSeries(data: NetData, question: Question<"net_unit_series">): Promise<Reply> {
  const layer = data.layerWith(question.layer, question.unit);
  const [variables, counts, columns]: [string[], number[], number[][]] = [[], [], []];
  for (const variable of layer.variables) {
    const found = new Map<number, number>();
    for (const piece of evenly(piecesOf(data, variable, question), question.most)) {
      const numbers = await data.read(piece);
      const value = numberAt(numbers, question.unit);
      if (value !== null) found.set(numbers.step, value);
    }
    if (found.size === 0) continue;
    variables.push(variable);
    counts.push(found.size);
    columns.push([...found.keys()], [...found.values()]);
  }
  const { buffer } = Float64Array.from(columns.flat());
  return { answer: { type: "net_unit_series", id: 0, variables, counts }, buffer, offset: 0 };
}

function piecesOf(data: NetData, variable: string, { layer, item, low, high }: Question<"net_unit_series">): number[] {
  const found = new Set<number>();
  for (const step of data.steps) {
    const piece = data.find(layer, variable, { step, item });
    if (typeof piece !== "number") continue;
    const recorded = data.stepOf(piece);
    if (recorded >= (low ?? -Infinity) && recorded <= (high ?? Infinity)) found.add(piece);
  }
  return [...found];
}

/** So many at most, the first and the last among them. */
function evenly(all: readonly number[], most: number): readonly number[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, at) => all[Math.round((at * (all.length - 1)) / Math.max(1, most - 1))]!);
}

// --- over the last moments -----------------------------------------------------------------------

async function answerRaster(data: NetData, question: Question<"net_raster">): Promise<Reply> {
  const steps = data.steps.filter((step) => step <= question.step).slice(-question.num_moments);
  const blocks: Filled[] = [];
  for (const layer of question.layers) blocks.push(await rasterBlock(data, question, layer, steps));
  return replyWith({ type: "net_raster", id: 0, steps: [...steps], blocks: blocks.map(({ block }) => block) }, blocks);
}

/** All moments on one scale. */
async function rasterBlock(
  data: NetData,
  { variable, item }: Question<"net_raster">,
  layer: string,
  steps: readonly number[],
): Promise<Filled> {
  const last = data.find(layer, variable, { step: steps.at(-1) ?? 0, item });
  const numUnits = data.layer(layer)?.grid.num_units ?? 0;
  if (typeof last === "string") return unfilled(layer, last);
  const values = new Float64Array(steps.length * numUnits);
  const isThere = new Uint8Array(values.length);
  for (const [row, step] of steps.entries()) {
    const numbers = await data.values(layer, variable, { step, item });
    for (let unit = 0; numbers !== null && unit < numUnits; unit++) {
      const value = numberAt(numbers, unit);
      if (value === null) continue;
      values[row * numUnits + unit] = value;
      isThere[row * numUnits + unit] = 1;
    }
  }
  return filled(layer, data.stepOf(last), levelsOf(values, isThere), steps.length);
}
