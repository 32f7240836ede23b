/** Why a contribution is summed: what was broadcast on the way forward is added up on the way back. */
import { formatShape } from "../../format";
import type { BackwardStep } from "../../wire";

export function SumNotes({ step: { sums, raw, contribution } }: { step: BackwardStep }) {
  if (sums.length === 0) return null;
  return (
    <div class="learn-note">
      <p>
        Summed from <b>{formatShape(raw.shape)}</b> to <b>{formatShape(contribution.shape)}</b>:
      </p>
      <ul>
        {sums.map(({ dim, size, reason }) => (
          <li key={dim}>
            <span class="mono">dim {dim}</span> ({size}). {reason}
          </li>
        ))}
      </ul>
    </div>
  );
}
