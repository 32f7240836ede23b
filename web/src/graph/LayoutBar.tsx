/** Says that a layout is being made, how far it is, or that it failed. */
import { formatCount } from "../format";
import { layoutFailure, layoutWait } from "./viewstate";

export function LayoutBar() {
  const [wait, failure] = [layoutWait.value, layoutFailure.value];
  if (failure !== null) {
    return (
      <div class="float graph-wait" role="alert">
        <b>This view could not be laid out.</b>
        <span class="muted">{failure} Close a module and go on.</span>
      </div>
    );
  }
  if (wait === null) return null;
  const percent = Math.round((100 * wait.numPlaced) / Math.max(1, wait.numOps));
  return (
    <div class="float graph-wait" role="status">
      <span>Laying out {formatCount(wait.numOps)} boxes</span>
      <div
        class="bar"
        role="progressbar"
        aria-label="Layout"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <i style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}
