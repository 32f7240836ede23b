/** The steps of the way forward and back, and what somebody guesses of them. */
import type { LearnNode, Lesson } from "../../wire";

export type Direction = "forward" | "backward";

export interface Step {
  /** The op that it goes through, and the node that something arrives at, with its name. */
  readonly node: number;
  readonly to: number;
  readonly target: string;
  readonly title: string;
  /** That it goes along: one on the way back, all that lead to an op on the way forward. */
  readonly edges: readonly string[];
}

export function stepsOf({ nodes, forward, backward }: Lesson, direction: Direction): Step[] {
  if (direction === "forward") {
    return forward.map((id) => ({ node: id, to: id, target: nodes[id]!.name, title: nodes[id]!.text, edges: edgesInto(nodes[id]!) }));
  }
  return backward.map(({ node, to, title, form }, at) => {
    const nth = backward.slice(0, at).filter((before) => before.node === node && before.to === to).length;
    return { node, to, target: nodes[to]!.name, title, edges: form === "seed" ? [] : [edgeKey(to, node, nth)] };
  });
}

/** An edge of the graph: from an input to the op that read it, the n-th time that it did. */
function edgeKey(from: number, to: number, nth: number): string {
  return `${from}-${to}-${nth}`;
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
