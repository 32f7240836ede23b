/** The track of the steps, with a tick for each: pressed or dragged, it goes there. */
import { useRef } from "preact/hooks";
import { stepRows } from "./steps";
import * as store from "./store";

/** More ticks than this would be a grey bar. */
const MOST_TICKS = 60;

export function StepTrack({ onGo }: { onGo: (to: number) => void }) {
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
    onGo(stepAt(event));
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (track.current?.hasPointerCapture(event.pointerId) === true && stepAt(event) !== now) onGo(stepAt(event));
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
  const row = store.lesson.value === null ? undefined : stepRows(store.lesson.value, store.direction.value)[now - 1];
  return row === undefined ? "no steps" : `step ${now}: ${row.target}, ${row.title}`;
}
