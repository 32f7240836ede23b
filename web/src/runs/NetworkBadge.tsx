/** That a run has a network to look at, and the way to it. */
import { addressOf } from "../route";
import type { RunListing } from "../wire";

/** Absent where there is none. */
export function NetworkBadge({ run }: { run: RunListing }) {
  if (!run.has_network) return null;
  return (
    <a
      class="badge"
      href={addressOf("netview", { run: run.id })}
      tabIndex={-1}
      title="The network in three dimensions"
      aria-label={`NetView of ${run.name}`}
    >
      NetView
    </a>
  );
}
