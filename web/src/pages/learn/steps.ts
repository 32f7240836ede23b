/** What is known at a step of the way forward or back: values, gradients, edges, the line of code. */
import type { BackwardStep, Cells, LearnNode, Lesson } from "../../wire";

export type Direction = "forward" | "backward";

export interface StepRow {
  /** From 1. */
  readonly number: number;
  /** Where something arrives. */
  readonly target: string;
  readonly title: string;
}

export type Arrived =
  /** `isAll`: nothing more will be added. */
  | { readonly state: "arrived"; readonly cells: Cells; readonly isAll: boolean; readonly step: BackwardStep }
  | { readonly state: "not yet" }
  | { readonly state: "none" };

/** What each step of a way is about: the op, and the node that something arrives at. */
function stepsOf(lesson: Lesson, direction: Direction): readonly { readonly node: number; readonly to: number; readonly title: string }[] {
  if (direction === "backward") return lesson.backward;
  return lesson.forward.map((id) => ({ node: id, to: id, title: lesson.nodes[id]!.text }));
}

export function numSteps(lesson: Lesson, direction: Direction): number {
  return lesson[direction].length;
}

export function stepRows(lesson: Lesson, direction: Direction): StepRow[] {
  return stepsOf(lesson, direction).map(({ to, title }, at) => ({ number: at + 1, target: lesson.nodes[to]!.name, title }));
}

/** The op that a step is about; null where there is no such step. */
export function nodeAt(lesson: Lesson, direction: Direction, step: number): LearnNode | null {
  return lesson.nodes[stepsOf(lesson, direction)[step - 1]?.node ?? -1] ?? null;
}

/** The node that something arrives at. */
export function targetAt(lesson: Lesson, direction: Direction, step: number): number | null {
  return stepsOf(lesson, direction)[step - 1]?.to ?? null;
}

/** The line of code that a step is about; 0 where none is known. */
export function lineAt(lesson: Lesson, direction: Direction, step: number): number {
  return nodeAt(lesson, direction, step)?.line ?? 0;
}

/** Is the value known at this step? On the way back all of them are. */
export function hasValue(lesson: Lesson, direction: Direction, step: number, id: number): boolean {
  if (direction === "backward") return true;
  const at = lesson.forward.indexOf(id);
  return at < 0 || at < step;
}

/** What has arrived at a node after this step of the way back. */
export function gradientAt(lesson: Lesson, direction: Direction, step: number, id: number): Arrived {
  const node = lesson.nodes[id];
  if (node?.wants_gradient !== true) return { state: "none" };
  if (direction === "forward") return { state: "not yet" };
  const last = lesson.backward.slice(0, Math.max(0, step)).findLast(({ to }) => to === id);
  if (last === undefined) return { state: "not yet" };
  return { state: "arrived", cells: last.after, isAll: last.number >= last.num_all, step: last };
}

/** An edge of the graph: from an input to the op that read it, the n-th time that it did. */
export function edgeKey(from: number, to: number, nth: number): string {
  return `${from}-${to}-${nth}`;
}

/** The edges that a step goes along: one on the way back, all that lead to an op on the way forward. */
export function edgesAt(lesson: Lesson, direction: Direction, step: number): ReadonlySet<string> {
  if (direction === "forward") {
    const node = nodeAt(lesson, direction, step);
    return new Set(node === null ? [] : edgesInto(node));
  }
  const now = lesson.backward[step - 1];
  if (now === undefined || now.form === "seed") return new Set();
  const before = lesson.backward.slice(0, step - 1).filter(({ node, to }) => node === now.node && to === now.to);
  return new Set([edgeKey(now.to, now.node, before.length)]);
}

/** All edges that were gone along before a step. */
export function doneEdges(lesson: Lesson, direction: Direction, step: number): ReadonlySet<string> {
  const done = new Set<string>();
  for (let at = 1; at < step; at += 1) for (const key of edgesAt(lesson, direction, at)) done.add(key);
  return done;
}

export function edgesInto({ id, parents }: LearnNode): string[] {
  return parents.map((parent, at) => edgeKey(parent, id, parents.slice(0, at).filter((one) => one === parent).length));
}

/** `a = x @ W1`; what has no name of its own is what was written. */
export function written({ name, text, is_named }: LearnNode): string {
  return is_named && text !== "" && text !== name ? `${name} = ${text}` : text || name;
}

// --- Is a guess right, and if not, what is wrong with it?

export interface Judgement {
  readonly isRight: boolean;
  readonly message: string;
}

/** As a number that somebody typed, or a product of some; null where it is none. */
function guessed(text: string): number | null {
  const factors = text.split(/[*\u00d7\u00b7]/).map(numberOf);
  return factors.reduce<number | null>((so, one) => (so === null || one === null ? null : so * one), 1);
}

function numberOf(text: string): number | null {
  const plain = text.trim().replaceAll("\u2212", "-").replace(/^(-?\d+),(\d+)$/, "$1.$2");
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : null;
}

/** Near enough: within a hundredth, or rounded as it was typed. */
export function judged(text: string, value: number): Judgement {
  const guess = guessed(text);
  if (guess === null) return { isRight: false, message: "That is not a number." };
  const off = Math.abs(guess - value);
  if (off <= 0.01 * Math.abs(value) || off <= roundingOf(text)) return { isRight: true, message: "Right." };
  if (value === 0) return { isRight: false, message: "No: nothing arrives here." };
  if (guess !== 0 && Math.sign(guess) !== Math.sign(value)) return { isRight: false, message: "No: it has the other sign." };
  return { isRight: false, message: Math.abs(guess) > Math.abs(value) ? "No: it is smaller." : "No: it is larger." };
}

/** Half of the last digit, where there are at least two decimals: 1.56 stands for 1.5565. */
function roundingOf(text: string): number {
  const decimals = /[.,](\d+)$/.exec(text.trim())?.[1]?.length ?? 0;
  return decimals < 2 ? 1e-9 : 0.5 * 10 ** -decimals + 1e-9;
}
