/** The start page: all runs of the folder, those to compare, and the passes beside them. */
import { FeatureSetsPart } from "../features/FeatureSetsPart";
import { formatCount, formatNumberOf } from "../format";
import { PanelPlace } from "../shell/PanelPlace";
import { panels, panelWidth } from "../shell/panels";
import { ComparePanel } from "./ComparePanel";
import { RunsBody } from "./RunsBody";
import { RunsToolbar } from "./RunsToolbar";
import { numFiltered, rows } from "./runtable";
import * as runs from "./store";

export function RunsPage() {
  return (
    <main class={`main runs-page ${panels.value.width}`} style={{ "--right": `${panelWidth.value.right}px` }}>
      <section class="panel runs-panel" aria-labelledby="runs-title">
        <RunsToolbar />
        <RunsBody />
        <FeatureSetsPart />
        <Foot />
      </section>
      <PanelPlace side="right">
        <ComparePanel />
      </PanelPlace>
    </main>
  );
}

function Foot() {
  const [all, shown] = [runs.runs.value.length, rows.value.length];
  return (
    <footer class="foot">
      <span class="clip" role="status">
        {shown < all && `${formatCount(shown)} of `}
        {runs.listing.value.state !== "waiting" && formatNumberOf(all, "run")}
        {runs.folder.value !== "" && (
          <>
            {" in "}
            <span class="mono">{runs.folder.value}</span>
          </>
        )}
        {numFiltered.value < all && `, ${formatCount(all - numFiltered.value)} filtered out`}
      </span>
      {runs.folderNote.value !== "" && (
        <span class="noted clip" title={runs.folderNote.value}>
          {runs.folderNote.value}
        </span>
      )}
      <span class="grow" />
      {shown > 0 && <FootKeys />}
    </footer>
  );
}

function FootKeys() {
  return (
    <span class="foot-keys" aria-hidden="true">
      <span>
        <kbd>↑</kbd> <kbd>↓</kbd> move
      </span>
      <span>
        <kbd>x</kbd> compare
      </span>
      <span>
        <kbd>↵</kbd> open
      </span>
    </span>
  );
}
