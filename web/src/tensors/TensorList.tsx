/** All tensors and histograms of the chosen runs, as a tree that can be filtered. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../format";
import { VirtualList } from "../modules/VirtualList";
import { Icon } from "../shell/Icon";
import * as page from "../store";
import { nameRows, type NameRow } from "./nametree";
import { outlines, wantOutline } from "./outlines";
import * as store from "./store";

const MAX_INDENT = 8;

export function TensorList() {
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
