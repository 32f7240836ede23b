/** The tree as rows: what stands in view for the groups that are open, and where the arrow keys lead. */
import type { GraphNode, Hierarchy } from "../graph/model";

export interface TreeRow {
  readonly node: GraphNode;
  readonly level: number;
  readonly isGroup: boolean;
  readonly isOpen: boolean;
}

/** Rows from top to bottom. The model itself is always open. */
export function treeRows(hierarchy: Hierarchy, openGroups: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (key: string, level: number): void => {
    const node = hierarchy.nodes.get(key);
    if (node === undefined) return;
    const isGroup = node.kind === "group";
    const isOpen = isGroup && (key === hierarchy.root || openGroups.has(key));
    rows.push({ node, level, isGroup, isOpen });
    if (isOpen) for (const child of node.children) visit(child, level + 1);
  };
  visit(hierarchy.root, 0);
  return rows;
}

/** The row of a node or, where it is inside something closed, of what it is inside of; -1 for none. */
export function rowOf(rows: readonly TreeRow[], hierarchy: Hierarchy, key: string | null): number {
  let wanted = key;
  while (wanted !== null) {
    const current = wanted;
    const found = rows.findIndex((row) => row.node.key === current);
    if (found >= 0) return found;
    const node = hierarchy.nodes.get(wanted);
    wanted = node?.host ?? node?.parent ?? null;
  }
  return -1;
}

/** The row that encloses a row. */
export function parentRow(rows: readonly TreeRow[], at: number): number {
  const level = rows[at]?.level ?? 0;
  for (let above = at - 1; above >= 0; above--) if (rows[above]!.level < level) return above;
  return at;
}
