/** In which passes an edge of the rolled form is there, and as which argument, in the words of the static pictures. */
import type { GraphNode, Hierarchy, Use } from "./model";

/** More stretches than this, as in `1–3, 7, 9–12`, are only counted. */
const MOST_STRETCHES = 3;

/** A use with the passes of the boxes at both ends. */
interface Turned {
  readonly out: number;
  readonly into: number;
  readonly name: string;
}

/** `0 · passes 2–5` for what one box on screen gives another; empty where there is nothing to say. */
export function wordsBetween(tree: Hierarchy, uses: readonly Use[], from: GraphNode, to: GraphNode): string {
  const names = to.kind === "op" ? unique(uses.map((use) => use.name)) : [];
  // A stretch of ops is the call of nothing, and has no passes.
  if (tree.form === "unrolled" || numTurns(from) === 0 || numTurns(to) === 0) return joined([names.join(", ")]);
  const turned = uses.map((use) => ({
    out: turnOf(tree, use.from, from),
    into: turnOf(tree, use.to, to),
    name: to.kind === "op" ? use.name : "",
  }));
  const runOften = numTurns(from) > 1 && numTurns(to) > 1;
  const isBefore = ({ out, into }: Turned): boolean => runOften && out !== into;
  const before = turned.filter(isBefore);
  const same = turned.filter((use) => !isBefore(use));
  const crossed = crossedNames(same, from, to);
  if (crossed !== "" && before.length === 0) return crossed;
  const passes = [passesOfSame(same, from, to), passesFromBefore(before, from, to)];
  // Both ways in one line: what has nothing to say is there each time.
  if (same.length > 0 && before.length > 0 && passes[0] === "" && passes[1] !== "") passes[0] = "same pass";
  return joined([names.join(", "), joined(passes, ", ")]);
}

function passesOfSame(uses: readonly Turned[], from: GraphNode, to: GraphNode): string {
  const [out, into] = [turns(uses, "out"), turns(uses, "into")];
  if (uses.length === 0) return "";
  if (into.length < numTurns(to)) return passesText(into, to);
  return out.length < numTurns(from) ? `from ${passesText(out, from)}` : "";
}

/** What comes back is told by its readers' passes, what runs on by where it comes from. */
function passesFromBefore(uses: readonly Turned[], from: GraphNode, to: GraphNode): string {
  if (uses.length === 0) return "";
  if (from.order >= to.order) return passesOfSame(uses, from, to);
  if (uses.every(({ out, into }) => into - out === 1)) return "from the pass before";
  return `from ${passesText(turns(uses, "out"), from)}`;
}

/** `0 from pass 1, 1 from pass 2`: a difference of two passes of one layer. */
function crossedNames(uses: readonly Turned[], from: GraphNode, to: GraphNode): string {
  const [out, into] = [turns(uses, "out"), turns(uses, "into")];
  const isCrossed = into.length === 1 && numTurns(to) === 1 && out.length > 1 && numTurns(from) > 1;
  if (!isCrossed || unique(uses.map((use) => use.name)).length < 2) return "";
  const sorted = [...uses].sort((a, b) => a.out - b.out || a.name.localeCompare(b.name));
  return sorted.map(({ name, out: turn }) => `${name} from pass ${turn}`).join(", ");
}

/** How often a box ran; 0 for a stretch of ops. */
function numTurns(node: GraphNode): number {
  return node.kind === "op" ? node.ops.length : node.scopes.length;
}

/** Which pass of its box an op belongs to. */
function turnOf({ document }: Hierarchy, op: number, node: GraphNode): number {
  const entry = document.ops[op]!;
  if (node.kind === "op") return entry.pass_num;
  let scope = entry.scope;
  while (scope >= 0 && !node.scopes.includes(scope)) scope = document.scopes[scope]?.parent ?? -1;
  return node.scopes.indexOf(scope) + 1;
}

function turns(uses: readonly Turned[], end: "out" | "into"): number[] {
  return [...new Set(uses.map((use) => use[end]))].sort((a, b) => a - b);
}

/** `passes 2–5`; where that would become a long list, only how many. */
function passesText(numbers: readonly number[], node: GraphNode): string {
  const stretches: [number, number][] = [];
  for (const number of numbers) {
    const last = stretches.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else stretches.push([number, number]);
  }
  if (stretches.length > MOST_STRETCHES) return `${numbers.length} of ${numTurns(node)} passes`;
  const texts = stretches.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return `${numbers.length === 1 ? "pass" : "passes"} ${texts.join(", ")}`;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== "");
}

function joined(parts: readonly string[], by = " · "): string {
  return parts.filter((part) => part !== "").join(by);
}
