/** The colours of the variable with their limits, which can be fixed, and how small values are drawn. */
import { useState } from "preact/hooks";
import { formatTicks } from "../charting/tickwords";
import { formatValue } from "../format";
import { themeTick } from "../store";
import { cssRamp } from "./colours";
import { choose, MAPS, range, setCentred, setLimit, shownVariable } from "./ranges";
import * as store from "./store";

const NUM_WORDS = 5;

export function ColourPanel() {
  const { map, isAuto, isCentred, fading } = store.look.value;
  const variable = shownVariable.value || store.variable.value;
  const isKnown = range.value !== null;
  return (
    <section class="net-colour" aria-label="Colour">
      <div class="panel-head">
        <h2>Colour</h2>
        <span class="grow" />
        <span class="muted fs-1">{variable}</span>
      </div>
      <div class="net-scale pad">
        <Legend />
        <div class="ctl">
          <LimitField key={`max ${variable}`} which="max" title="Max" variable={variable} />
          <LimitField key={`min ${variable}`} which="min" title="Min" variable={variable} />
          <label class="check" title="From the lowest to the highest value that was ever recorded">
            <input
              type="checkbox"
              checked={isAuto}
              disabled={!isKnown && isAuto}
              onChange={(event) => setAuto(variable, event.currentTarget.checked)}
            />
            Auto range
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={isCentred}
              onChange={(event) => setCentred(variable, event.currentTarget.checked)}
            />
            Centre on zero
          </label>
          <select
            class="input"
            aria-label="Colour map"
            value={map}
            onChange={(event) => choose(variable, { map: event.currentTarget.value as store.MapName })}
          >
            {MAPS.map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </div>
      </div>
      <label class="net-fading pad" title="The smaller a value, the more transparent">
        <span>Fade small values</span>
        <input
          class="grow"
          type="range"
          aria-label="Fade small values"
          min={0}
          max={1}
          step={0.05}
          value={fading}
          onInput={(event) => (store.look.value = { ...store.look.peek(), fading: Number(event.currentTarget.value) })}
        />
      </label>
    </section>
  );
}

function setAuto(variable: string, isAuto: boolean): void {
  const { min, max } = store.look.peek();
  choose(variable, { fixed: isAuto ? null : { min, max } });
}

/** The limits, and what lies between them, beside the colours. */
function Legend() {
  const { min, max, map } = store.look.value;
  const values = Array.from({ length: NUM_WORDS }, (_, at) => max + ((min - max) * at) / (NUM_WORDS - 1));
  return (
    <div class="legend-tall" role="img" aria-label={`Colours from ${formatValue(min)} to ${formatValue(max)}`}>
      {/* The colours are those of the theme: with another one they are read anew. */}
      <span key={themeTick.value} class="ramp-tall" style={{ background: `linear-gradient(to top, ${cssRamp(map)})` }} />
      <div class="ends" aria-hidden="true">
        {legendTexts(values).map((text, at) => (
          <span key={at}>{text}</span>
        ))}
      </div>
    </div>
  );
}

const DIGITS = 3;

/** With three digits of the largest, all alike: 1.00, 0.50, 0. */
export function legendTexts(values: readonly number[]): string[] {
  const power = Math.floor(Math.log10(Math.max(...values.map(Math.abs)) || 1));
  if (power < -4 || power > 6) return formatTicks(values.map((value) => Number(value.toPrecision(DIGITS))));
  const decimals = Math.max(0, DIGITS - 1 - power);
  return values.map((value) => (value === 0 ? "0" : value.toFixed(decimals).replace("-", "\u2212")));
}

interface FieldProps {
  which: "min" | "max";
  title: string;
  variable: string;
}

function LimitField({ which, title, variable }: FieldProps) {
  const [error, setError] = useState("");
  // What is being typed stays while the limits move with the values.
  const [draft, setDraft] = useState<string | null>(null);
  const value = store.look.value[which];
  return (
    <div class="field">
      <label for={`net-${which}`}>{title}</label>
      <input
        id={`net-${which}`}
        class={error === "" ? "input" : "input bad"}
        type="text"
        inputMode="decimal"
        autocomplete="off"
        aria-invalid={error !== ""}
        value={draft ?? plainText(value)}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={(event) => {
          const text = event.currentTarget.value.replaceAll("\u2212", "-").replaceAll(/[\s\u202f]/g, "");
          setError(text === "" ? "A limit is a number." : setLimit(variable, which, Number(text)));
          // What is not taken does not stay: the limit is what the colours show.
          setDraft(null);
        }}
      />
      {error !== "" && (
        <span class="hint" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}

/** As it can be typed: with a true minus, without groups. */
function plainText(value: number): string {
  return String(Number(value.toPrecision(4))).replaceAll("-", "\u2212");
}
