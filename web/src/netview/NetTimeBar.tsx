/** The time bar of the network: its moments, with their counters as text. */
import { formatCount } from "../format";
import { isConnected } from "../runs/states";
import { TimeBar } from "../tensors/TimeBar";
import { at, countersNow, follow, goTo, isFollowing, list as known, moments, step } from "./moments";
import { counterText, counterTitle } from "./wording";

export function NetTimeBar() {
  const list = moments.value;
  if (list.length === 0) {
    return (
      <div class="timebar net-time" role="toolbar" aria-label="Steps">
        <span class="muted fs-2">{known.value !== null && "No moment was recorded yet"}</span>
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

/** From the slowest to the fastest, then what is nobody's count, such as a name. */
const ORDER = ["run", "epoch", "trial"];

function placeOf(counter: string): number {
  const place = ORDER.indexOf(counter);
  return counter === "name" ? ORDER.length + 1 : place < 0 ? ORDER.length : place;
}

/** The step stands among them, unless a counter says it already. */
function shownCounters(): readonly (readonly [string, string])[] {
  const counters = [...countersNow.value].sort(([one], [other]) => placeOf(one) - placeOf(other));
  const now = String(step.value ?? "");
  const texts = counters.map(([name, text]) => [counterTitle(name), counterText(text)] as const);
  if (counters.some(([, text]) => text === now)) return texts;
  return [["Step", step.value === null ? "" : formatCount(step.value)], ...texts];
}
