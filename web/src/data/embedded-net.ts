/** The source of a page that is one file and shows a network: it answers by itself what a NetView asks. */
import { signal } from "@preact/signals";
import type {
  Answer,
  Connection,
  IndexAnswer,
  NetBlock,
  NetLayer,
  NetMomentsAnswer,
  NetSceneAnswer,
  RunsAnswer,
} from "../wire";
import { groupBy } from "./collections";
import { type EmbeddedPiece, FileSource, type Levels, levelsOf, numberAt, type Numbers, pieceReader } from "./embedded";
import { formatExact } from "./format";
import { messageOf } from "./message-of";
import { LEVELS } from "./network/store";
import { NOT_IN_FILE, NOT_WEIGHTED } from "./network/words";
import { type Asked, Refusal, type Reply } from "./source";

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
  runs: RunsAnswer;
  index: IndexAnswer;
  /** Their series. */
  weights: string[];
  /** For each connection; null where its weights do not fit the layers. */
  axes: (WeightAxes | null)[];
  frames: EmbeddedFrame[];
  weight_frames: EmbeddedFrame[];
  pieces: EmbeddedPiece[];
}

const NOT_HERE = `${NOT_IN_FILE}, which was limited in size: view.show() and torcheer view show all`;
const NO_FIT = "the weights do not fit the layers that they connect";
const WEIGHT = "Wt";

type Question<Type> = Extract<Asked, { type: Type }>;
type UnitQuestion = Question<"net_unit">;
type WeightsQuestion = Question<"net_weights">;

/** Of one moment and item. */
type When = Pick<UnitQuestion, "step" | "item">;

/** A connection of a unit with the layer at its other end. */
interface Link {
  readonly connection: Connection;
  readonly axes: WeightAxes | null;
  readonly other: string;
}

export class EmbeddedNetSource extends FileSource {
  readonly hasRuns = signal<boolean | null>(true);
  readonly hasLessons = signal<boolean | null>(false);
  readonly #net: EmbeddedNet;
  readonly #piece: (number: number) => Promise<Numbers>;
  readonly #layers: ReadonlyMap<string, NetLayer>;
  readonly #ofLayers: FindPiece;
  readonly #ofWeights: FindPiece;

  /** Throws where the text is no data of a page. */
  constructor(json: string) {
    super();
    const net = JSON.parse(json) as EmbeddedNet;
    if (!Array.isArray(net.frames) || !Array.isArray(net.pieces) || !Array.isArray(net.scene.scene.layers)) {
      throw new Refusal("This is no network that torcheer wrote: it names no layers and values.");
    }
    this.#net = net;
    this.#piece = pieceReader(net.pieces);
    this.#layers = new Map(net.scene.scene.layers.map((layer) => [layer.name, layer]));
    this.#ofLayers = piecesBy([...this.#layers.keys()], net.frames);
    this.#ofWeights = piecesBy(net.weights, net.weight_frames);
  }

  override ask(question: Asked): Promise<Reply> {
    return this.#answer(question).catch((reason: unknown) => {
      if (reason instanceof Refusal) throw reason;
      throw new Refusal(`These values cannot be read (${messageOf(reason)}). Write the file again with view.write_html(path).`);
    });
  }

  async #answer(question: Asked): Promise<Reply> {
    switch (question.type) {
      case "net_values":
        return this.#answerValues(question);
      case "net_unit":
        return this.#answerUnit(question);
      case "net_unit_series":
        return this.#answerUnitSeries(question);
      case "net_raster":
        return this.#answerRaster(question);
      case "net_weights":
        return this.#answerWeights(question);
      default:
        throw this.refusal(question);
    }
  }

  protected override known({ type }: Asked): Reply | null {
    const { scene, moments, runs, index } = this.#net;
    const answer = [scene, moments, runs, index].find((one) => one.type === type);
    return answer === undefined ? null : plainReply(answer);
  }

  protected override refusal(question: Asked): Refusal {
    if (!question.type.startsWith("net_")) return super.refusal(question);
    // Analyses go through all items of a run.
    return new Refusal("This is not in the file, which has values only: view.show() and torcheer view show it.");
  }

  // --- which values there are, and why others are not

  /** Of a layer: the number of its piece, or why there is none. */
  #find(name: string, variable: string, when: When): number | string {
    const layer = this.#layers.get(name);
    if (layer === undefined) return "there is no such layer in this run";
    if (!layer.variables.includes(variable)) return `${variable} was not recorded of this layer`;
    return this.#ofLayers(name, variable, when) ?? NOT_HERE;
  }

  /** What was found, or why it was not. */
  async #read(piece: number | string): Promise<Numbers | string> {
    return typeof piece === "number" ? this.#piece(piece) : piece;
  }

  async #answerValues({ layers, variable, step, item }: Question<"net_values">): Promise<Reply> {
    const read = layers.map((layer) => this.#read(this.#find(layer, variable, { step, item })));
    const blocks = (await Promise.all(read)).map((numbers, at) => blockOf(layers[at]!, numbers));
    return framed({ type: "net_values", id: 0, step }, blocks);
  }

  // --- one unit

  async #valueOf({ layer, unit, ...when }: Omit<UnitQuestion, "type">, variable: string): Promise<[number, Numbers] | null> {
    const numbers = await this.#read(this.#find(layer, variable, when));
    const value = typeof numbers === "string" ? null : numberAt(numbers, unit);
    return typeof numbers === "string" || value === null ? null : [value, numbers];
  }

  async #answerUnit(question: UnitQuestion): Promise<Reply> {
    const [values, steps]: [Record<string, number | string>, Record<string, number>] = [{}, {}];
    for (const variable of this.#layers.get(question.layer)?.variables ?? []) {
      const found = await this.#valueOf(question, variable);
      if (found === null) continue;
      values[variable] = said(...found);
      steps[variable] = found[1].step;
    }
    return plainReply({ type: "net_unit", id: 0, values, steps });
  }

  /** For each variable its steps, then its values, all of eight bytes. A record counts once. */
  async #answerUnitSeries({ layer, unit, item, most }: Question<"net_unit_series">): Promise<Reply> {
    const [variables, counts, columns]: [string[], number[], number[][]] = [[], [], []];
    for (const variable of this.#layers.get(layer)?.variables ?? []) {
      const pieces = this.#net.moments.steps.map((step) => this.#find(layer, variable, { step, item }));
      const found = new Map<number, number>();
      for (const piece of evenly([...new Set(pieces.filter((one) => typeof one === "number"))], most)) {
        const numbers = await this.#piece(piece);
        const value = numberAt(numbers, unit);
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

  // --- over the last moments

  async #answerRaster(question: Question<"net_raster">): Promise<Reply> {
    const steps = this.#net.moments.steps.filter((step) => step <= question.step).slice(-question.num_moments);
    const blocks: Filled[] = [];
    for (const layer of question.layers) blocks.push(await this.#rasterBlock(layer, question, steps));
    return framed({ type: "net_raster", id: 0, steps }, blocks);
  }

  /** All moments on one scale. */
  async #rasterBlock(layer: string, { variable, item }: Question<"net_raster">, steps: readonly number[]): Promise<Filled> {
    const numUnits = this.#layers.get(layer)?.grid.num_units ?? 0;
    const values = new Float64Array(steps.length * numUnits);
    const isThere = new Uint8Array(values.length);
    let last: Numbers | string = NOT_HERE;
    for (const [row, step] of steps.entries()) {
      last = await this.#read(this.#find(layer, variable, { step, item }));
      for (let unit = 0; typeof last !== "string" && unit < numUnits; unit++) {
        const value = numberAt(last, unit);
        if (value === null) continue;
        values[row * numUnits + unit] = value;
        isThere[row * numUnits + unit] = 1;
      }
    }
    return blockOf(layer, typeof last === "string" ? last : { ...levelsOf(values, isThere), step: last.step }, steps.length);
  }

  // --- the weights of one unit, laid on the units at their other end

  async #answerWeights(question: WeightsQuestion): Promise<Reply> {
    const isReceived = question.direction === "received";
    const links = this.#net.scene.scene.connections.flatMap((connection, at): Link[] => {
      const { source, target } = connection;
      const [own, other] = isReceived ? [target, source] : [source, target];
      return own === question.layer ? [{ connection, axes: this.#net.axes[at] ?? null, other }] : [];
    });
    const [bias = NaN] = (question.variable === WEIGHT ? await this.#valueOf(question, "Bias") : null) ?? [];
    let num_weights = 0;
    const blocks: Filled[] = [];
    for (const [other, its] of groupBy(links, (link) => link.other)) {
      const { numWeights, ...block } = await this.#weightsTo(other, its, question);
      num_weights += numWeights;
      blocks.push(block);
    }
    return framed({ type: "net_weights", id: 0, bias: Number.isFinite(bias) ? bias : null, num_weights }, blocks);
  }

  /** Where several connections lead to a unit, they add up. */
  async #weightsTo(layer: string, links: readonly Link[], question: WeightsQuestion): Promise<Filled & { numWeights: number }> {
    const values = new Float64Array(this.#layers.get(layer)?.grid.num_units ?? 0);
    const isConnected = new Uint8Array(values.length);
    let [numWeights, step, why] = [0, -1, ""];
    for (const link of links) {
      const found = await this.#laidOn(link, question);
      if (typeof found === "string") {
        why ||= found;
        continue;
      }
      const { weight, places } = found;
      step = Math.max(step, weight.step);
      numWeights += places.length;
      for (const [unit, place] of places) {
        values[unit]! += numberAt(weight, place) ?? 0;
        isConnected[unit] = 1;
      }
    }
    return { ...blockOf(layer, step < 0 ? why : { ...levelsOf(values, isConnected), step }), numWeights };
  }

  /** The weight and what it lies on, or why there is none. */
  async #laidOn({ connection, axes }: Link, question: WeightsQuestion): Promise<{ weight: Numbers; places: readonly Laid[] } | string> {
    const { weight: name, form, source } = connection;
    if (name === "") return NOT_WEIGHTED;
    const weight = await this.#read(form === "attention" ? this.#findAttention(name, question) : this.#findWeight(name, question));
    if (typeof weight === "string") return weight;
    const tokens = form === "embedding" ? await this.#read(this.#find(source, "Act", question)) : "";
    const token = (place: number): number => (typeof tokens === "string" ? Number.NaN : tokenAt(tokens, place));
    const places = axes === null ? null : laid(axes, question.unit, question.direction === "received", token);
    // A token that is none has no place among the weights.
    const fits = places?.every(([, place]) => place >= 0 && Number.isInteger(place) && place < weight.levels.length);
    return places !== null && fits === true ? { weight, places } : NO_FIT;
  }

  #findWeight(weight: string, { variable, step }: WeightsQuestion): number | string {
    if (!this.#net.weights.includes(weight)) return `${weight} was not recorded`;
    return this.#ofWeights(weight, variable, { step, item: 0 }) ?? NOT_HERE;
  }

  /** Attention is a variable of a layer. */
  #findAttention(name: string, question: WeightsQuestion): number | string {
    if (question.variable !== WEIGHT) return `attention has no ${question.variable}`;
    const layer = [...this.#layers.values()].find((one) => one.variables.some((variable) => name === `${one.name}.${variable}`));
    return layer === undefined ? `${name} was not recorded` : this.#find(layer.name, name.slice(layer.name.length + 1), question);
  }
}

type FindPiece = (name: string, variable: string, when: When) => PieceNumber;

/** `names`: in the order of the pieces of each frame. */
function piecesBy(names: readonly string[], frames: readonly EmbeddedFrame[]): FindPiece {
  const keyOf = (variable: string, { step, item }: When): string => `${step} ${item} ${variable}`;
  const places = new Map(names.map((name, at) => [name, at]));
  const known = new Map(frames.map((frame) => [keyOf(frame.variable, frame), frame.pieces]));
  return (name, variable, when) => known.get(keyOf(variable, when))?.[places.get(name) ?? -1] ?? null;
}

/** So many at most, the first and the last among them. */
function evenly(all: readonly number[], most: number): readonly number[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, at) => all[Math.round((at * (all.length - 1)) / Math.max(1, most - 1))]!);
}

/** Numbers of tokens are whole: where they were rounded to levels, the nearest one is meant. */
function tokenAt(tokens: Numbers, place: number): number {
  const value = numberAt(tokens, place) ?? Number.NaN;
  return tokens.exact === null ? Math.round(value) : value;
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

/** A block, and the levels that go with it. */
interface Filled {
  readonly block: NetBlock;
  readonly levels: Uint16Array;
}

/** What there is of a layer, or why there is nothing. */
function blockOf(layer: string, found: (Levels & { step: number }) | string, numMoments = 1): Filled {
  if (typeof found === "string") {
    return { block: { layer, step: 0, num_units: 0, low: 0, high: 0, why: found }, levels: new Uint16Array(0) };
  }
  const { step, levels, low, high } = found;
  return { block: { layer, step, num_units: levels.length / numMoments, low, high, why: "" }, levels };
}

type BlockAnswer = Extract<Answer, { blocks: NetBlock[] }>;
type Head<One> = One extends unknown ? Omit<One, "blocks"> : never;

/** Levels one after the other. */
function framed(head: Head<BlockAnswer>, blocks: readonly Filled[]): Reply {
  const all = new Uint16Array(blocks.reduce((sum, { levels }) => sum + levels.length, 0));
  let from = 0;
  for (const { levels } of blocks) {
    all.set(levels, from);
    from += levels.length;
  }
  return { answer: { ...head, blocks: blocks.map(({ block }) => block) }, buffer: all.buffer, offset: 0 };
}

function plainReply(answer: Answer): Reply {
  return { answer, buffer: new ArrayBuffer(0), offset: 0 };
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
