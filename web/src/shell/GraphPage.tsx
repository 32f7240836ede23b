/** The view of one pass: modules, graph, inspector. */
import { useSignalEffect } from "@preact/signals";
import { Inspector } from "../inspector/Inspector";
import { ModulesPanel } from "../modules/ModulesPanel";
import * as store from "../store";
import { searchField } from "./keys";
import { PanelPlace } from "./PanelPlace";
import { panels, panelWidth, setPanel } from "./panels";
import { Stage } from "./Stage";

export function GraphPage() {
  const { width } = panels.value;
  const { left, right } = panelWidth.value;
  useSelectionOpensSheet();
  return (
    <main class={`main ${width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }}>
      <PanelPlace side="left">
        <ModulesPanel />
      </PanelPlace>
      <Stage />
      <PanelPlace side="right">
        <Inspector />
      </PanelPlace>
    </main>
  );
}

/** On a narrow page the inspector is a sheet: it comes when something is selected, but not over a search. */
function useSelectionOpensSheet(): void {
  useSignalEffect(() => {
    const key = store.selected.value;
    const isSearching = window.document.activeElement === searchField.current && searchField.current !== null;
    if (key !== null && panels.peek().width === "narrow" && !isSearching) setPanel("right", true);
  });
}
