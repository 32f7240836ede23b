/** Networks, and a server of them that a test is the other end of. */
import { Refusal, type Asked, type Reply } from "../src/data/source";
import type { Answer, Grid, NetBlock, NetLayer, NetMomentsAnswer, NetSceneAnswer } from "../src/wire";
import { FakeRuns } from "./run-listings";

export function gridWith(parts: Partial<Grid> = {}): Grid {
  return { num_units: 6, tiles_across: 1, tiles_down: 1, columns: 3, rows: 2, gap: 0, is_colour: false, ...parts };
}

export function layerWith(name: string, parts: Partial<NetLayer> = {}): NetLayer {
  return {
    name,
    module: "Linear",
    shape: [2, 3],
    grid: gridWith(),
    variables: ["Act", "Grad"],
    place: { relation: null, other: "", offset: [0, 0, 0], scale: 1 },
    is_input: false,
    has_items: true,
    note: "",
    ...parts,
  };
}

export function momentsAnswer(steps: number[], parts: Partial<NetMomentsAnswer> = {}): NetMomentsAnswer {
  const times = steps.map((step) => step + 0.5);
  return { type: "net_moments", id: 1, is_all: true, steps, times, counters: {}, ranges: [], is_running: false, ...parts };
}

export function sceneAnswer(names: string[], parts: Partial<NetSceneAnswer> = {}): NetSceneAnswer {
  const variables = ["Act", "Grad", "r.Wt"].map((name) => ({ name, group: "State", about: "", low: null, high: null }));
  const layers = names.map((name) => layerWith(name));
  return {
    type: "net_scene",
    id: 1,
    scene: { layers, connections: [] },
    variables,
    source: "netview",
    num_items: 4,
    ranks: [0],
    note: "",
    ...parts,
  };
}

export function blockWith(layer: string, parts: Partial<NetBlock> = {}): NetBlock {
  return { layer, step: 0, num_units: 6, low: 0, high: 1, why: "", ...parts };
}

/** With the levels of all blocks one after the other. */
export function framed(answer: Answer, levels: readonly number[]): Reply {
  return { answer, buffer: new Uint16Array(levels).buffer, offset: 0 };
}

interface Waiting {
  readonly question: Asked;
  readonly answer: (reply: Reply) => Promise<void>;
  readonly refuse: (reason: string) => Promise<void>;
}

/** A source whose questions wait until the test answers them. */
export class FakeNet extends FakeRuns {
  readonly asked: Waiting[] = [];

  override ask(question?: Asked): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.asked.push({
        question: question!,
        answer: async (reply) => {
          resolve(reply);
          await soon();
        },
        refuse: async (reason) => {
          reject(new Refusal(reason));
          await soon();
        },
      });
    });
  }

  /** Questions of one type, in the order in which they came. */
  of<Type extends Asked["type"]>(type: Type): (Waiting & { readonly question: Extract<Asked, { type: Type }> })[] {
    return this.asked.filter(({ question }) => question.type === type) as never;
  }
}

/** Whatever waits for an answer that is there has gone on. */
export async function soon(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await Promise.resolve();
}
