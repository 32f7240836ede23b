/** The bar below: which way, one step on or back, play, the track, guessing, and where one is. */
import { returnFocus } from "../netview/focusing";
import { Segments } from "../shell/Segments";
import { TimeIcon, type TimeIconName } from "../tensors/TimeIcon";
import { togglePlaying } from "./playing";
import * as store from "./store";
import { StepTrack } from "./StepTrack";
import { lossSaid } from "./wording";

export function StepBar() {
  const [now, count] = [store.step.value, store.count.value];
  const go = (to: number): void => {
    store.isPlaying.value = false;
    store.setStep(to);
  };
  const button = (icon: TimeIconName, label: string, key: string, to: number) => (
    <button
      class="btn square"
      aria-label={label}
      title={`${label} (${key})`}
      aria-disabled={count === 0 || Math.max(1, Math.min(count, to)) === now}
      onClick={() => go(to)}
    >
      <TimeIcon name={icon} />
    </button>
  );
  const isPlaying = store.isPlaying.value;
  const loss = lossSaid();
  return (
    <div class="timebar step-bar" role="toolbar" aria-label="Steps" onClick={returnFocus}>
      <Segments
        label="Direction"
        words={[
          ["forward", "Forward", "How the values are computed"],
          ["backward", "Backward", hasBackward() ? "How the gradients come back (b)" : "There is no loss to begin at"],
        ]}
        chosen={store.direction.value}
        choose={store.setDirection}
      />
      <div class="group" role="group" aria-label="Step">
        {button("first", "First step", "Home", 1)}
        {button("back", "One step back", "←", now - 1)}
        <button
          class="btn square"
          aria-label={isPlaying ? "Pause" : "Play"}
          title={isPlaying ? "Pause (Space)" : "Play (Space)"}
          aria-disabled={count < 2}
          onClick={togglePlaying}
        >
          <TimeIcon name={isPlaying ? "pause" : "play"} />
        </button>
        {button("on", "One step on", "→", now + 1)}
        {button("last", "Last step", "End", count)}
      </div>
      <StepTrack onGo={go} />
      <label class="check" title="The numbers of each step are shown when you ask for them">
        <input
          type="checkbox"
          checked={store.isGuessing.value}
          disabled={store.direction.value === "forward"}
          onChange={(event) => store.setGuessing(event.currentTarget.checked)}
        />
        Guess before showing
      </label>
      <div class="counters">
        <span>
          Step{" "}
          <b>
            {count === 0 ? 0 : now} / {count}
          </b>
        </span>
        {loss !== "" && (
          <span>
            Loss <b>{loss}</b>
          </span>
        )}
      </div>
    </div>
  );
}

function hasBackward(): boolean {
  return (store.lesson.value?.backward.length ?? 0) > 0;
}
