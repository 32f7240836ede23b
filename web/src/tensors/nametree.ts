/** Names as a tree: `layer2.0.conv1.weight` and `encoder/mean` stand under what they begin with. */

export interface NameRow<Leaf> {
  /** The whole of what it begins with; tells rows apart. */
  readonly path: string;
  /** What is written: the part of the name that the rows above do not have. */
  readonly title: string;
  readonly level: number;
  /** Null for a group. */
  readonly leaf: Leaf | null;
  readonly isOpen: boolean;
  /** How many leaves a group has. */
  readonly count: number;
}

interface Group<Leaf> {
  readonly path: string;
  readonly groups: Map<string, Group<Leaf>>;
  readonly leaves: { readonly title: string; readonly leaf: Leaf }[];
  count: number;
}

/** Rows from top to bottom. Groups of a single row are written together with it. */
export function nameRows<Leaf>(
  leaves: readonly Leaf[],
  nameOf: (leaf: Leaf) => string,
  closed: ReadonlySet<string>,
): NameRow<Leaf>[] {
  const root: Group<Leaf> = { path: "", groups: new Map(), leaves: [], count: 0 };
  for (const leaf of leaves) addLeaf(root, leaf, nameOf(leaf));
  const rows: NameRow<Leaf>[] = [];
  visit(root, "", 0, closed, rows);
  return rows;
}

/** `a.b/c` → `a.`, `b/`, `c`: each part keeps the sign that ends it. */
function partsOf(name: string): string[] {
  return name.match(/[^./]*[./]+|[^./]+$/g) ?? [name];
}

function addLeaf<Leaf>(root: Group<Leaf>, leaf: Leaf, name: string): void {
  const parts = partsOf(name);
  let group = root;
  group.count += 1;
  for (const part of parts.slice(0, -1)) {
    let next = group.groups.get(part);
    if (next === undefined) {
      next = { path: group.path + part, groups: new Map(), leaves: [], count: 0 };
      group.groups.set(part, next);
    }
    group = next;
    group.count += 1;
  }
  group.leaves.push({ title: parts.at(-1) ?? name, leaf });
}

function visit<Leaf>(
  group: Group<Leaf>,
  before: string,
  level: number,
  closed: ReadonlySet<string>,
  rows: NameRow<Leaf>[],
): void {
  for (const [part, inner] of group.groups) {
    const title = before + part;
    if (inner.count === 1 || (inner.leaves.length === 0 && inner.groups.size === 1)) {
      visit(inner, title, level, closed, rows);
      continue;
    }
    const isOpen = !closed.has(inner.path);
    rows.push({ path: inner.path, title, level, leaf: null, isOpen, count: inner.count });
    if (isOpen) visit(inner, "", level + 1, closed, rows);
  }
  for (const { title, leaf } of group.leaves)
    rows.push({ path: group.path + title, title: before + title, level, leaf, isOpen: false, count: 1 });
}
