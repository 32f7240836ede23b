/** The left panel: search, the tree of modules or what was found, and the figures of the pass. */
import { useMemo, useState } from "preact/hooks";
import { formatBytes, formatCount, formatLarge, formatNumberOf, formatSeconds, formatShape } from "../../../data/format";
import { shownKeys } from "../../../data/pass/edges";
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import { shapeRange } from "../../../data/pass/node-words";
import * as store from "../../../data/store";
import { Blank, Skeletons } from "../../../ui/Blank";
import { FilterField } from "../../../ui/FilterField";
import { Icon } from "../../../ui/Icon";
import { HidePanel } from "../../../ui/PanelPlace";
import { VirtualList } from "../../../ui/VirtualList";
import { actOn } from "../../../ui/keys";
import type { PassDocument, ScopeEntry } from "../../../wire";
import { current, goToHit, hits, query, search, step, wordsOf } from "./search";

export function ModulesPanel() {
  const document = store.document.value;
  const hierarchy = store.hierarchy.value;
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
      <Body hierarchy={hierarchy} />
      {document !== null && <PassReadout document={document} />}
    </aside>
  );
}

const WIDTHS = [84, 112, 96, 132, 72, 104, 88, 120];

/** The tree or what was found, and the place of the tree while a pass is being read. */
function Body({ hierarchy }: { hierarchy: Hierarchy | null }) {
  if (hierarchy !== null) return query.value.trim() === "" ? <ModuleTree hierarchy={hierarchy} /> : <SearchHits hierarchy={hierarchy} />;
  if (!["loading", "waiting"].includes(store.opening.value.state)) return <div class="panel-body" />;
  return <Skeletons widths={WIDTHS} style="panel-body skeletons" label="Loading modules" />;
}

function HitCount() {
  const [count, place] = [hits.value.length, current.value < 0 ? "" : `${formatCount(current.value + 1)} of `];
  return (
    <span class="hit-count" role="status">
      {count === 0 ? "none" : `${place}${formatCount(count)}`}
    </span>
  );
}

/** What was found, in the order it ran. */
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
      renderRow={(at) => <Hit node={hierarchy.nodes.get(found[at]!)!} tree={hierarchy} at={at} isCurrent={at === active} />}
    />
  );
}

/** What a row for a node does: it goes there, and lights up what is under the pointer. */
function rowProps(key: string, go: () => void) {
  return {
    onClick: go,
    onMouseEnter: () => (store.hovered.value = key),
    onMouseLeave: () => (store.hovered.value = null),
    "data-key": key,
  };
}

function Hit({ node, tree, at, isCurrent }: { node: GraphNode; tree: Hierarchy; at: number; isCurrent: boolean }) {
  const [place, what] = [placeOf(node, tree.document), node.className === "" ? node.type : node.className];
  return (
    <div
      id={`hit-${at}`}
      role="option"
      aria-label={`${place}, ${what}`}
      aria-selected={isCurrent}
      class="tree-row"
      {...rowProps(node.key, () => goToHit(at))}
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

interface Part {
  readonly text: string;
  readonly isMarked: boolean;
}

/** Cut a text where words of a query begin and end. */
export function markWords(text: string, query: string): Part[] {
  const lower = text.toLowerCase();
  // Some letters change their length in lower case: then nothing could be cut at the right place.
  if (lower.length !== text.length) return [{ text, isMarked: false }];
  const marks = new Uint8Array(text.length);
  for (const word of wordsOf(query)) {
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

/** Deeper levels stand no further in: their names would leave the panel. */
const MAX_INDENT = 9;

/** The tree of modules and the ops in them. It opens and closes with the graph and follows the selection. */
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
  const isOpen = ({ kind, key }: GraphNode): boolean => kind === "group" && (key === hierarchy.root || openGroups.has(key));
  const move = (to: number): void => setCursor(rows[Math.max(0, Math.min(to, rows.length - 1))]!.key);
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[active]!;
    actOn(event, {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      ArrowRight: () => (row.kind === "group" && !isOpen(row) ? store.setOpen(row.key, true) : move(active + 1)),
      ArrowLeft: () => (isOpen(row) && active > 0 ? store.setOpen(row.key, false) : move(rowOf(rows, hierarchy, row.parent))),
      Enter: () => store.goTo(row.key),
      " ": () => store.select(row.key),
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
          node={rows[at]!}
          at={at}
          isRoot={rows[at]!.key === hierarchy.root}
          isOpen={isOpen(rows[at]!)}
          isSelected={at === shown && selected !== null}
          isCursor={at === active}
        />
      )}
    />
  );
}

interface ItemProps {
  node: GraphNode;
  at: number;
  isRoot: boolean;
  isOpen: boolean;
  isSelected: boolean;
  isCursor: boolean;
}

function TreeItem({ node, at, isRoot, isOpen, isSelected, isCursor }: ItemProps) {
  const isGroup = node.kind === "group";
  const onToggle = (event: MouseEvent): void => {
    event.stopPropagation();
    store.toggle(node.key);
  };
  return (
    <div
      id={`tree-${at}`}
      role="treeitem"
      aria-level={node.depth + 1}
      aria-expanded={isGroup ? isOpen : undefined}
      aria-selected={isSelected}
      class={isCursor ? "tree-row cursor" : "tree-row"}
      style={{ "--d": Math.min(node.depth, MAX_INDENT) }}
      onDblClick={isGroup && !isRoot ? onToggle : undefined}
      {...rowProps(node.key, () => store.goTo(node.key))}
    >
      {isGroup && !isRoot ? (
        <span class="chevron" onClick={onToggle} aria-hidden="true">
          <Icon name={isOpen ? "down" : "right"} />
        </span>
      ) : (
        <span class="chevron">{isRoot && <Icon name="down" />}</span>
      )}
      <span class="mono clip name">{node.title}</span>
      <span class="type clip">{isRoot && node.className === node.title ? "" : describe(node)}</span>
    </div>
  );
}

/** The class of a module, the function of an op or, where that is its name already, the shape it makes. */
function describe(node: GraphNode): string {
  if (node.className !== "") return node.className;
  return node.type === node.title ? shapesOf(node) : node.type;
}

/** In the rolled form the passes of an op may differ: `4×4 … 10×4`. */
function shapesOf(node: GraphNode): string {
  const ops = store.document.value?.ops;
  const [first = "", last = ""] = [node.ops[0], node.ops.at(-1)].map((op) => formatShape(ops?.[op ?? -1]?.shape ?? []));
  return shapeRange(first, last);
}

/** Rows from top to bottom. The model itself is always open. */
export function treeRows(hierarchy: Hierarchy, openGroups: ReadonlySet<string>): GraphNode[] {
  return [hierarchy.root, ...shownKeys(hierarchy, openGroups)].map((key) => hierarchy.nodes.get(key)!);
}

/** The row of a node or, where it is inside something closed, of what it is inside of; -1 for none. */
export function rowOf(rows: readonly GraphNode[], { nodes }: Hierarchy, key: string | null): number {
  const at = new Map(rows.map((row, index) => [row.key, index]));
  let wanted = key;
  while (wanted !== null && !at.has(wanted)) wanted = nodes.get(wanted)?.host ?? nodes.get(wanted)?.parent ?? null;
  return at.get(wanted ?? "") ?? -1;
}

/** The pass in a few figures, at the foot of the panel. */
function PassReadout({ document }: { document: PassDocument }) {
  return (
    <div class="section">
      <dl class="readout">
        <dt>Parameters</dt>
        <dd>{formatLarge(document.num_params)}</dd>
        <dt>Forward</dt>
        <dd>{document.is_shape_only ? "shapes only" : formatSeconds(document.elapsed_seconds)}</dd>
        {document.num_backward_passes > 0 && (
          <>
            <dt>Backward</dt>
            <dd>{formatSeconds(backwardSeconds(document))}</dd>
          </>
        )}
        <dt>Activations</dt>
        <dd>{formatBytes(document.num_bytes)}</dd>
      </dl>
    </div>
  );
}

export function backwardSeconds(document: PassDocument): number {
  return document.ops.reduce((sum, op) => sum + (op.backward_seconds ?? 0), 0);
}

/** Ops without inputs, outputs, buffers and other sources: what really ran. */
export function numCalls(document: PassDocument): number {
  return document.ops.filter((op) => op.kind === "op").length;
}

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
