/** What was found, in the order it ran. */
import type { Hierarchy } from "../graph/model";
import { Blank } from "../shell/Blank";
import * as store from "../store";
import { current, goToHit, hits, step } from "./finding";
import { Marked } from "./Marked";
import { placeOf } from "./places";
import { VirtualList } from "./VirtualList";

export function SearchHits({ hierarchy }: { hierarchy: Hierarchy }) {
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
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, () => void> = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      Home: () => goToHit(0),
      End: () => goToHit(found.length - 1),
      Enter: () => goToHit(Math.max(0, active)),
    };
    const action = steps[event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
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
        <Marked text={place} />
      </span>
      <span class="type clip">{what}</span>
    </div>
  );
}
