/** The colours of a picture with their limits in numbers, which can be fixed. */
import { useState } from "preact/hooks";
import { formatValue } from "../data/format";
import type { Scale } from "../ui/colour-scale";

interface Props {
  scale: Scale;
  isAuto: boolean;
  onChange: (scale: Scale | null) => void;
}

export function ColourScale({ scale, isAuto, onChange }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const middle = (scale.low + scale.high) / 2;
  return (
    <div class="scale">
      <button
        class="ramp-button"
        aria-expanded={isOpen}
        aria-label={`Colours from ${formatValue(scale.low)} to ${formatValue(scale.high)}: set limits`}
        title="Set limits"
        onClick={() => setIsOpen(!isOpen)}
      >
        <span class={`ramp smooth ${scale.map}`} />
      </button>
      <div class="ramp-ends">
        <span>{formatValue(scale.low, 3)}</span>
        {scale.map === "div" && <span class="middle">{formatValue(middle, 3)}</span>}
        <span>
          {!isAuto && <b>fixed </b>}
          {formatValue(scale.high, 3)}
        </span>
      </div>
      {isOpen && <Limits scale={scale} isAuto={isAuto} onChange={onChange} />}
    </div>
  );
}

function Limits({ scale, isAuto, onChange }: Props) {
  const [error, setError] = useState("");
  const set = (name: "low" | "high", text: string): void => {
    const value = Number(text.replaceAll("\u2212", "-"));
    const next = { ...scale, [name]: value };
    if (text.trim() === "" || !Number.isFinite(value)) setError("A limit is a number.");
    else if (next.low === next.high) setError("The limits must differ.");
    else {
      setError("");
      onChange(next);
    }
  };
  const centre = (): void => {
    const limit = Math.max(Math.abs(scale.low), Math.abs(scale.high));
    onChange({ map: "div", low: -limit, high: limit });
  };
  return (
    <div class="limits">
      <div class="row">
        <LimitField name="Low" value={scale.low} onSet={(text) => set("low", text)} />
        <LimitField name="High" value={scale.high} onSet={(text) => set("high", text)} />
        <button class="btn sm" disabled={isAuto} onClick={() => onChange(null)}>
          Auto
        </button>
        <button class="btn sm" onClick={centre}>
          Centre on zero
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

function LimitField({ name, value, onSet }: { name: string; value: number; onSet: (text: string) => void }) {
  return (
    <input
      class="input sm"
      type="text"
      inputMode="decimal"
      aria-label={`${name} limit`}
      value={formatPlain(value)}
      onChange={(event) => onSet(event.currentTarget.value)}
    />
  );
}

/** As it can be typed: with a true minus, without groups. */
function formatPlain(value: number): string {
  return String(Number(value.toPrecision(4))).replace("-", "\u2212");
}
