/** Any tensor of a run at any step. */
import { useEffect } from "preact/hooks";
import { param } from "../route";
import { RunsFrame } from "../runs/RunsFrame";
import * as runs from "../runs/store";
import { Blank } from "../shell/Blank";
import * as page from "../store";
import { followRecordList } from "./recordlist";
import * as store from "./store";
import { TensorList } from "./TensorList";
import { TensorStage } from "./TensorStage";
import "./tensors.css";

export function TensorsPage() {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    return followRecordList(
      source,
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
