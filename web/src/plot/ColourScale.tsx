/** The colours of a picture with their limits in numbers, which can be fixed. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatValue } from "../data/format";
import { Hint } from "../ui/Blank";
import type { Scale } from "../ui/colour-scale";

interface Props {
  scale: Scale;
  isAuto: boolean;
  onChange: (scale: Scale | null) => void;
}

export function ColourScale({ scale, isAuto, onChange }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const { low, high } = scale;
  const limit = Math.max(Math.abs(low), Math.abs(high));
  return (
    <div class="scale">
      <button
        class="ramp-button"
        aria-expanded={isOpen}
        aria-label={`Colours from ${formatValue(low)} to ${formatValue(high)}: set limits`}
        title="Set limits"
        onClick={() => setIsOpen(!isOpen)}
      >
        <span class={`ramp smooth ${scale.map}`} />
      </button>
      <div class="ramp-ends">
        <span>{formatValue(low, 3)}</span>
        {scale.map === "div" && <span class="middle">{formatValue((low + high) / 2, 3)}</span>}
        <span>
          {!isAuto && <b>fixed </b>}
          {formatValue(high, 3)}
        </span>
      </div>
      {isOpen && (
        <div class="limits">
          <LimitFields
            ends={[low, high]}
            isAuto={isAuto}
            complaint={(from, to) => (from === to ? "The limits must differ." : "")}
            onSet={(ends) => onChange(ends === null ? null : { ...scale, low: ends[0], high: ends[1] })}
          >
            <button class="btn sm" onClick={() => onChange({ map: "div", low: -limit, high: limit })}>
              Centre on zero
            </button>
          </LimitFields>
        </div>
      )}
    </div>
  );
}

// --- Two limits to type, and a way back to the automatic ones.

type Ends = readonly [low: number, high: number];

interface LimitsProps {
  ends: Ends;
  isAuto: boolean;
  /** Why these cannot be the limits; empty where they can. */
  complaint: (...ends: Ends) => string;
  /** Null for automatic ones. */
  onSet: (ends: Ends | null) => void;
  children?: ComponentChildren;
}

export function LimitFields({ ends, isAuto, complaint, onSet, children }: LimitsProps) {
  const [error, setError] = useState("");
  const set = (which: 0 | 1, text: string): void => {
    const value = Number(text.replaceAll("\u2212", "-"));
    const next: Ends = which === 0 ? [value, ends[1]] : [ends[0], value];
    const isNumber = text.trim() !== "" && Number.isFinite(value);
    const problem = isNumber ? complaint(...next) : "A limit is a number.";
    setError(problem);
    if (problem === "") onSet(next);
  };
  return (
    <>
      <div class="row">
        {([0, 1] as const).map((which) => (
          <input
            key={which}
            class="input sm"
            type="text"
            inputMode="decimal"
            aria-label={which === 0 ? "Low limit" : "High limit"}
            // As it can be typed: with a true minus, without groups.
            value={String(Number(ends[which].toPrecision(4))).replace("-", "\u2212")}
            onChange={(event) => set(which, event.currentTarget.value)}
          />
        ))}
        <button class="btn sm" disabled={isAuto} onClick={() => onSet(null)}>
          Auto
        </button>
        {children}
      </div>
      <Hint text={error} />
    </>
  );
}
