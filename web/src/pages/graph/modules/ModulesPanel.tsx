/** The left panel: search, the tree of modules or what was found, and the figures of the pass. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShape } from "../../../data/format";
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import * as store from "../../../data/store";
import { Blank, Skeletons } from "../../../ui/Blank";
import { FilterField } from "../../../ui/FilterField";
import { Icon } from "../../../ui/Icon";
import { HidePanel } from "../../../ui/PanelPlace";
import { VirtualList } from "../../../ui/VirtualList";
import { actOn } from "../../../ui/keys";
import type { PassDocument, ScopeEntry } from "../../../wire";
import { numCalls, PassReadout } from "./PassReadout";
import { current, goToHit, hits, query, search, step } from "./node-search";

export function ModulesPanel() {
  const document = store.document.value;
  const hierarchy = store.hierarchy.value;
  const isSearching = query.value.trim() !== "";
  return (
    <aside class="panel modules" aria-label="Modules">
      <div class="panel-head">
        <h2>Modules</h2>
        <span class="grow" />
        {document !== null && <span class="muted fs-1">{formatNumberOf(numCalls(document), "op")}</span>}
        <HidePanel side="left" label="Hide modules" />
      </div>
      <div class="pad-s">
        <FilterField
          label="Find module or op"
          placeholder="Find module or op"
          value={query.value}
          onChange={search}
          onLeave={() => step(1)}
          keys={({ shiftKey }) => ({ Enter: () => step(shiftKey ? -1 : 1), ArrowUp: () => step(-1) })}
        >
          <HitCount />
        </FilterField>
      </div>
      {hierarchy === null ? (
        <TreeSkeleton />
      ) : isSearching ? (
        <SearchHits hierarchy={hierarchy} />
      ) : (
        <ModuleTree hierarchy={hierarchy} />
      )}
      {document !== null && <PassReadout document={document} />}
    </aside>
  );
}

// --- The place of the tree while a pass is being read.

const WIDTHS = [84, 112, 96, 132, 72, 104, 88, 120];

function TreeSkeleton() {
  const isBusy = ["loading", "waiting"].includes(store.opening.value.state);
  if (!isBusy) return <div class="panel-body" />;
  return <Skeletons widths={WIDTHS} style="panel-body skeletons" label="Loading modules" />;
}

function HitCount() {
  const count = hits.value.length;
  const text =
    count === 0
      ? "none"
      : `${current.value < 0 ? "" : `${formatCount(current.value + 1)} of `}${formatCount(count)}`;
  return (
    <span class="hit-count" role="status">
      {text}
    </span>
  );
}

// --- What was found, in the order it ran.

function SearchHits({ hierarchy }: { hierarchy: Hierarchy }) {
  const found = hits.value;
  const active = current.value;
  if (found.length === 0) {
    return (
      <div class="panel-body">
        <Blank icon="search" title="Nothing found">
          <span>Labels, addresses, classes, functions and shapes are searched.</span>
        </Blank>
      </div>
    );
  }
  const onKeyDown = (event: KeyboardEvent): boolean =>
    actOn(event, {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      Home: () => goToHit(0),
      End: () => goToHit(found.length - 1),
      Enter: () => goToHit(Math.max(0, active)),
    });
  return (
    <VirtualList
      id="search-hits"
      role="listbox"
      label="Search hits"
      count={found.length}
      active={active}
      activeId={active < 0 ? undefined : `hit-${active}`}
      onKeyDown={onKeyDown}
      renderRow={(at) => <Hit hierarchy={hierarchy} hit={found[at]!} at={at} isCurrent={at === active} />}
    />
  );
}

interface HitProps {
  hierarchy: Hierarchy;
  hit: string;
  at: number;
  isCurrent: boolean;
}

function Hit({ hierarchy, hit, at, isCurrent }: HitProps) {
  const document = store.document.value;
  const node = hierarchy.nodes.get(hit);
  if (node === undefined || document === null) return null;
  const [place, what] = [placeOf(node, document), node.className === "" ? node.type : node.className];
  return (
    <div
      id={`hit-${at}`}
      role="option"
      aria-label={`${place}, ${what}`}
      aria-selected={isCurrent}
      class="tree-row"
      onClick={() => goToHit(at)}
      onMouseEnter={() => (store.hovered.value = hit)}
      onMouseLeave={() => (store.hovered.value = null)}
      data-key={hit}
    >
      <span class="mono clip hit-name">
        {/* Where it is too long, its end stays. */}
        <bdi class="marked" title={place}>
          {markWords(place, query.value).map(({ text, isMarked }, nth) =>
            isMarked ? <mark key={nth}>{text}</mark> : <span key={nth}>{text}</span>,
          )}
        </bdi>
      </span>
      <span class="type clip">{what}</span>
    </div>
  );
}

// --- Cut a text where words of a query begin and end.

interface Part {
  readonly text: string;
  readonly isMarked: boolean;
}

export function markWords(text: string, query: string): Part[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  // Some letters change their length in lower case: then nothing could be cut at the right place.
  if (lower.length !== text.length) return [{ text, isMarked: false }];
  const marks = new Uint8Array(text.length);
  for (const word of words) {
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1))
      marks.fill(1, at, at + word.length);
  }
  const parts: Part[] = [];
  let start = 0;
  for (let at = 1; at <= text.length; at++) {
    if (at < text.length && marks[at] === marks[start]) continue;
    parts.push({ text: text.slice(start, at), isMarked: marks[start] === 1 });
    start = at;
  }
  return parts;
}

// --- The tree of modules and the ops in them. It opens and closes with the graph and follows the selection.

/** Deeper levels stand no further in: their names would leave the panel. */
const MAX_INDENT = 9;

function ModuleTree({ hierarchy }: { hierarchy: Hierarchy }) {
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
    actOn(event, {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      ArrowRight: () => (row.isGroup && !row.isOpen ? store.setOpen(row.node.key, true) : move(active + 1)),
      ArrowLeft: () =>
        row.isOpen && active > 0 ? store.setOpen(row.node.key, false) : move(parentRow(rows, active)),
      Enter: () => store.goTo(row.node.key),
      " ": () => store.select(row.node.key),
    });
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

// --- The tree as rows: what stands in view for the groups that are open, and where the arrow keys lead.

interface TreeRow {
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

// --- What to call a node where its surroundings are not seen: its address, or its label.

/** `layer2.0.conv2`, `relu_1_7`; with the call where a module ran more than once: `rnn:2`. */
export function placeOf(node: GraphNode, document: PassDocument): string {
  // A stretch of a large module says which part it is.
  if (node.kind === "group" && node.key.includes(".")) return node.title;
  const scope = document.scopes[node.scopes[0] ?? -1];
  if (scope !== undefined) return placeOfCall(node, scope, document.model_name);
  const op = document.ops[node.ops[0] ?? -1];
  if (op === undefined) return node.title;
  if (op.name !== "") return op.name;
  return node.ops.length > 1 ? op.label.replace(/:\d+$/, "") : op.label;
}

function placeOfCall(node: GraphNode, scope: ScopeEntry, modelName: string): string {
  const place = scope.address === null ? node.title : scope.address || modelName;
  return scope.num_passes > 1 && node.scopes.length === 1 ? `${place}:${scope.pass_num}` : place;
}
