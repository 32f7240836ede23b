/** Any tensor of a run at any step. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShape } from "../../data/format";
import { followRecordList } from "../../data/record-list";
import { param } from "../../data/route";
import * as runs from "../../data/runs";
import type { Source } from "../../data/source";
import * as page from "../../data/store";
import { Blank } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { RunsFrame } from "../../ui/RunsFrame";
import { VirtualList } from "../../ui/VirtualList";
import { TensorStage } from "./TensorStage";
import * as store from "./store";
import { type Listed, listedKey } from "./store";
import "./tensors.css";

export function TensorsPage() {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    return followRecordList(
      () => store.place.value,
      (list) => {
        store.failure.value = "";
        store.list.value = list;
      },
      (reason) => (store.failure.value = reason),
    );
  }, [source]);
  return (
    <RunsFrame>
      {store.listed.value.length > 0 ? (
        <div class="tensors">
          <TensorList />
          {store.chosen.value === null ? <NotThere /> : <TensorStage />}
        </div>
      ) : (
        <NoneYet />
      )}
    </RunsFrame>
  );
}

function NotThere() {
  return (
    <Blank icon="search" title="Not in these runs">
      <span>None of the chosen runs has “{param("tensor")}”. Choose another tensor, or another run.</span>
    </Blank>
  );
}

function NoneYet() {
  const isWaiting = runs.chosen.value.some((run) => !runs.index.value.has(run.id));
  if (isWaiting)
    return (
      <div class="section late" aria-busy="true" aria-label="Loading the list of tensors">
        <i class="skeleton" style={{ width: "120px" }} />
        <i class="skeleton block" />
        <i class="skeleton block low" />
      </div>
    );
  return (
    <Blank icon="frame" title="No tensors in these runs">
      <span>Any tensor can be logged, at any step:</span>
      <pre>run.log_tensor(step, "layer1.weight", model.layer1.weight)</pre>
    </Blank>
  );
}

// --- All tensors and histograms of the chosen runs, as a tree that can be filtered.

const MAX_INDENT = 8;

function TensorList() {
  const all = store.filtered.value;
  const closed = store.filter.value === "" ? store.closedGroups.value : NONE;
  const rows = useMemo(() => nameRows(all, ({ name }) => name, closed), [all, closed]);
  const chosen = store.chosen.value;
  const shown = rows.findIndex((row) => isRowOf(row, chosen));
  const [cursor, setCursor] = useState(0);
  useEffect(() => {
    if (shown >= 0) setCursor(shown);
  }, [shown]);
  const active = Math.max(0, Math.min(cursor, rows.length - 1));
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[active];
    if (row === undefined) return;
    const keys: Record<string, () => void> = {
      ArrowDown: () => setCursor(Math.min(rows.length - 1, active + 1)),
      ArrowUp: () => setCursor(Math.max(0, active - 1)),
      Home: () => setCursor(0),
      End: () => setCursor(rows.length - 1),
      ArrowRight: () => row.leaf === null && setOpen(row.path, true),
      ArrowLeft: () => (row.isOpen ? setOpen(row.path, false) : setCursor(parentOf(rows, active))),
      Enter: () => act(row),
      " ": () => act(row),
    };
    const action = keys[event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  return (
    <div class="panel tensor-list">
      <div class="panel-head">
        <h2>Tensors</h2>
        <span class="muted fs-1">{countText(all.length, store.listed.value.length)}</span>
      </div>
      <div class="pad-s">
        <div class="search">
          <Icon name="search" />
          <input
            class="input"
            type="text"
            placeholder="Filter tensors"
            aria-label="Filter tensors"
            autocomplete="off"
            spellcheck={false}
            value={store.filter.value}
            onInput={(event) => (store.filter.value = event.currentTarget.value)}
          />
        </div>
      </div>
      <VirtualList
        id="tensor-tree"
        role="tree"
        label="Tensors"
        count={rows.length}
        active={active}
        activeId={`tensor-${active}`}
        onKeyDown={onKeyDown}
        renderRow={(at) => <Row row={rows[at]!} at={at} isSelected={at === shown} isCursor={at === active} />}
      />
    </div>
  );
}

const NONE: ReadonlySet<string> = new Set();

function countText(shown: number, all: number): string {
  return shown === all ? formatCount(all) : `${formatCount(shown)} of ${formatCount(all)}`;
}

function isRowOf(row: NameRow<store.Listed>, chosen: store.Listed | null): boolean {
  return row.leaf !== null && chosen !== null && store.listedKey(row.leaf) === store.listedKey(chosen);
}

function parentOf(rows: readonly NameRow<store.Listed>[], at: number): number {
  const level = rows[at]?.level ?? 0;
  for (let above = at - 1; above >= 0; above--) if (rows[above]!.level < level) return above;
  return at;
}

function setOpen(path: string, isOpen: boolean): void {
  const next = new Set(store.closedGroups.peek());
  if (isOpen) next.delete(path);
  else next.add(path);
  store.closedGroups.value = next;
}

function act(row: NameRow<store.Listed>): void {
  if (row.leaf === null) setOpen(row.path, !row.isOpen);
  else store.choose(row.leaf);
}

interface RowProps {
  row: NameRow<store.Listed>;
  at: number;
  isSelected: boolean;
  isCursor: boolean;
}

function Row({ row, at, isSelected, isCursor }: RowProps) {
  const isGroup = row.leaf === null;
  return (
    <div
      id={`tensor-${at}`}
      role="treeitem"
      aria-level={row.level + 1}
      aria-expanded={isGroup ? row.isOpen : undefined}
      aria-selected={isSelected}
      class={isCursor ? "tree-row cursor" : "tree-row"}
      style={{ "--d": Math.min(row.level, MAX_INDENT) }}
      title={row.path}
      onClick={() => act(row)}
    >
      <span class="chevron">{isGroup && <Icon name={row.isOpen ? "down" : "right"} />}</span>
      <span class="mono clip name">{isGroup ? row.title.replace(/[./]+$/, "") : row.title}</span>
      {row.leaf === null ? <span class="type">{formatCount(row.count)}</span> : <LeafFacts leaf={row.leaf} />}
    </div>
  );
}

function LeafFacts({ leaf }: { leaf: store.Listed }) {
  const key = store.listedKey(leaf);
  useEffect(() => wantOutline(page.source.peek(), leaf), [key]);
  const outline = outlines.value.get(key);
  const numBad = Math.max(leaf.numBad, outline?.numBad ?? 0);
  return (
    <>
      <span class="type clip">{leaf.kind === "histogram" ? "histogram" : (outline?.text ?? "")}</span>
      {numBad > 0 && (
        <b class="bad-mark" title={formatNumberOf(numBad, "value is", "values are") + " NaN or infinite"}>
          NaN
        </b>
      )}
    </>
  );
}

// --- Shape and type of the tensors in the list, asked for as they come into view.

/** What a row says of its tensor. */
interface Outline {
  /** `32×16×3×3 float32`; empty while it is asked for. */
  readonly text: string;
  /** NaN or infinite values, in the records that were looked at. */
  readonly numBad: number;
}

/** By the key of the row. */
const outlines = signal<ReadonlyMap<string, Outline>>(new Map());

/** So many records are looked at, evenly over all steps: one would not tell whether there was a NaN. */
const MOST_LOOKED_AT = 64;

const AT_ONCE = 2;
const waiting: { source: Source; runId: string; row: Listed }[] = [];
let numAsked = 0;

function wantOutline(source: Source | null, row: Listed): void {
  const key = listedKey(row);
  if (source === null || row.kind !== "tensor" || outlines.peek().has(key)) return;
  const run = runs.chosen.peek().find((one) => runs.seriesOf(one.id, row.kind, row.name) !== undefined);
  if (run === undefined) return;
  outlines.value = new Map(outlines.peek()).set(key, { text: "", numBad: 0 });
  waiting.push({ source, runId: run.id, row });
  next();
}

/** A few at a time: the tensor that somebody looks at is not to wait behind all names. */
function next(): void {
  if (numAsked >= AT_ONCE) return;
  const one = waiting.shift();
  if (one === undefined) return;
  numAsked += 1;
  const { kind, name } = one.row;
  one.source
    .ask({ type: "records", run_id: one.runId, kind, name, most: MOST_LOOKED_AT })
    .then(
      ({ answer }) => {
        const heads = answer.type === "records" ? answer.records.map(({ head }) => head) : [];
        const tensors = heads.filter((head) => head.kind === "tensor");
        const last = tensors.at(-1);
        if (last === undefined) return;
        outlines.value = new Map(outlines.peek()).set(listedKey(one.row), {
          text: `${formatShape(last.shape)} ${last.dtype}`,
          numBad: tensors.reduce((sum, head) => sum + head.num_nan + head.num_inf, 0),
        });
      },
      () => undefined, // the list does without
    )
    .finally(() => {
      numAsked -= 1;
      next();
    });
}

// --- Names as a tree: `layer2.0.conv1.weight` and `encoder/mean` stand under what they begin with.

interface NameRow<Leaf> {
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
