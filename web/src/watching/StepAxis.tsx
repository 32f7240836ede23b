/** The numbers of the steps, under the map. */
import { formatTicks } from "../charting/tickwords";
import * as state from "./state";
import { placeOf, stepTicks } from "./steps";

export function StepAxis() {
  const axis = state.axis.value;
  const ticks = axis.width > 0 && state.grid.value !== null ? stepTicks(axis) : [];
  return (
    <div class="heat-axis" aria-hidden="true">
      <span class="heat-axis-name">step</span>
      <div class="heat-ticks">
        {formatTicks(ticks).map((name, at) => (
          <span key={ticks[at]} style={{ left: `${placeOf(axis, ticks[at]!)}px` }}>
            {name}
          </span>
        ))}
      </div>
    </div>
  );
}
