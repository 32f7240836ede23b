/** The ends of a vertical axis, as somebody wants them. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { options, setOptions, type Limits } from "./options";

const AUTO: Limits = { low: null, high: null };

export function LimitFields({ chartKey, name, close }: { chartKey: string; name: string; close: () => void }) {
  const [error, setError] = useState("");
  const first = useRef<HTMLInputElement>(null);
  const limits = options.value.limits.get(chartKey) ?? AUTO;
  useEffect(() => first.current?.focus(), []);
  const set = (end: "low" | "high", text: string): void => {
    const value = text.trim() === "" ? null : Number(text.replaceAll("\u2212", "-"));
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
        <LimitField box={first} label="Lowest value" value={limits.low} set={(text) => set("low", text)} />
        <LimitField label="Highest value" value={limits.high} set={(text) => set("high", text)} />
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

interface FieldProps {
  label: string;
  value: number | null;
  set: (text: string) => void;
  box?: RefObject<HTMLInputElement | null>;
}

function LimitField({ label, value, set, box }: FieldProps) {
  return (
    <input
      ref={box ?? null}
      class="input sm"
      type="text"
      inputMode="decimal"
      placeholder="auto"
      aria-label={label}
      title={label}
      value={value === null ? "" : String(value).replace("-", "\u2212")}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}
