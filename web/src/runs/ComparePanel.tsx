/** Beside the runs: the loss of those that are chosen, trainings to control, passes, and how to start a run. */
import { ControlsPart } from "../control/ControlsPart";
import { formatNumberOf } from "../format";
import { addressOf } from "../route";
import { Icon } from "../shell/Icon";
import { panels, setPanel } from "../shell/panels";
import { CompareChart } from "./CompareChart";
import { PassesPart } from "./PassesPart";
import { Snippet } from "./Snippet";
import * as runs from "./store";

export function ComparePanel() {
  const count = runs.chosen.value.length;
  // Without any, the table's place says how to start one.
  const hasRuns = runs.runs.value.length > 0;
  return (
    <aside class="panel compare" aria-label="Compare">
      <div class="toolbar">
        <h2>Compare</h2>
        <span class="muted fs-2">{formatNumberOf(count, "run")}</span>
        <span class="grow" />
        {count > 0 && (
          <a class="btn" href={addressOf("training", { runs: runs.chosenIds.value })}>
            Open in Training
          </a>
        )}
        {panels.value.width !== "wide" && (
          <button class="btn quiet square" aria-label="Hide compare" onClick={() => setPanel("right", false)}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="panel-body">
        {hasRuns && <CompareChart />}
        <ControlsPart />
        <PassesPart />
      </div>
      {hasRuns && (
        <div class="compare-foot">
          <Snippet />
        </div>
      )}
    </aside>
  );
}
