/** The time bar of the network: its moments, with their counters as text. */
import { formatCount } from "../format";
import { isConnected } from "../runs/states";
import { TimeBar } from "../tensors/TimeBar";
import { at, countersNow, follow, goTo, isFollowing, moments, step } from "./moments";
import { counterText, counterTitle } from "./wording";

export function NetTimeBar() {
  const list = moments.value;
  if (list.length === 0) {
    return (
      <div class="timebar net-time" role="toolbar" aria-label="Steps">
        <span class="muted fs-2">No moment was recorded yet</span>
      </div>
    );
  }
  return (
    <div class="net-time">
      <TimeBar
        moments={list}
        at={at.value}
        numAll={list.length}
        isFollowing={isFollowing.value}
        canFollow={isConnected.value}
        counters={shownCounters()}
        onGo={goTo}
        onFollow={follow}
      />
    </div>
  );
}

/** The step stands among them, unless a counter says it already. */
function shownCounters(): readonly (readonly [string, string])[] {
  const counters = countersNow.value;
  const now = String(step.value ?? "");
  const texts = counters.map(([name, text]) => [counterTitle(name), counterText(text)] as const);
  if (counters.some(([, text]) => text === now)) return texts;
  return [["Step", step.value === null ? "" : formatCount(step.value)], ...texts];
}
