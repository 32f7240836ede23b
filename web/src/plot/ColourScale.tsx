/** The colours of a picture with their limits in numbers, which can be fixed. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatValue } from "../data/format";
import { Hint } from "../ui/Blank";
import type { Scale } from "../ui/colour-scale";
import { LimitField } from "../ui/controls";

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

interface LimitsProps<End extends number | null> {
  names?: readonly [low: string, high: string];
  ends: readonly [low: End, high: End];
  isAuto: boolean;
  /** May one of them be left to the data, as null? */
  mayBeOpen?: boolean;
  /** Why these cannot be the limits; empty where they can. */
  complaint: (low: End, high: End) => string;
  /** Null for automatic ones. */
  onSet: (ends: readonly [low: End, high: End] | null) => void;
  children?: ComponentChildren;
}

/** Two limits to type, and a way back to the automatic ones. */
export function LimitFields<End extends number | null>({
  names = ["Low limit", "High limit"],
  ends,
  isAuto,
  mayBeOpen = false,
  complaint,
  onSet,
  children,
}: LimitsProps<End>) {
  const [error, setError] = useState("");
  const set = (which: 0 | 1, end: number | null): void => {
    const next = (which === 0 ? [end, ends[1]] : [ends[0], end]) as [End, End];
    const isUsable = end === null ? mayBeOpen : Number.isFinite(end);
    const problem = isUsable ? complaint(...next) : `A limit is a number${mayBeOpen ? ", or nothing for automatic" : ""}.`;
    setError(problem);
    if (problem === "") onSet(next);
  };
  return (
    <>
      <div class="row">
        {([0, 1] as const).map((which) => (
          <LimitField key={which} label={names[which]} value={shownEnd(ends[which], mayBeOpen)} set={(end) => set(which, end)} />
        ))}
        <button
          class="btn sm"
          disabled={isAuto}
          onClick={() => {
            setError("");
            onSet(null);
          }}
        >
          Auto
        </button>
        {children}
      </div>
      <Hint text={error} />
    </>
  );
}

/** Ends that the data has made have more digits than anybody types. */
function shownEnd(end: number | null, isTyped: boolean): number | null {
  return end === null || isTyped ? end : Number(end.toPrecision(4));
}
