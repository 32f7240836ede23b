/** A word in the top bar: is there a server behind this page, and does anything change? */
import { isConnected } from "../data/connection";
import { control } from "../data/control";
import { run } from "../data/network/moments";
import { chosen, runs } from "../data/runs";
import * as store from "../data/store";
import { shownArea } from "../data/views";
import { isLive } from "../ui/run-states";
import type { ControlState } from "../wire";

const WORDS = {
  "one-file": ["one file", "badge"],
  connecting: ["connecting", "badge"],
  connected: ["connected", "badge"],
  lost: ["connection lost", "badge warn"],
  refused: ["not admitted", "badge warn"],
} as const;

export function ConnectionBadge() {
  const connection = store.source.value?.connection.value;
  if (connection === undefined) return null;
  const isOn = hasLiveRuns();
  const [word, style] = isOn ? ["live", "badge live"] : WORDS[connection.state];
  return (
    <span class={style} role="status">
      <i class={isOn ? "dot pulse" : "dot"} />
      {word}
    </span>
  );
}

/** Does anything in view go on? */
function hasLiveRuns(): boolean {
  if (shownArea.value === "graph" || shownArea.value === "learn") return false;
  if (shownArea.value === "netview") return run.value !== null && isLive(run.value);
  if (shownArea.value === "control") return isConnected.value && isUnderWay(control.value?.listing.state);
  return (shownArea.value === "training" ? chosen : runs).value.some(isLive);
}

function isUnderWay(state: ControlState | undefined): boolean {
  return state === "busy" || state === "stopping";
}
