/** Above the cells: what is selected, what is under the pointer, and the stretch that is being drawn. */
import * as state from "./state";
import { bucketAt, placeOf } from "./steps";

interface Props {
  scrollTop: number;
  /** From where to where the pointer was dragged, in pixels. */
  drag: readonly [number, number] | null;
}

export function HeatMarks({ scrollTop, drag }: Props) {
  const selected = state.lines.value.byName.get(state.rowName.value);
  return (
    <div class="heat-marks" aria-hidden="true">
      {selected !== undefined && (
        <i class="heat-row-mark" style={{ top: `${selected.top - scrollTop}px`, height: `${selected.height}px` }} />
      )}
      <StepMark />
      <CellMark scrollTop={scrollTop} />
      {drag !== null && (
        <i
          class="heat-range"
          style={{ left: `${Math.min(...drag)}px`, width: `${Math.abs(drag[1] - drag[0])}px` }}
        />
      )}
    </div>
  );
}

function StepMark() {
  const [step, axis] = [state.step.value, state.axis.value];
  if (step === null || step < axis.low || step > axis.high) return null;
  return <i class="heat-step-mark" style={{ left: `${placeOf(axis, step)}px` }} />;
}

function CellMark({ scrollTop }: { scrollTop: number }) {
  const [at, axis, spans] = [state.pointed.value, state.axis.value, state.spans.value];
  if (at === null) return null;
  const line = at.row === null ? undefined : state.lines.value.byName.get(at.row);
  const span = spans[bucketAt(spans, at.step)];
  if (line === undefined || span === undefined)
    return <i class="heat-cross" style={{ left: `${placeOf(axis, at.step)}px` }} />;
  const [left, right] = [placeOf(axis, span.low), placeOf(axis, span.high)];
  return (
    <>
      <i class="heat-cross" style={{ left: `${(left + right) / 2}px` }} />
      <i
        class="heat-cell-mark"
        style={{
          ...{ left: `${left}px`, width: `${Math.max(3, right - left)}px` },
          ...{ top: `${line.top - scrollTop}px`, height: `${line.height}px` },
        }}
      />
    </>
  );
}
