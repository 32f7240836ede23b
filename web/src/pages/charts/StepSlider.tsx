/** Which step is looked at: a slider over those that were recorded, and a button that follows the newest. */
import { formatCount } from "../../data/format";
import { movedByKey } from "../../data/time-steps";
import { Slider, ToolButton } from "../../plot/Figure";
import type { Stepped } from "../../plot/useRecords";

export function StepSlider({ name, stepped }: { name: string; stepped: Stepped }) {
  const { steps, at, step, isFollowing, numAll } = stepped;
  const last = steps.length - 1;
  // A single step leaves nothing to choose.
  if (last < 1) return null;
  return (
    <div class="sec-slider">
      <Slider
        label={`Step of ${name}`}
        text={`step ${step}, ${at + 1} of ${steps.length}`}
        hint={numAll > steps.length ? `${formatCount(steps.length)} of ${formatCount(numAll)} records` : undefined}
        at={at}
        last={last}
        // Who goes to the end wants what comes there.
        set={(place) => (place === last ? stepped.follow() : stepped.moveTo(place))}
      />
      <span class="sec-out">{formatCount(step)}</span>
      <ToolButton
        glyph="newest"
        name={`Follow the newest step of ${name}`}
        isPressed={isFollowing}
        press={() => (isFollowing ? stepped.moveTo(at) : stepped.follow())}
      />
    </div>
  );
}

/** The keys of a figure with a slider, wherever in it the focus is: one step, the first, the last. */
export function stepByKey(event: KeyboardEvent, stepped: Stepped): void {
  const target = event.target as HTMLElement;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName) || target.role === "radio") return;
  if (target.dataset.keys === "own" || event.ctrlKey || event.altKey || event.metaKey) return;
  const to = movedByKey(event, stepped.at, stepped.steps.length);
  if (to === null) return;
  event.preventDefault();
  if (to >= stepped.steps.length - 1) stepped.follow();
  else stepped.moveTo(to);
}
