/** What an answer gave on the example, beside what was wanted. */
import type { Verdict } from "../../wire";
import { NumberTable } from "../step/NumberTable";

export function VerdictCells({ verdict: { got, wanted, is_right } }: { verdict: Verdict }) {
  if (got === null && wanted === null) return null;
  return (
    <div class="verdict-cells">
      {got !== null && <NumberTable cells={got} ink="own" label={is_right ? "what it gives" : "got"} />}
      {!is_right && wanted !== null && <NumberTable cells={wanted} ink="own" label="wanted" />}
    </div>
  );
}
