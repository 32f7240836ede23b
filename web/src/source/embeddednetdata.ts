/** What a page that is one file knows of a network: which values there are, and why others are not. */
import { NOT_IN_FILE } from "../netview/wording";
import type { NetLayer, NetMomentsAnswer, NetSceneAnswer, RunListing } from "../wire";
import { Pieces, type EmbeddedPiece, type Numbers } from "./embeddedpieces";
import { Refusal } from "./source";

/** The number of a piece, or why there is none; null where it was left out. */
export type PieceNumber = number | string | null;

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
  max_bytes: number;
  is_exact: boolean;
  frames: EmbeddedFrame[];
  weight_frames: EmbeddedFrame[];
  pieces: EmbeddedPiece[];
}

const NOT_HERE = `${NOT_IN_FILE}, which was limited in size: view.show() and torcheer view show all`;

/** Of one moment and item. */
export interface When {
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
