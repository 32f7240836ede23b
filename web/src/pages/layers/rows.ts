/** The rows of the map: watched tensors in groups, which fold, with a filter and a place for each. */
import { obtain } from "../../data/collections";
import { formatNumberOf } from "../../data/format";
import type { WatchedRow } from "../../wire";

/** The groups, by the role of what stands in them. */
const TITLES: ReadonlyMap<string, string> = new Map([
  ["activation", "Activations"],
  ["gradient", "Gradients"],
  ["weight", "Weights"],
  ["weight_gradient", "Weight gradients"],
  ["update", "Updates"],
  ["state", "Optimizer"],
  ["tensor", "Tensors"],
]);

/** In the place of a role: the group of rows that were never seen, whatever they are. It is closed at first. */
export const UNSEEN = "never seen";

/** How the variable of a role ends: it stands in the title of the group already. */
const ENDINGS: Readonly<Record<string, string>> = {
  activation: "Act",
  gradient: "Grad",
  weight_gradient: "Grad",
  update: "Delta",
};

interface Placed {
  readonly row: WatchedRow;
  /** Its place in the answer. */
  readonly index: number;
}

export interface GroupLine {
  readonly kind: "group";
  readonly role: string;
  readonly title: string;
  readonly isOpen: boolean;
  readonly count: number;
  readonly hint: string;
  readonly top: number;
  readonly height: number;
  /** With the rows below it. */
  readonly heightOfAll: number;
}

export interface RowLine extends Placed {
  readonly kind: "row";
  readonly label: string;
  readonly top: number;
  readonly height: number;
}

export type Line = GroupLine | RowLine;

export interface Lines {
  readonly all: readonly Line[];
  readonly groups: readonly GroupLine[];
  readonly rows: readonly RowLine[];
  readonly byName: ReadonlyMap<string, RowLine>;
  readonly height: number;
}

/** How high the line of a group and that of a row are. */
export const TALL = { group: 26, row: 17 };
export const THIN = { group: 22, row: 6 };

/** What is written beside a row: what the title of its group does not say. The model itself has no address. */
export function labelOf({ layer, variable, role, name }: WatchedRow): string {
  const ending = ENDINGS[role];
  const isPlain = ending === undefined || !`.${variable}`.endsWith(`.${ending}`);
  const rest = isPlain ? variable : variable.slice(0, Math.max(0, variable.length - ending.length - 1));
  const label = [layer, rest].filter((part) => part !== "").join(".");
  return label === "" ? (role === "tensor" ? name : "(model)") : label;
}

export function roleTitle(role: string): string {
  return TITLES.get(role) ?? role;
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
  readonly isShown?: readonly boolean[] | null;
  /** The names of those that were never seen; they stand in a group of their own, at the end. */
  readonly unseen?: ReadonlySet<string>;
}

/** The rows that are chosen, by the role of their group, those that were never seen last. */
function rowsByGroup(rows: readonly WatchedRow[], { filter, isShown, unseen }: Choice): ReadonlyMap<string, Placed[]> {
  const groups = new Map<string, Placed[]>([...TITLES.keys()].map((role) => [role, []]));
  const left: Placed[] = [];
  for (const [index, row] of rows.entries()) {
    if (!matches(row, filter) || isShown?.[index] === false) continue;
    const its = unseen?.has(row.name) === true ? left : obtain(groups, row.role, () => []);
    its.push({ row, index });
  }
  return groups.set(UNSEEN, [...(groups.get(UNSEEN) ?? []), ...left]);
}

export function linesOf(rows: readonly WatchedRow[], choice: Choice, sizes: typeof TALL): Lines {
  const all: Line[] = [];
  let top = 0;
  const place = (line: GroupLine | RowLine): void => {
    all.push(line);
    top += line.height;
  };
  for (const [role, its] of rowsByGroup(rows, choice)) {
    const count = its.length;
    if (count === 0) continue;
    const isOpen = !choice.closed.has(role);
    const heightOfAll = sizes.group + (isOpen ? count * sizes.row : 0);
    place({ kind: "group", role, ...headOf(role, count), isOpen, count, top, height: sizes.group, heightOfAll });
    for (const { row, index } of isOpen ? its : [])
      place({ kind: "row", row, index, label: role === UNSEEN ? row.name : labelOf(row), top, height: sizes.row });
  }
  const groups = all.filter((line) => line.kind === "group");
  const shown = all.filter((line) => line.kind === "row");
  return { all, groups, rows: shown, byName: new Map(shown.map((line) => [line.row.name, line])), height: top };
}

function headOf(role: string, count: number): Pick<GroupLine, "title" | "hint"> {
  if (role !== UNSEEN) return { title: roleTitle(role), hint: "" };
  return {
    title: `${formatNumberOf(count, "row was", "rows were")} never seen`,
    hint: "layers that are not called, or that no gradient reaches",
  };
}

export function linesBetween<One extends Line>(lines: readonly One[], from: number, to: number): readonly One[] {
  return lines.filter(({ top, height }) => top + height > from && top < to);
}

/** The row at a height; undefined between two, and below the last one. */
export function rowAt(lines: readonly RowLine[], y: number): RowLine | undefined {
  return lines.find(({ top, height }) => top <= y && y < top + height);
}
