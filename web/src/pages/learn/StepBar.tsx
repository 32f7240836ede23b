/** The bar below: which way, one step on or back, play, the track, guessing, and where one is. */
import { useEffect, useRef } from "preact/hooks";
import { Check } from "../../ui/Check";
import { StepButtons, usePlaying } from "../../ui/TimeBar";
import { Segments } from "../../ui/controls";
import { returnFocus } from "../../ui/focus";
import * as store from "./store";

/** Slowly enough to be read. */
const STEP_MS = 1200;

export function StepBar() {
  const [now, count] = [store.step.value, store.count.value];
  const isPlaying = store.isPlaying.value;
  usePlaying(isPlaying, () => (now < count ? store.setStep(now + 1) : (store.isPlaying.value = false)), STEP_MS);
  useEffect(() => () => void (store.isPlaying.value = false), []);
  const hasBackward = (store.lesson.value?.backward.length ?? 0) > 0;
  const loss = store.lossText.value;
  return (
    <div class="timebar step-bar" role="toolbar" aria-label="Steps" onClick={returnFocus}>
      <Segments
        label="Direction"
        words={[
          ["forward", "Forward", "How the values are computed"],
          ["backward", "Backward", hasBackward ? "How the gradients come back (b)" : "There is no loss to begin at"],
        ]}
        chosen={store.direction.value}
        choose={store.setDirection}
      />
      <StepButtons at={now - 1} count={count} isPlaying={isPlaying} go={(at) => store.goToStep(at + 1)} play={store.togglePlaying} />
      <StepTrack />
      <Check
        hint="The numbers of each step are shown when you ask for them"
        isOn={store.isGuessing.value}
        isOff={store.direction.value === "forward"}
        set={store.setGuessing}
      >
        Guess before showing
      </Check>
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

/** More ticks than this would be a grey bar. */
const MOST_TICKS = 60;

/** The track of the steps, with a tick for each: pressed or dragged, it goes there. */
function StepTrack() {
  const track = useRef<HTMLDivElement>(null);
  const [now, count] = [store.step.value, store.count.value];
  const share = (step: number): number => (count < 2 ? 0 : (100 * (step - 1)) / (count - 1));
  const stepAt = (event: PointerEvent): number => {
    const { left, width } = track.current!.getBoundingClientRect();
    return 1 + Math.round(Math.max(0, Math.min(1, (event.clientX - left) / Math.max(1, width))) * (count - 1));
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0 || count === 0) return;
    track.current?.setPointerCapture(event.pointerId);
    store.goToStep(stepAt(event));
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (track.current?.hasPointerCapture(event.pointerId) === true && stepAt(event) !== now) store.goToStep(stepAt(event));
  };
  return (
    <div
      class="step-track"
      ref={track}
      role="slider"
      tabIndex={0}
      aria-label="Step"
      aria-valuemin={count === 0 ? 0 : 1}
      aria-valuemax={count}
      aria-valuenow={count === 0 ? 0 : now}
      aria-valuetext={valueText(now)}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
    >
      <i class="rail-all" />
      <i class="rail-done" style={{ width: `${share(now)}%` }} />
      {count <= MOST_TICKS &&
        Array.from({ length: count }, (_, at) => <i key={at} class="tick" style={{ left: `${share(at + 1)}%` }} />)}
      {count > 0 && <i class="knob" style={{ left: `${share(now)}%` }} />}
    </div>
  );
}

function valueText(now: number): string {
  const step = store.steps.value[now - 1];
  return step === undefined ? "no steps" : `step ${now}: ${step.target}, ${step.title}`;
}
