/** The words on a box: titles, subtitles and the few arguments that matter. */
import type { OpEntry, PassDocument, ScopeEntry } from "../../wire";
import { formatShape } from "../format";

/** Of several passes, the shapes of the first and the last. */
export function shapeRange(first: string, last: string): string {
  const start = first.split(" … ")[0]!;
  return start === last ? first : `${start} … ${last}`;
}

/** The full name of a call: its address or function, with its pass where it ran more than once. */
export function callName({ address, name, num_passes, pass_num }: ScopeEntry, withPass: boolean): string {
  const hasPass = withPass && address !== null && num_passes > 1;
  return `${address === null || address === "" ? name : address}${hasPass ? `:${pass_num}` : ""}`;
}

export function opTitle(op: OpEntry): string {
  if (op.kind === "op") return op.type === "" ? op.label : op.type;
  return op.name === "" ? op.label : op.name;
}

/** Without its pass where one box stands for several. */
export function opLabel(op: OpEntry, numPasses: number): string {
  if (op.kind !== "op" && op.name !== "") return op.name;
  return numPasses > 1 ? op.label.replace(/:\d+$/, "") : op.label;
}

/** `× 6` of something that ran more than once. */
export function timesText({ length }: readonly number[]): string {
  return length > 1 ? `× ${length}` : "";
}

/** What was done to the tensor of an op, in any of its passes. */
export function marksOf(ops: readonly OpEntry[]): string[] {
  const marks: string[] = [];
  if (ops[0]?.is_inplace === true) marks.push("in place");
  if (ops.some((op) => op.is_edited)) marks.push("edited");
  return marks;
}

/** `Conv2d 3×3 s2` for a module with one op, `reshape · 4, 49, −1` for an op that is by itself. */
export function opSubtitle(op: OpEntry, className: string, document: PassDocument): string {
  if (op.kind !== "op") return op.kind === "input" || op.kind === "output" ? formatShape(op.shape) : op.kind;
  const brief = briefArguments(op, document);
  if (className !== "") return joined([className, brief], " ");
  return joined([op.function, brief === "" ? op.arguments : brief], " · ");
}

/** `Sequential`. The number of ops comes with the sums. */
export function groupSubtitle(scope: ScopeEntry | undefined, className: string): string {
  return scope?.address === null ? "function" : className;
}

/** Each once, and none that is empty. */
export function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== "");
}

export function joined(parts: readonly string[], by: string): string {
  return parts.filter((part) => part !== "").join(by);
}

/** The arguments that tell one layer from another, for the kinds of op whose arguments are known. */
function briefArguments(op: OpEntry, document: PassDocument): string {
  const weight = document.params[op.params[0] ?? -1]?.shape ?? [];
  for (const [pattern, brief] of BRIEF) if (pattern.test(op.type)) return brief(splitArguments(op.arguments), weight);
  return "";
}

type Brief = (args: Arguments, weight: readonly number[]) => string;

const BRIEF: readonly (readonly [RegExp, Brief])[] = [
  [/^conv(transpose)?\dd$/, convolution],
  [/^(max|avg|lp)pool\dd/, pooling],
  [/^adaptive/, (args) => numbers(args.positional[0] ?? "").map((n) => n || "·").join("×")],
  [/^linear$/, (_, weight) => (weight.length === 2 ? `${weight[1]!} → ${weight[0]!}` : "")],
  [/dropout/, (args) => prefixed("p ", args.named.get("p") ?? args.positional[0])],
  [/^embedding$/, () => ""],
  [/norm$/, () => ""],
];

function convolution(args: Arguments, weight: readonly number[]): string {
  const positional = args.positional[0] === "None" ? args.positional.slice(1) : args.positional;
  const strides = numbers(args.named.get("stride") ?? positional[0] ?? "");
  const groups = Number(args.named.get("groups") ?? positional[3] ?? 1);
  const grouped = groups > 1 ? `g${groups}` : "";
  return joined([weight.slice(2).join("×"), strideText(strides), grouped], " ");
}

function pooling(args: Arguments): string {
  const sizes = numbers(args.named.get("kernel_size") ?? args.positional[0] ?? "");
  const strides = numbers(args.named.get("stride") ?? args.positional[1] ?? "");
  const size = sizes.length === 1 ? `${sizes[0]!}×${sizes[0]!}` : sizes.join("×");
  return joined([size, strideText(strides)], " ");
}

function strideText(strides: readonly string[]): string {
  if (strides.every((stride) => stride === "1")) return "";
  return strides.every((stride) => stride === strides[0]) ? `s${strides[0]!}` : `s${strides.join("×")}`;
}

function numbers(text: string): string[] {
  return text.match(/\d+/g) ?? [];
}

function prefixed(prefix: string, value: string | undefined): string {
  return value === undefined ? "" : prefix + value;
}

interface Arguments {
  readonly positional: readonly string[];
  readonly named: ReadonlyMap<string, string>;
}

/** A string, what stands in brackets (in brackets), or any other sign but a comma. */
const PIECE = /(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[([{](?:[^()[\]{}]|[([{][^()[\]{}]*[)\]}])*[)\]}]|[^,])+/g;

/** Split `None, (2, 2), dim=1` at the commas that are inside no bracket and no string. */
export function splitArguments(text: string): Arguments {
  const positional: string[] = [];
  const named = new Map<string, string>();
  for (const part of text.match(PIECE) ?? []) {
    const [, name, value] = /^([A-Za-z_]\w*)=(?!=)(.*)$/s.exec(part.trim()) ?? [];
    if (name !== undefined) named.set(name, value!);
    else if (part.trim() !== "") positional.push(part.trim());
  }
  return { positional, named };
}
