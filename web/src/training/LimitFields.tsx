/** The ends of a vertical axis, as somebody wants them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { LimitField } from "../shell/LimitField";
import { options, setOptions, type Limits } from "./options";

const AUTO: Limits = { low: null, high: null };

export function LimitFields({ chartKey, name, close }: { chartKey: string; name: string; close: () => void }) {
  const [error, setError] = useState("");
  const first = useRef<HTMLInputElement>(null);
  const limits = options.value.limits.get(chartKey) ?? AUTO;
  useEffect(() => first.current?.focus(), []);
  const set = (end: "low" | "high", value: number | null): void => {
    const next = { ...limits, [end]: value };
    if (value !== null && !Number.isFinite(value)) setError("A limit is a number, or nothing for automatic.");
    else if (next.low !== null && next.high !== null && next.low >= next.high)
      setError("The lower limit must be below the upper one.");
    else {
      setError("");
      keep(chartKey, next);
    }
  };
  return (
    <div
      class="chart-limits"
      role="group"
      aria-label={`Limits of ${name}`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        event.preventDefault();
        close();
      }}
    >
      <div class="row">
        <LimitField box={first} label="Lowest value" value={limits.low} set={(typed) => set("low", typed)} />
        <LimitField label="Highest value" value={limits.high} set={(typed) => set("high", typed)} />
        <button
          class="btn sm"
          disabled={limits.low === null && limits.high === null}
          onClick={() => {
            setError("");
            keep(chartKey, AUTO);
          }}
        >
          Auto
        </button>
        <button class="btn quiet sm" onClick={close}>
          Close
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

function keep(chartKey: string, limits: Limits): void {
  const all = new Map(options.peek().limits);
  if (limits.low === null && limits.high === null) all.delete(chartKey);
  else all.set(chartKey, limits);
  setOptions({ limits: all });
}
