/** The whole page: top bar, modules, graph, inspector. */
import { useSignalEffect } from "@preact/signals";
import { Inspector } from "../inspector/Inspector";
import { ModulesPanel } from "../modules/ModulesPanel";
import * as store from "../store";
import { ConnectionToast } from "./ConnectionToast";
import { KeysDialog } from "./KeysDialog";
import { searchField } from "./keys";
import { panels, panelWidth, setPanel, type Side } from "./panels";
import { Rail } from "./Rail";
import { Resizer } from "./Resizer";
import { Stage } from "./Stage";
import { TopBar } from "./TopBar";

export function App() {
  const { width } = panels.value;
  const { left, right } = panelWidth.value;
  useSelectionOpensSheet();
  return (
    <div class="app">
      <TopBar />
      <main class={`main ${width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }}>
        <PanelPlace side="left" />
        <Stage />
        <PanelPlace side="right" />
      </main>
      <ConnectionToast />
      <KeysDialog />
    </div>
  );
}

/** A panel beside the drawing, a rail that opens it, or a sheet over the drawing. */
function PanelPlace({ side }: { side: Side }) {
  const { width, [side]: isOpen } = panels.value;
  const panel = side === "left" ? <ModulesPanel /> : <Inspector />;
  if (width === "narrow") return isOpen ? <div class={`sheet ${side}`}>{panel}</div> : null;
  if (!isOpen) return <Rail side={side} />;
  return (
    <div class={`dock ${side}`}>
      {panel}
      <Resizer side={side} />
    </div>
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
