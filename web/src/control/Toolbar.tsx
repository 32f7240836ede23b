/** What can be done with the training, and where it is. */
import { init, run, stop } from "./acting";
import { ActButton } from "./ActButton";
import { ControlBadge } from "./ControlBadge";
import { CountersPart } from "./CountersPart";
import { SeedPart } from "./SeedPart";
import { reasonAgainst } from "./sending";
import { StepPart } from "./StepPart";
import { control } from "./store";
import { TestPart } from "./TestPart";

export function Toolbar() {
  const state = control.value?.listing.state ?? null;
  // The one thing to do, where it is the only one.
  const isFirst = state === "new" || state === "failed" || state === "died";
  return (
    <div class="toolbar control-bar" role="toolbar" aria-label="Training control">
      <ActButton
        icon="init"
        style={isFirst ? "primary" : ""}
        against={reasonAgainst("init")}
        hint="Begin anew, with these parameters and this seed"
        act={init}
      >
        Init
      </ActButton>
      <div class="group">
        <ActButton icon="play" against={reasonAgainst("run")} hint="Go on to the end of all runs (r)" act={run}>
          Run
        </ActButton>
        <StopButton />
      </div>
      <span class="sep" />
      <StepPart />
      <span class="sep" />
      <TestPart />
      <span class="sep" />
      <SeedPart />
      <div class="control-place">
        <ControlBadge />
        <CountersPart />
      </div>
    </div>
  );
}

function StopButton() {
  const state = control.value?.listing.state;
  const against = reasonAgainst("stop");
  // The second press of a double click is no second wish.
  const press = (event: MouseEvent): void => {
    if (event.detail < 2) stop();
  };
  const hint =
    state === "stopping" || state === "starting"
      ? "End the process, whatever it is doing: what is in memory only is lost (s)"
      : "Stop after this trial (s)";
  return (
    <ActButton icon="stop" style={against === "" ? "stop" : ""} against={against} hint={hint} act={press}>
      Stop
    </ActButton>
  );
}
