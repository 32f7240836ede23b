/** An end of a scale to type: nothing is automatic. */
import type { RefObject } from "preact";

interface Props {
  label: string;
  /** Null for automatic. */
  value: number | null;
  set: (typed: number | null) => void;
  box?: RefObject<HTMLInputElement | null>;
}

export function LimitField({ label, value, set, box }: Props) {
  return (
    <input
      ref={box ?? null}
      class="input sm"
      type="text"
      inputMode="decimal"
      placeholder="auto"
      aria-label={label}
      title={label}
      value={value === null ? "" : String(value).replaceAll("-", "\u2212")}
      onChange={(event) => set(typed(event.currentTarget.value))}
    />
  );
}

/** Null for nothing, NaN for what is no number. */
function typed(text: string): number | null {
  return text.trim() === "" ? null : Number(text.replaceAll("\u2212", "-"));
}
