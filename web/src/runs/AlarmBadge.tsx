/** How many alarms a run has, and the way to them. */
import { formatCount, formatNumberOf } from "../format";
import { addressOf } from "../route";
import { Icon } from "../shell/Icon";
import type { RunListing } from "../wire";

/** Absent where there are none. */
export function AlarmBadge({ run }: { run: RunListing }) {
  if (run.num_alarms === 0) return null;
  const words = formatNumberOf(run.num_alarms, "alarm");
  return (
    <a
      class="badge warn"
      href={addressOf("layers", { runs: run.id, run: run.id })}
      tabIndex={-1}
      title={words}
      aria-label={`${words} of ${run.name}`}
    >
      <Icon name="warning" />
      {formatCount(run.num_alarms)}
    </a>
  );
}
