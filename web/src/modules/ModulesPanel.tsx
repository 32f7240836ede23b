/** The left panel: search, the tree of modules or what was found, and the figures of the pass. */
import { formatNumberOf } from "../format";
import { Icon } from "../shell/Icon";
import { panels, setPanel } from "../shell/panels";
import * as store from "../store";
import { query } from "./finding";
import { ModuleTree } from "./ModuleTree";
import { numCalls, PassReadout } from "./PassReadout";
import { SearchField } from "./SearchField";
import { SearchHits } from "./SearchHits";
import { TreeSkeleton } from "./TreeSkeleton";

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
        {panels.value.width !== "wide" && (
          <button class="btn quiet square" aria-label="Hide modules" onClick={() => setPanel("left", false)}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="pad-s">
        <SearchField />
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
