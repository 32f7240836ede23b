/** Lessons for the tests, small enough to be worked out by hand. */
import { signal } from "@preact/signals";
import { Refusal, type Asked, type Connection, type PassListing, type Reply, type Source } from "../../../src/data/source";
import type { Answer, BackwardStep, Cells, Exercise, LearnNode, Lesson } from "../../../src/wire";
import { replyOf } from "../../run-listings";

/** The last dimension across, all others down. */
export function cells(shape: readonly number[], values: readonly (number | string)[], parts: Partial<Cells> = {}): Cells {
  const columns = shape.at(-1) ?? 1;
  return {
    shape: [...shape],
    num_rows: shape.length === 0 ? 1 : values.length / Math.max(1, columns),
    num_columns: columns,
    values: [...values],
    is_whole: true,
    ...parts,
  };
}

export function nodeWith(id: number, name: string, parts: Partial<LearnNode> = {}): LearnNode {
  return {
    id, name, is_named: true, kind: "op", rule: "add", text: name, layer: "", line: id + 1, dtype: "float32",
    parents: [], value: cells([2], [1, 2]), gradient: null, wants_gradient: true, ...parts,
  };
}

export function stepWith(parts: Partial<BackwardStep> = {}): BackwardStep {
  const one = parts.contribution ?? cells([2], [1, 2]);
  return {
    node: 0, to: 0, title: "add: 1", rule: "add", words: "A sum hands its gradient to both.",
    formula: String.raw`\grad{a} = \grad{c}`, form: "elementwise", upstream: one, left: null, left_label: "",
    right: null, right_label: "", raw: one, sums: [], contribution: one, before: null, after: one, number: 1,
    num_all: 1, jacobian: null, ...parts,
  };
}

/** y = x @ W, loss = y.sum(), with x = [[1, 2]] and W = [[3], [4]]. */
export function productLesson(parts: Partial<Lesson> = {}): Lesson {
  const one = cells([], [1]);
  const [x, W] = [cells([1, 2], [1, 2]), cells([2, 1], [3, 4])];
  const g = cells([1, 1], [1]);
  const nodes = [
    nodeWith(0, "x", { kind: "input", text: "", value: x, wants_gradient: false, line: 1 }),
    nodeWith(1, "W", { kind: "parameter", text: "", value: W, gradient: cells([2, 1], [1, 2]), line: 2 }),
    nodeWith(2, "y", { rule: "matmul", text: "x @ W", parents: [0, 1], value: cells([1, 1], [11]), gradient: g, line: 3 }),
    nodeWith(3, "loss", { rule: "sum", text: "y.sum()", parents: [2], value: cells([], [11]), gradient: one, line: 4 }),
  ];
  return {
    title: "A product", lines: ["x = T.tensor([[1.0, 2.0]])", "W = T.param([[3.0], [4.0]])", "y = x @ W", "loss = y.sum()"],
    first_line: 1, nodes, forward: [2, 3], loss: 3, fault: null, checks: [], notes: [],
    backward: [
      stepWith({ node: 3, to: 3, title: "seed with 1", rule: "", form: "seed", contribution: one, formula: String.raw`\grad{loss} = 1` }),
      stepWith({ node: 3, to: 2, title: "sum: 1 to each", rule: "sum", form: "moved", upstream: one, contribution: g, raw: g, after: g }),
      stepWith({
        node: 2, to: 1, title: "matmul: xᵀ · g", rule: "matmul", form: "matrix", upstream: g,
        left: cells([2, 1], [1, 2]), left_label: "local xᵀ", right: g, right_label: "upstream",
        formula: String.raw`\grad{W} = \name{x}^{\top} \grad{y}`, contribution: cells([2, 1], [1, 2]),
      }),
    ],
    ...parts,
  };
}

export const CHECK = {
  node: 1, torch: cells([2, 1], [1, 2]), torch_error: 0, difference: cells([2, 1], [1, 2.0001]), difference_error: 1e-4,
  tolerance: 1e-6, difference_tolerance: 1e-5, note: "",
};

export function exerciseWith(parts: Partial<Exercise> = {}): Exercise {
  const hole = { symbol: "a", formula: String.raw`\grad{a}`, hints: ["Look at b.", "It is scaled."], solution: "g * b", answer: "", is_right: false };
  return { id: "one", title: "A product", text: "First.\n\nSecond.", forward: "c = a * b", given: ["g: what arrives"], holes: [hole], is_solved: false, ...parts };
}

/** A source whose other end is the test: answers by the type of the question. */
export class FakeLessons implements Source {
  readonly hasRuns = signal<boolean | null>(false);
  readonly hasLessons = signal<boolean | null>(true);
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "connected" });
  readonly canMove = true;
  readonly asked: Asked[] = [];
  answers: Partial<Record<Asked["type"], (question: Asked) => Answer | Promise<Answer>>> = {};

  async ask(question: Asked): Promise<Reply> {
    this.asked.push(question);
    const answer = this.answers[question.type];
    if (answer === undefined) throw new Refusal(`no answer to ${question.type}`);
    return replyOf(await answer(question));
  }

  follow(): () => void {
    return () => undefined;
  }
  openPass() {
    return Promise.reject(new Refusal("nobody opens"));
  }
  tensor() {
    return Promise.resolve({ missing: "" });
  }
  figures() {
    return Promise.resolve([]);
  }
  refreshPasses(): void {
    // Nothing new.
  }
  retryNow(): void {
    // Connected.
  }
}
