/** The tree of modules and the ops in them. It opens and closes with the graph and follows the selection. */
import { useMemo, useState } from "preact/hooks";
import { formatShape } from "../format";
import type { GraphNode, Hierarchy } from "../graph/model";
import { Icon } from "../shell/Icon";
import * as store from "../store";
import { parentRow, rowOf, treeRows, type TreeRow } from "./treerows";
import { VirtualList } from "./VirtualList";

/** Deeper levels stand no further in: their names would leave the panel. */
const MAX_INDENT = 9;

export function ModuleTree({ hierarchy }: { hierarchy: Hierarchy }) {
  const openGroups = store.openGroups.value;
  const rows = useMemo(() => treeRows(hierarchy, openGroups), [hierarchy, openGroups]);
  const selected = store.selected.value;
  const [cursor, setCursor] = useState<string>(hierarchy.root);
  const [lastSelected, setLastSelected] = useState<string | null>(null);
  if (selected !== lastSelected) {
    setLastSelected(selected);
    if (selected !== null) setCursor(selected);
  }
  const active = Math.max(0, rowOf(rows, hierarchy, cursor));
  const move = (to: number): void => {
    const row = rows[Math.max(0, Math.min(to, rows.length - 1))];
    if (row !== undefined) setCursor(row.node.key);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[active];
    if (row === undefined) return;
    const steps: Record<string, () => void> = {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      ArrowRight: () => (row.isGroup && !row.isOpen ? store.setOpen(row.node.key, true) : move(active + 1)),
      ArrowLeft: () =>
        row.isOpen && active > 0 ? store.setOpen(row.node.key, false) : move(parentRow(rows, active)),
      Enter: () => store.goTo(row.node.key),
      " ": () => store.select(row.node.key),
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    step();
  };
  const shown = rowOf(rows, hierarchy, selected);
  return (
    <VirtualList
      id="module-tree"
      role="tree"
      label="Module tree"
      count={rows.length}
      active={active}
      activeId={`tree-${active}`}
      onKeyDown={onKeyDown}
      renderRow={(at) => (
        <TreeItem
          row={rows[at]!}
          at={at}
          isRoot={rows[at]!.node.key === hierarchy.root}
          isSelected={at === shown && selected !== null}
          isCursor={at === active}
        />
      )}
    />
  );
}

interface ItemProps {
  row: TreeRow;
  at: number;
  isRoot: boolean;
  isSelected: boolean;
  isCursor: boolean;
}

function TreeItem({ row, at, isRoot, isSelected, isCursor }: ItemProps) {
  const { node, level, isGroup, isOpen } = row;
  const onToggle = (event: MouseEvent): void => {
    event.stopPropagation();
    store.toggle(node.key);
  };
  return (
    <div
      id={`tree-${at}`}
      role="treeitem"
      aria-level={level + 1}
      aria-expanded={isGroup ? isOpen : undefined}
      aria-selected={isSelected}
      class={isCursor ? "tree-row cursor" : "tree-row"}
      style={{ "--d": Math.min(level, MAX_INDENT) }}
      onClick={() => store.goTo(node.key)}
      onDblClick={isGroup && !isRoot ? onToggle : undefined}
      onMouseEnter={() => (store.hovered.value = node.key)}
      onMouseLeave={() => (store.hovered.value = null)}
      data-key={node.key}
    >
      {isGroup && !isRoot ? (
        <span class="chevron" onClick={onToggle} aria-hidden="true">
          <Icon name={isOpen ? "down" : "right"} />
        </span>
      ) : (
        <span class="chevron">{isRoot && <Icon name="down" />}</span>
      )}
      <span class="mono clip name">{node.title}</span>
      <span class="type clip">{isRoot && node.className === node.title ? "" : describe(row)}</span>
    </div>
  );
}

/** The class of a module, the function of an op or, where that is its name already, the shape it makes. */
function describe({ node }: TreeRow): string {
  if (node.className !== "") return node.className;
  return node.type === node.title ? shapesOf(node) : node.type;
}

/** In the rolled form the passes of an op may differ: `4×4 … 10×4`. */
function shapesOf(node: GraphNode): string {
  const ops = store.document.value?.ops;
  const shapes = node.ops.map((index) => formatShape(ops?.[index]?.shape ?? []));
  const [first, last] = [shapes[0] ?? "", shapes.at(-1) ?? ""];
  return shapes.every((shape) => shape === first) ? first : `${first} … ${last}`;
}
