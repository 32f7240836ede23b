/** The rows of the map: watched tensors in groups, which fold, with a filter and a place for each. */
import { formatNumberOf } from "../format";
import type { WatchedRow } from "../wire";

const TITLES: readonly (readonly [role: string, title: string])[] = [
  ["activation", "Activations"],
  ["gradient", "Gradients"],
  ["weight", "Weights"],
  ["weight_gradient", "Weight gradients"],
  ["update", "Updates"],
  ["state", "Optimizer"],
  ["tensor", "Tensors"],
];

/** In the place of a role: the group of rows that were never seen, whatever they are. It is closed at first. */
export const UNSEEN = "never seen";

/** How the variable of a role ends: it stands in the title of the group already. */
const ENDINGS: Readonly<Record<string, string>> = {
  activation: "Act",
  gradient: "Grad",
  weight_gradient: "Grad",
  update: "Delta",
};

export interface GroupLine {
  readonly kind: "group";
  readonly role: string;
  readonly title: string;
  readonly isOpen: boolean;
  readonly count: number;
  readonly hint: string;
  readonly top: number;
  readonly height: number;
}

export interface RowLine {
  readonly kind: "row";
  readonly row: WatchedRow;
  /** Its place in the answer. */
  readonly index: number;
  readonly label: string;
  readonly top: number;
  readonly height: number;
}

export type Line = GroupLine | RowLine;

export interface Lines {
  readonly all: readonly Line[];
  readonly rows: readonly RowLine[];
  /** By the name of the row. */
  readonly byName: ReadonlyMap<string, RowLine>;
  readonly height: number;
}

export interface Sizes {
  readonly group: number;
  readonly row: number;
}

export const TALL: Sizes = { group: 26, row: 17 };
export const THIN: Sizes = { group: 22, row: 6 };

/** What is written beside a row: what the title of its group does not say. The model itself has no address. */
export function labelOf({ layer, variable, role, name }: WatchedRow): string {
  const ending = ENDINGS[role];
  const rest = ending === undefined ? variable : withoutEnding(variable, ending);
  const label = [layer, rest].filter((part) => part !== "").join(".");
  return label === "" ? (role === "tensor" ? name : "(model)") : label;
}

function withoutEnding(variable: string, ending: string): string {
  if (variable === ending) return "";
  return variable.endsWith(`.${ending}`) ? variable.slice(0, -ending.length - 1) : variable;
}

export function roleTitle(role: string): string {
  return TITLES.find(([one]) => one === role)?.[1] ?? role;
}

/** Does it have every word of the filter, in its name or in the type of its layer? */
export function matches({ name, module }: WatchedRow, filter: string): boolean {
  const text = `${name} ${module}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface Choice {
  readonly filter: string;
  readonly closed: ReadonlySet<string>;
  /** Which rows have something to show, by their place; all where it is not given. */
  readonly isShown?: (index: number) => boolean;
  /** The names of those that were never seen; they stand in a group of their own, at the end. */
  readonly unseen?: ReadonlySet<string>;
}

interface Placed {
  readonly row: WatchedRow;
  /** Its place in the answer. */
  readonly index: number;
}

/** The rows that are chosen, by the role of their group, those that were never seen last. */
function rowsByGroup(rows: readonly WatchedRow[], { filter, isShown, unseen }: Choice): ReadonlyMap<string, Placed[]> {
  const groups = new Map<string, Placed[]>(TITLES.map(([role]) => [role, []]));
  const left: Placed[] = [];
  for (const [index, row] of rows.entries()) {
    if (!matches(row, filter) || isShown?.(index) === false) continue;
    const its = unseen?.has(row.name) === true ? left : groups.get(row.role);
    if (its === undefined) groups.set(row.role, [{ row, index }]);
    else its.push({ row, index });
  }
  return groups.set(UNSEEN, [...(groups.get(UNSEEN) ?? []), ...left]);
}

export function linesOf(rows: readonly WatchedRow[], choice: Choice, sizes: Sizes): Lines {
  const all: Line[] = [];
  const shown: RowLine[] = [];
  let top = 0;
  for (const [role, its] of rowsByGroup(rows, choice)) {
    if (its.length === 0) continue;
    const isOpen = !choice.closed.has(role);
    const count = its.length;
    all.push({ ...headOf(role, count), kind: "group", role, isOpen, count, top, height: sizes.group });
    top += sizes.group;
    if (!isOpen) continue;
    for (const { row, index } of its) {
      const line: RowLine = { kind: "row", row, index, label: role === UNSEEN ? row.name : labelOf(row), top, height: sizes.row };
      all.push(line);
      shown.push(line);
      top += sizes.row;
    }
  }
  return { all, rows: shown, byName: new Map(shown.map((line) => [line.row.name, line])), height: top };
}

function headOf(role: string, count: number): Pick<GroupLine, "title" | "hint"> {
  if (role !== UNSEEN) return { title: roleTitle(role), hint: "" };
  return {
    title: `${formatNumberOf(count, "row was", "rows were")} never seen`,
    hint: "layers that are not called, or that no gradient reaches",
  };
}

/** The lines between two heights; they stand in the order of their places. */
export function linesBetween<One extends Line>(lines: readonly One[], from: number, to: number): readonly One[] {
  const first = firstBelow(lines, from);
  let end = first;
  while (end < lines.length && lines[end]!.top < to) end += 1;
  return lines.slice(first, end);
}

/** The line at a height; undefined below the last one. */
export function lineAt(lines: readonly Line[], y: number): Line | undefined {
  const found = lines[firstBelow(lines, y)];
  return found !== undefined && found.top <= y ? found : undefined;
}

/** The first line that ends below a height. */
function firstBelow(lines: readonly Line[], y: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { top, height } = lines[middle]!;
    if (top + height > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Where the heads of groups stand when the view is scrolled: at its upper edge while rows of theirs are below it. */
export function pinnedTops({ all, height }: Lines, scrollTop: number): readonly { line: GroupLine; top: number }[] {
  const heads = all.filter((line) => line.kind === "group");
  return heads.map((line, at) => {
    const end = heads[at + 1]?.top ?? height;
    return { line, top: Math.max(line.top, Math.min(scrollTop, end - line.height)) };
  });
}
