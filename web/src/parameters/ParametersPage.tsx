/** Hyperparameters of the runs, as a table and as parallel coordinates. */
import { useEffect } from "preact/hooks";
import { RunsFrame } from "../runs/RunsFrame";
import { runs } from "../runs/store";
import { askOf } from "../sections/asking";
import { useAsked } from "../sections/useAsked";
import { Waiting } from "../sections/Waiting";
import { Blank } from "../shell/Blank";
import type { HparamsRow } from "../wire";
import { Coordinates } from "./Coordinates";
import { HparamsTable } from "./HparamsTable";
import { ParametersOptions } from "./ParametersOptions";
import { Scatter } from "./Scatter";
import { answered } from "./sheet";
import "../sections/sections.css";
import "./parameters.css";

const LINE = 'run.log_hparams({"lr": 0.1})';
const REFRESH_SECONDS = 5;

export function ParametersPage() {
  const asked = useAsked<readonly HparamsRow[]>({ key: "hparams", version: versionOfRuns(), ask });
  useEffect(() => {
    if (asked.value !== null) answered.value = asked.value;
  }, [asked.value]);
  const isEmpty = asked.value?.length === 0 && answered.value.length === 0;
  return (
    <RunsFrame isForAll options={answered.value.length > 0 && <ParametersOptions />}>
      {answered.value.length > 0 ? (
        <div class="sections parameters">
          <h1 class="sr">Parameters</h1>
          <Coordinates />
          <div class="par-halves">
            <HparamsTable />
            <Scatter />
          </div>
        </div>
      ) : isEmpty ? (
        <Blank icon="details" title="No hyperparameters yet">
          <span>Log them once in each run; the runs then stand side by side here.</span>
          <pre>{LINE}</pre>
        </Blank>
      ) : (
        <Waiting problem={asked.problem} height={280} retry={asked.retry} />
      )}
    </RunsFrame>
  );
}

/** Changes with the runs, and every few seconds while one is running: parameters are not pushed. */
function versionOfRuns(): string {
  return runs.value
    .map(({ id, state, num_series, updated }) => {
      const beat = state === "running" ? Math.floor(updated / REFRESH_SECONDS) : state;
      return `${id} ${num_series} ${beat}`;
    })
    .join(",");
}

async function ask(): Promise<readonly HparamsRow[]> {
  const { answer } = await askOf({ type: "hparams" }, "hparams");
  return answer.rows;
}
