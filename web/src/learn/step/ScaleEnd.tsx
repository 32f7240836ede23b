/** Where a scale ends at both sides, in numbers, and a field to fix it. */
import { useState } from "preact/hooks";
import { formatValue } from "../../format";
import { LimitField } from "../../shell/LimitField";
import { fixedLimits, limits } from "../store";

export function ScaleEnd({ ink, name }: { ink: "value" | "gradient"; name: string }) {
  const [error, setError] = useState("");
  const [limit, fixed] = [limits.value[ink], fixedLimits.value[ink]];
  const set = (typed: number | null): void => {
    const isUsable = typed === null || (Number.isFinite(typed) && typed > 0);
    setError(isUsable ? "" : "A limit is a number over 0, or nothing for automatic.");
    if (isUsable) fixedLimits.value = { ...fixedLimits.peek(), [ink]: typed };
  };
  return (
    <div class="scale-end" role="group" aria-label={`Scale of ${name}`}>
      <div class="ramp-ends">
        <span>≤ {formatValue(-limit, 3)}</span>
        <span class="middle">{name}</span>
        <span>
          {fixed !== null && <b>fixed </b>}≥ {formatValue(limit, 3)}
        </span>
      </div>
      <div class="row">
        <span class="muted fs-1">±</span>
        <LimitField label={`Limit of ${name}`} value={fixed} set={set} />
        <button class="btn sm" aria-label={`Auto limit of ${name}`} disabled={fixed === null && error === ""} onClick={() => set(null)}>
          Auto
        </button>
      </div>
      {error !== "" && (
        <p class="hint" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
