/** The rows of the map: watched tensors in groups, which fold, with a filter and a place for each. */
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
  const rest = variable === ending ? "" : ending === undefined ? variable : variable.replace(new RegExp(`\\.${ending}$`), "");
  const label = [layer, rest].filter((part) => part !== "").join(".");
  return label === "" ? (role === "tensor" ? name : "(model)") : label;
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
}

export function linesOf(rows: readonly WatchedRow[], { filter, closed, isShown }: Choice, sizes: Sizes): Lines {
  const byRole = new Map<string, { row: WatchedRow; index: number }[]>(TITLES.map(([role]) => [role, []]));
  for (const [index, row] of rows.entries()) {
    if (!matches(row, filter) || isShown?.(index) === false) continue;
    const its = byRole.get(row.role);
    if (its === undefined) byRole.set(row.role, [{ row, index }]);
    else its.push({ row, index });
  }
  const all: Line[] = [];
  const shown: RowLine[] = [];
  let top = 0;
  for (const [role, its] of byRole) {
    if (its.length === 0) continue;
    const isOpen = !closed.has(role);
    all.push({ kind: "group", role, title: roleTitle(role), isOpen, count: its.length, top, height: sizes.group });
    top += sizes.group;
    if (!isOpen) continue;
    for (const { row, index } of its) {
      const line: RowLine = { kind: "row", row, index, label: labelOf(row), top, height: sizes.row };
      all.push(line);
      shown.push(line);
      top += sizes.row;
    }
  }
  return { all, rows: shown, byName: new Map(shown.map((line) => [line.row.name, line])), height: top };
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
