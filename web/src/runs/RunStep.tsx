/** How far a run is: the step it is at, of how many, and as a bar while it goes on. */
import { formatCount } from "../format";
import type { RunListing } from "../wire";
import { isLive } from "./states";

export function RunStep({ run }: { run: RunListing }) {
  const { last_step, total_steps } = run;
  if (last_step === null) return <>{"\u2013"}</>;
  const hasTotal = total_steps !== null && total_steps > 0;
  return (
    <>
      {formatCount(last_step)}
      {hasTotal && isLive(run) && <Progress step={last_step} total={total_steps} />}
      {hasTotal && !isLive(run) && <small>of {formatCount(total_steps)}</small>}
    </>
  );
}

function Progress({ step, total }: { step: number; total: number }) {
  const percent = Math.max(0, Math.min(100, Math.round((100 * (step + 1)) / total)));
  return (
    <span
      class="bar"
      role="progressbar"
      aria-label="Steps done"
      aria-valuenow={percent}
      title={`of ${formatCount(total)}`}
    >
      <i style={{ width: `${percent}%` }} />
    </span>
  );
}
