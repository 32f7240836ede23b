/** Any tensor of a run at any step. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { obtain } from "../../data/collections";
import { formatCount, formatNumberOf, formatShape } from "../../data/format";
import { followRecordList } from "../../data/record-list";
import { askOf } from "../../data/requests";
import { param } from "../../data/route";
import * as runs from "../../data/runs";
import * as page from "../../data/store";
import { Blank, Skeletons } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { RunsFrame } from "../../ui/RunsFrame";
import { VirtualList } from "../../ui/VirtualList";
import { actOn } from "../../ui/keys";
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
          {store.chosen.value === null ? (
            <Blank icon="search" title="Not in these runs">
              <span>None of the chosen runs has “{param("tensor")}”. Choose another tensor, or another run.</span>
            </Blank>
          ) : (
            <TensorStage />
          )}
        </div>
      ) : (
        <NoneYet />
      )}
    </RunsFrame>
  );
}

function NoneYet() {
  const isWaiting = runs.chosen.value.some((run) => !runs.index.value.has(run.id));
  if (isWaiting)
    return <Skeletons widths={[120, "block", "block low"]} style="section late" label="Loading the list of tensors" />;
  return (
    <Blank icon="frame" title="No tensors in these runs">
      <span>Any tensor can be logged, at any step:</span>
      <pre>run.log_tensor(step, "layer1.weight", model.layer1.weight)</pre>
    </Blank>
  );
}

const MAX_INDENT = 8;

/** All tensors and histograms of the chosen runs, as a tree that can be filtered. */
function TensorList() {
  const all = store.filtered.value;
  const closed = store.filter.value === "" ? store.closedGroups.value : NONE;
  const rows = useMemo(() => nameRows(all, closed), [all, closed]);
  const chosen = store.chosen.value === null ? "" : listedKey(store.chosen.value);
  const shown = rows.findIndex(({ leaf }) => leaf !== null && listedKey(leaf) === chosen);
  const [cursor, setCursor] = useState(0);
  useEffect(() => {
    if (shown >= 0) setCursor(shown);
  }, [shown]);
  const active = Math.max(0, Math.min(cursor, rows.length - 1));
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[active];
    if (row === undefined) return;
    actOn(event, {
      ArrowDown: () => setCursor(Math.min(rows.length - 1, active + 1)),
      ArrowUp: () => setCursor(Math.max(0, active - 1)),
      Home: () => setCursor(0),
      End: () => setCursor(rows.length - 1),
      ArrowRight: () => row.leaf === null && setOpen(row.path, true),
      ArrowLeft: () => (row.isOpen ? setOpen(row.path, false) : setCursor(parentOf(rows, active))),
      Enter: () => act(row),
      " ": () => act(row),
    });
  };
  const [numShown, numAll] = [all.length, store.listed.value.length];
  return (
    <div class="panel tensor-list">
      <div class="panel-head">
        <h2>Tensors</h2>
        <span class="muted fs-1">{numShown === numAll ? formatCount(numAll) : `${formatCount(numShown)} of ${formatCount(numAll)}`}</span>
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

/** The row that it stands under; itself where it stands under none. */
function parentOf(rows: readonly NameRow[], at: number): number {
  const above = rows.slice(0, at).findLastIndex(({ level }) => level < rows[at]!.level);
  return above < 0 ? at : above;
}

function setOpen(path: string, isOpen: boolean): void {
  const next = new Set(store.closedGroups.peek());
  if (isOpen) next.delete(path);
  else next.add(path);
  store.closedGroups.value = next;
}

function act(row: NameRow): void {
  if (row.leaf === null) setOpen(row.path, !row.isOpen);
  else store.choose(row.leaf);
}

interface RowProps {
  row: NameRow;
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

function LeafFacts({ leaf }: { leaf: Listed }) {
  const key = listedKey(leaf);
  useEffect(() => wantOutline(leaf), [key]);
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

interface Outline {
  /** `32×16×3×3 float32`; empty while it is asked for. */
  readonly text: string;
  /** NaN or infinite values, in the records that were looked at. */
  readonly numBad: number;
}

const outlines = signal<ReadonlyMap<string, Outline>>(new Map());

/** So many records are looked at, evenly over all steps: one would not tell whether there was a NaN. */
const MOST_LOOKED_AT = 64;

/** A few at a time: the tensor that somebody looks at is not to wait behind all names. */
let numFree = 2;
const waiting: { readonly run_id: string; readonly row: Listed }[] = [];

function wantOutline(row: Listed): void {
  const { kind, name } = row;
  if (kind !== "tensor" || outlines.peek().has(listedKey(row))) return;
  const run = runs.chosen.peek().find(({ id }) => runs.seriesOf(id, kind, name) !== undefined);
  if (run === undefined) return;
  tell(row, { text: "", numBad: 0 });
  waiting.push({ run_id: run.id, row });
  if (numFree > 0) void askWaiting();
}

async function askWaiting(): Promise<void> {
  numFree -= 1;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { run_id, row } = next;
    const { kind, name } = row;
    const asked = askOf({ type: "records", run_id, kind, name, most: MOST_LOOKED_AT }, "records");
    // Where nothing comes, the list does without.
    const records = await asked.then(({ answer }) => answer.records, () => []);
    const tensors = records.map(({ head }) => head).filter((head) => head.kind === "tensor");
    const last = tensors.at(-1);
    const numBad = tensors.reduce((sum, head) => sum + head.num_nan + head.num_inf, 0);
    if (last !== undefined) tell(row, { text: `${formatShape(last.shape)} ${last.dtype}`, numBad });
  }
  numFree += 1;
}

function tell(row: Listed, outline: Outline): void {
  outlines.value = new Map(outlines.peek()).set(listedKey(row), outline);
}

// --- Names as a tree: `layer2.0.conv1.weight` and `encoder/mean` stand under what they begin with.

interface NameRow {
  /** The whole of what it begins with; tells rows apart. */
  readonly path: string;
  /** What is written: the part of the name that the rows above do not have. */
  readonly title: string;
  readonly level: number;
  readonly leaf: Listed | null;
  readonly isOpen: boolean;
  readonly count: number;
}

interface Group {
  readonly path: string;
  readonly groups: Map<string, Group>;
  readonly leaves: { readonly title: string; readonly leaf: Listed }[];
  count: number;
}

function groupAt(path: string): Group {
  return { path, groups: new Map(), leaves: [], count: 0 };
}

/** Rows from top to bottom. Groups of a single row are written together with it. */
export function nameRows(leaves: readonly Listed[], closed: ReadonlySet<string>): NameRow[] {
  const root = groupAt("");
  for (const leaf of leaves) {
    // `a.b/c` → `a.`, `b/`, `c`: each part keeps the sign that ends it.
    const parts = leaf.name.match(/[^./]*[./]+|[^./]+$/g) ?? [leaf.name];
    let group = root;
    for (const part of parts.slice(0, -1)) {
      const path = group.path + part;
      group = obtain(group.groups, part, () => groupAt(path));
      group.count += 1;
    }
    group.leaves.push({ title: parts.at(-1)!, leaf });
  }
  return rowsIn(root, "", 0, closed);
}

function rowsIn(group: Group, before: string, level: number, closed: ReadonlySet<string>): NameRow[] {
  const groups = [...group.groups].flatMap(([part, inner]): NameRow[] => {
    const title = before + part;
    const isLonely = inner.count === 1 || (inner.leaves.length === 0 && inner.groups.size === 1);
    if (isLonely) return rowsIn(inner, title, level, closed);
    const { path, count } = inner;
    const isOpen = !closed.has(path);
    return [{ path, title, level, leaf: null, isOpen, count }, ...(isOpen ? rowsIn(inner, "", level + 1, closed) : [])];
  });
  const leaves = group.leaves.map(({ title, leaf }) => ({
    ...{ path: group.path + title, title: before + title },
    ...{ level, leaf, isOpen: false, count: 1 },
  }));
  return [...groups, ...leaves];
}
