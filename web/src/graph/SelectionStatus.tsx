/** Says what is selected, for those who do not see it. */
import { selection } from "./describing";

export function SelectionStatus() {
  return (
    <div class="sr" role="status" aria-live="polite">
      {selection.value}
    </div>
  );
}
