/** Said of what was computed while an extraction goes on: there are more samples by now. */
import { formatCount } from "../format";
import * as store from "./store";

export function MoreSamples({ numThen, again }: { numThen: number; again: () => void }) {
  const now = store.listing.value?.num_done ?? 0;
  if (now <= numThen) return null;
  return (
    <span class="muted fs-1 ft-more">
      {formatCount(now - numThen)} samples have come since.{" "}
      <button class="link" onClick={again}>
        Update
      </button>
    </span>
  );
}
