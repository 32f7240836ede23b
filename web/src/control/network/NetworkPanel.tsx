/** The network of the run that is written now, in three dimensions, at its newest moment. */
import { useEffect } from "preact/hooks";
import { addressOf } from "../../route";
import { Blank } from "../../shell/Blank";
import * as page from "../../store";
import { useKey } from "../../tensors/useKey";
import { runId } from "../../netview/netrun";
import { goToItem, isAwaited, isKnown, sceneFailure, tryAgain } from "../../netview/netstate";
import { NetStage } from "../../netview/NetStage";
import { NetTip } from "../../netview/NetTip";
import { StageNotes } from "../../netview/StageNotes";
import * as view from "../../netview/store";
import { sentence } from "../../netview/wording";
import { whyNoNetwork } from "../notes";
import { followNetwork, hasNetwork, trainingName } from "./following";
import { MomentLine } from "./MomentLine";
import { VariableSelect } from "./VariableSelect";
import "../../netview/netview.css";
import "./network.css";

export function NetworkPanel() {
  const source = page.source.value;
  useEffect(() => (source === null ? undefined : followNetwork(source)), [source]);
  useKey("[", () => goToItem(view.item.peek() - 1));
  useKey("]", () => goToItem(view.item.peek() + 1));
  return (
    <section class="panel control-network" aria-label="Network" aria-busy={isReading() || isAwaited.value}>
      <div class="panel-head">
        <h2>Network</h2>
        {hasNetwork.value && <VariableSelect />}
        <span class="grow" />
        {hasNetwork.value && (
          <a class="btn quiet sm" href={addressOf("netview", { run: runId.value, var: otherThanFirst() })}>
            Open NetView
          </a>
        )}
      </div>
      <div class="control-stage">
        <Drawing />
      </div>
      {hasNetwork.value && <MomentLine />}
    </section>
  );
}

function isReading(): boolean {
  return runId.value !== "" && !isKnown.value && sceneFailure.value === "";
}

function otherThanFirst(): string | null {
  return view.variable.value === "Act" ? null : view.variable.value;
}

function Drawing() {
  if (hasNetwork.value) {
    return (
      <>
        {/* One camera for all runs of a training. */}
        <NetStage runKey={`control ${trainingName.value}`} tip={() => <NetTip />} isPart />
        <StageNotes />
      </>
    );
  }
  if (sceneFailure.value !== "") {
    return (
      <Blank icon="warning" title="The network cannot be shown" isError>
        <span>{sentence(sceneFailure.value)}</span>
        <button class="btn" onClick={tryAgain}>
          Try again
        </button>
      </Blank>
    );
  }
  if (isReading()) {
    return (
      <div class="blank late">
        <b>Reading the network</b>
        <div class="bar moving" role="progressbar" aria-label="Reading the network">
          <i />
        </div>
      </div>
    );
  }
  if (whyNoNetwork.value !== "") {
    return (
      <Blank icon="only" title="No network">
        <span>{sentence(whyNoNetwork.value)}</span>
      </Blank>
    );
  }
  return (
    <Blank icon="only" title="No network yet">
      <span>{runId.value === "" ? "Init builds it, and it shows up here." : "Nothing was recorded of it in this run."}</span>
    </Blank>
  );
}
