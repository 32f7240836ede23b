/** The right panel: the selected op or module or, where nothing is selected, the pass. */
import { useMemo } from "preact/hooks";
import { Icon } from "../shell/Icon";
import { panels, setPanel } from "../shell/panels";
import * as store from "../store";
import { ModuleInspector } from "./ModuleInspector";
import { OpInspector } from "./OpInspector";
import { PassInspector } from "./PassInspector";

export function Inspector() {
  return (
    <aside class="panel inspector" aria-label="Inspector">
      <Selected />
      {panels.value.width !== "wide" && (
        <button
          class="btn quiet square hide"
          aria-label="Hide inspector"
          onClick={() => setPanel("right", false)}
        >
          <Icon name="close" />
        </button>
      )}
    </aside>
  );
}

function Selected() {
  const document = store.document.value;
  const hierarchy = store.hierarchy.value;
  const key = store.selected.value;
  const node = useMemo(() => (key === null ? undefined : hierarchy?.nodes.get(key)), [hierarchy, key]);
  if (document === null || hierarchy === null) return <div class="panel-body" />;
  if (node === undefined) return <PassInspector document={document} />;
  if (node.kind === "op")
    return <OpInspector key={node.key} node={node} document={document} hierarchy={hierarchy} />;
  return <ModuleInspector key={node.key} node={node} document={document} hierarchy={hierarchy} />;
}
