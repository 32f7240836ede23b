/** How one element of a result came about on the way forward, where that is said in a line. */
import type { Cells, LearnNode } from "../wire";
import { broadcastPlace, isNear, matrixProducts, placesOf } from "./arithmetic";
import { numbersOf } from "./cells";

/** What is written before the result; `none` where nothing says how it came about. */
export type Worked =
  | { readonly form: "products"; readonly terms: readonly (readonly number[])[] }
  | { readonly form: "sign"; readonly left: number; readonly sign: string; readonly right: number }
  | { readonly form: "function"; readonly name: string; readonly of: number }
  | { readonly form: "none" };

export interface Forward {
  readonly worked: Worked;
  readonly total: number;
  /** Of each input, in their order, which cells have a part in it. */
  readonly parts: readonly ReadonlySet<number>[];
}

interface Sign {
  /** As it is shown, and in an expression. */
  readonly shown: string;
  readonly typed: string;
  readonly make: (left: number, right: number) => number;
}

const SIGNS: Readonly<Record<string, Sign>> = {
  add: { shown: "+", typed: "+", make: (left, right) => left + right },
  sub: { shown: "\u2212", typed: "-", make: (left, right) => left - right },
  mul: { shown: "×", typed: "*", make: (left, right) => left * right },
  div: { shown: "/", typed: "/", make: (left, right) => left / right },
  pow: { shown: "**", typed: "**", make: (left, right) => left ** right },
};

const FUNCTIONS: Readonly<Record<string, (value: number) => number>> = {
  abs: Math.abs,
  cos: Math.cos,
  exp: Math.exp,
  log: Math.log,
  neg: (value) => -value,
  relu: (value) => Math.max(0, value),
  sigmoid: (value) => 1 / (1 + Math.exp(-value)),
  sin: Math.sin,
  sqrt: Math.sqrt,
  tanh: Math.tanh,
};

const NUMBER_FIRST = /^-?\d+\.?\d*(?:e[+-]?\d+)?/;
const NUMBER_ALONE = /^-?\d+\.?\d*(?:e[+-]?\d+)?$/;

export function forwardOf(node: LearnNode, inputs: readonly Cells[], nth: number): Forward {
  const total = numbersOf(node.value)[nth] ?? NaN;
  const none: Forward = { worked: { form: "none" }, total, parts: inputs.map(() => new Set<number>()) };
  if (node.rule === "matmul") return fromMatrices(node.value, inputs, nth, none);
  const places = inputs.map((cells) => broadcastPlace(node.value, nth, cells));
  const numbers = inputs.map((cells, at) => (places[at] == null ? NaN : numbersOf(cells)[places[at]]!));
  if (places.includes(null)) return none;
  const worked = withSign(node, numbers, total) ?? withFunction(node, numbers, total);
  return worked === null ? none : { worked, total, parts: places.map((place) => placesOf([place])) };
}

function fromMatrices(value: Cells, [left, right]: readonly Cells[], nth: number, none: Forward): Forward {
  if (left === undefined || right === undefined) return none;
  const products = matrixProducts(left, right, value, nth) ?? [];
  const [lefts, rights] = [numbersOf(left), numbersOf(right)];
  const terms = products.flatMap((one) =>
    one.left === null || one.right === null ? [] : [[lefts[one.left] ?? NaN, rights[one.right] ?? NaN]],
  );
  // Of what was cut off, nothing can be written out; and what does not add up is not claimed.
  const sum = terms.reduce((all, [one, other]) => all + one! * other!, 0);
  if (terms.length === 0 || terms.length < products.length || !isNear(sum, none.total)) return none;
  return {
    worked: { form: "products", terms },
    total: none.total,
    parts: [placesOf(products.map((one) => one.left)), placesOf(products.map((one) => one.right))],
  };
}

/** Two inputs, or one and a number that stands in the text: only what makes the result is claimed. */
function withSign({ rule, text }: LearnNode, numbers: readonly number[], total: number): Worked | null {
  const sign = Object.hasOwn(SIGNS, rule) ? SIGNS[rule] : undefined;
  const [one, other] = numbers;
  if (sign === undefined || one === undefined) return null;
  const pairs = other !== undefined ? [[one, other] as const] : pairsWith(one, sign.typed, text);
  const found = pairs.find(([left, right]) => isNear(sign.make(left, right), total));
  return found === undefined ? null : { form: "sign", left: found[0], sign: sign.shown, right: found[1] };
}

/** `3 * x` and `v ** 2`: the number at the beginning or at the end, beside the sign. */
function pairsWith(value: number, typed: string, text: string): (readonly [left: number, right: number])[] {
  const first = numberBefore(typed, text);
  const last = numberAfter(typed, text);
  return [
    ...(first === null ? [] : [[first, value] as const]),
    ...(last === null ? [] : [[value, last] as const]),
  ];
}

function numberBefore(sign: string, text: string): number | null {
  const number = NUMBER_FIRST.exec(text)?.[0];
  if (number === undefined) return null;
  const rest = withoutSpace(text.slice(number.length));
  // `*` is not the beginning of `**`.
  return rest.startsWith(sign) && rest[sign.length] !== "*" ? Number(number) : null;
}

function numberAfter(sign: string, text: string): number | null {
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) {
    const rest = withoutSpace(text.slice(at + sign.length));
    if (text[at - 1] !== "*" && NUMBER_ALONE.test(rest)) return Number(rest);
  }
  return null;
}

function withoutSpace(text: string): string {
  return text.startsWith(" ") ? text.slice(1) : text;
}

function withFunction({ rule }: LearnNode, [one, ...others]: readonly number[], total: number): Worked | null {
  const make = Object.hasOwn(FUNCTIONS, rule) ? FUNCTIONS[rule] : undefined;
  if (make === undefined || one === undefined || others.length > 0 || !isNear(make(one), total)) return null;
  return { form: "function", name: rule, of: one };
}

/** The element of the result to look at when a cell of an input is pointed at; the one that is looked at where it fits. */
export function resultFor(node: LearnNode, inputs: readonly Cells[], input: Cells, nth: number, now: number): number | null {
  const count = node.value.values.length;
  for (let at = 0; at < count; at += 1) {
    const place = (now + at) % count;
    const { parts } = forwardOf(node, inputs, place);
    if (inputs.some((cells, which) => cells === input && parts[which]!.has(nth))) return place;
  }
  return null;
}
