/** How one element of a contribution came about: which factors, and what they make. */
import type { BackwardStep, Cells, LearnNode } from "../../wire";
import { indexOf, numbersOf, placeOf } from "./cells";

export interface Working {
  /** Products that are summed; null where nothing says how it came about. */
  readonly terms: readonly (readonly number[])[] | null;
  readonly total: number;
  readonly left: ReadonlySet<number>;
  readonly right: ReadonlySet<number>;
  readonly upstream: ReadonlySet<number>;
  readonly raw: ReadonlySet<number>;
}

interface Product {
  readonly left: number | null;
  readonly right: number | null;
}

export function workingOf(step: BackwardStep, nth: number): Working {
  const raw = rawFor(step, nth);
  const total = numbersOf(step.contribution)[nth] ?? NaN;
  const parts = fromFactors(step, raw) ?? fromJacobian(step, nth) ?? fromUpstream(step, raw, total);
  return { terms: null, total, left: NO_CELLS, right: NO_CELLS, upstream: NO_CELLS, raw: new Set(raw), ...parts };
}

const NO_CELLS: ReadonlySet<number> = new Set();

function fromFactors(step: BackwardStep, raw: readonly number[]): Partial<Working> | null {
  const { left, right } = step;
  if (left === null || right === null) return null;
  const products = raw.flatMap((at) => productsFor(step, left, right, at) ?? []);
  if (products.length === 0) return null;
  return { terms: termsOf(products, left, right), ...partsOf(products) };
}

/** Null where some of them were cut off. */
function termsOf(products: readonly Product[], left: Cells, right: Cells): readonly number[][] | null {
  const [lefts, rights] = [numbersOf(left), numbersOf(right)];
  if (products.some((one) => one.left === null || one.right === null)) return null;
  return products.map((one) => [lefts[one.left!] ?? NaN, rights[one.right!] ?? NaN]);
}

function partsOf(products: readonly Product[]): Pick<Working, "left" | "right"> {
  return { left: placesOf(products.map((one) => one.left)), right: placesOf(products.map((one) => one.right)) };
}

/** A column of the Jacobian times what arrived: only what is not nought has a part. */
function fromJacobian({ jacobian, contribution, upstream }: BackwardStep, nth: number): Partial<Working> | null {
  const cells = jacobian?.cells;
  if (cells?.is_whole !== true || !contribution.is_whole || !upstream.is_whole) return null;
  const [slopes, arrived] = [numbersOf(cells), numbersOf(upstream)];
  const rows = steepRows(cells, nth);
  return { terms: rows.map((row) => [slopes[row * cells.num_columns + nth]!, arrived[row]!]), upstream: new Set(rows) };
}

/** The rows of a Jacobian in which a column is not nought. */
function steepRows(jacobian: Cells, column: number): number[] {
  const slopes = numbersOf(jacobian);
  return Array.from({ length: jacobian.num_rows }, (_, row) => row).filter((row) => slopes[row * jacobian.num_columns + column] !== 0);
}

/** Without factors a contribution is made of what arrived at its places. */
function fromUpstream({ raw, upstream }: BackwardStep, elements: readonly number[], total: number): Partial<Working> {
  const arrived = numbersOf(upstream);
  const places = elements.map((at) => broadcastPlace(raw, at, upstream));
  const numbers = places.map((place) => (place === null ? NaN : arrived[place]!));
  if (!isNear(numbers.reduce((sum, one) => sum + one, 0), total)) return {};
  return { terms: raw.is_whole ? numbers.map((one) => [one]) : null, upstream: placesOf(places) };
}

/** The elements before the sum over broadcast dimensions that make one after it. */
function rawFor({ raw, contribution }: BackwardStep, nth: number): number[] {
  return raw.values.map((_, at) => at).filter((at) => broadcastPlace(raw, at, contribution) === nth);
}

/** Where in a smaller tensor the element stands that was spread over this place: dimensions meet from the right. */
export function broadcastPlace(whole: Cells, nth: number, small: Cells): number | null {
  const index = indexOf(whole, nth);
  if (index.length < small.shape.length) return small.values.length === whole.values.length ? nth : null;
  return placeWithin(small, index);
}

function placeWithin(small: Cells, index: readonly number[]): number | null {
  const skipped = index.length - small.shape.length;
  return placeOf(small, small.shape.map((size, dim) => (size === 1 ? 0 : index[dim + skipped]!)));
}

function productsFor({ form, raw }: BackwardStep, left: Cells, right: Cells, at: number): Product[] | null {
  if (form === "matrix") return matrixProducts(left, right, raw, at);
  if (form === "general") return jacobianProducts(left, right, at);
  return [{ left: broadcastPlace(raw, at, left), right: broadcastPlace(raw, at, right) }];
}

/** What arrived, as a row, times a column of the Jacobian. */
function jacobianProducts(left: Cells, right: Cells, at: number): Product[] | null {
  if (!left.is_whole || !right.is_whole || at >= right.num_columns) return null;
  const rows = steepRows(right, at);
  return (rows.length > 0 ? rows : [0]).map((row) => ({ left: row, right: row * right.num_columns + at }));
}

/** Row times column; of stacks of matrices, those of the same place. */
function matrixProducts(left: Cells, right: Cells, raw: Cells, at: number): Product[] | null {
  const index = indexOf(raw, at);
  // Two vectors make a matrix where each number of one meets each of the other.
  const isOuter = left.shape.length === 1 && right.shape.length === 1 && raw.shape.length === 2;
  const column = right.shape.length > 1 || isOuter ? index.splice(-1) : [];
  const row = left.shape.length > 1 || isOuter ? index.splice(-1) : [];
  if (isOuter) return [{ left: placeWithin(left, row), right: placeWithin(right, column) }];
  const length = left.shape.at(-1) ?? 1;
  if (length !== (right.shape.length > 1 ? right.shape.at(-2) : (right.shape[0] ?? 1))) return null;
  return Array.from({ length }, (_, k) => ({
    left: placeWithin(left, [...index, ...row, k]),
    right: placeWithin(right, [...index, k, ...column]),
  }));
}

function placesOf(places: readonly (number | null)[]): ReadonlySet<number> {
  return new Set(places.filter((place) => place !== null));
}

function isNear(one: number, other: number): boolean {
  return Object.is(one, other) || Math.abs(one - other) <= 1e-5 * Math.max(1, Math.abs(other));
}

export type Part = "left" | "right" | "upstream" | "raw" | "contribution";

/** The element of the contribution to look at when a cell of some part is pointed at. */
export function elementFor(step: BackwardStep, part: Part, nth: number, now: number): number | null {
  if (part === "contribution") return nth;
  if (part === "raw") return broadcastPlace(step.raw, nth, step.contribution);
  return firstFrom(now, step.contribution.values.length, (place) => workingOf(step, place)[part].has(nth));
}

/** The one that is looked at stays where it fits already; else the next that does. */
function firstFrom(now: number, count: number, fits: (place: number) => boolean): number | null {
  for (let at = 0; at < count; at += 1) if (fits((now + at) % count)) return (now + at) % count;
  return null;
}

/** What is written before the result; `none` where nothing says how it came about. */
export type Worked =
  | { readonly form: "products"; readonly terms: readonly (readonly number[])[] }
  | { readonly form: "sign"; readonly left: number; readonly sign: string; readonly right: number }
  | { readonly form: "function"; readonly name: string; readonly of: number }
  | { readonly form: "none" };

interface Forward {
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

const NUMBER_FIRST = /^(-?\d+\.?\d*(?:e[+-]?\d+)?) ?(\*\*|[-+*/])/;
const NUMBER_LAST = /(\*\*|[-+*/]) ?(-?\d+\.?\d*(?:e[+-]?\d+)?)$/;

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
  // Of what was cut off, nothing can be written out; and what does not add up is not claimed.
  const terms = termsOf(products, left, right) ?? [];
  const sum = terms.reduce((all, [one, other]) => all + one! * other!, 0);
  if (terms.length === 0 || !isNear(sum, none.total)) return none;
  const parts = partsOf(products);
  return { worked: { form: "products", terms }, total: none.total, parts: [parts.left, parts.right] };
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
  const [[, first, after], [, before, last]] = [NUMBER_FIRST.exec(text) ?? [], NUMBER_LAST.exec(text) ?? []];
  return [
    ...(after === typed ? [[Number(first), value] as const] : []),
    ...(before === typed ? [[value, Number(last)] as const] : []),
  ];
}

function withFunction({ rule }: LearnNode, [one, ...others]: readonly number[], total: number): Worked | null {
  const make = Object.hasOwn(FUNCTIONS, rule) ? FUNCTIONS[rule] : undefined;
  if (make === undefined || one === undefined || others.length > 0 || !isNear(make(one), total)) return null;
  return { form: "function", name: rule, of: one };
}

/** The element of the result to look at when a cell of an input is pointed at; the one that is looked at where it fits. */
export function resultFor(node: LearnNode, inputs: readonly Cells[], input: Cells, nth: number, now: number): number | null {
  return firstFrom(now, node.value.values.length, (place) => {
    const { parts } = forwardOf(node, inputs, place);
    return inputs.some((cells, which) => cells === input && parts[which]!.has(nth));
  });
}
