/** The name of a run beside its colour. */
import { colourSlot } from "../runs/store";
import type { RunListing } from "../wire";

export function RunTag({ run }: { run: RunListing }) {
  return (
    <span class="sec-run" title={run.name}>
      <i class="sec-sw" style={{ background: `var(--cat-${colourSlot(run.id)})` }} />
      <span class="clip">{run.name}</span>
    </span>
  );
}
