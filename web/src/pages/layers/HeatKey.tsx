/** The colours of the map with their limits in numbers, which can be fixed. */
import { useState } from "preact/hooks";
import { setParams } from "../../data/route";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Picker";
import { Segments } from "../../ui/controls";
import { formatFigure } from "./rows";
import type { HeatScale, LogChoice } from "./scales";
import * as state from "./state";

export function HeatKey() {
  const scale = state.sharedScale.value;
  const isFixed = state.wish.value.limits !== null;
  return (
    <Popover
      label="Colours of the map"
      button={
        <span class="heat-key" title="Set limits">
          {scale === null ? <span>Limits</span> : <Ramp scale={scale} />}
          {scale !== null && <span class="sr">Limits</span>}
          {isFixed && <b>fixed</b>}
          <Icon name="down" />
        </span>
      }
    >
      <Limits scale={scale} />
    </Popover>
  );
}

/** Colours between their limits. */
export function Ramp({ scale }: { scale: HeatScale }) {
  const figure = state.shownFigure.value;
  return (
    <span class="heat-ramp">
      {formatFigure(figure, scale.low, { digits: 3 })}
      <span class={`ramp smooth ${scale.map}`} />
      <span class="ramp-end">{formatFigure(figure, scale.high, { digits: 3 })}</span>
      <span class="muted is-log">{scale.isLog ? "log" : ""}</span>
    </span>
  );
}

function Limits({ scale }: { scale: HeatScale | null }) {
  const [error, setError] = useState("");
  const { limits, log } = state.wish.value;
  const [low, high] = limits ?? [scale?.low ?? 0, scale?.high ?? 1];
  const set = (next: readonly [number | null, number | null]): void => {
    const [from, to] = next;
    if (from === null || to === null) setError("A limit is a number.");
    else if (from >= to) setError("The low limit must be below the high one.");
    else {
      setError("");
      setParams({ limits: `${from},${to}` });
    }
  };
  return (
    <div class="stack heat-limits">
      <div class="row">
        <LimitField name="Low" value={low} onSet={(value) => set([value, high])} />
        <LimitField name="High" value={high} onSet={(value) => set([low, value])} />
        <button class="btn sm" disabled={limits === null} onClick={() => setParams({ limits: null })}>
          Auto
        </button>
      </div>
      {error !== "" && (
        <p class="hint" role="alert">
          {error}
        </p>
      )}
      <Segments<LogChoice>
        label="Scale"
        isWide
        words={[
          ["auto", "Auto", "Logarithmic where sizes span decades"],
          ["linear", "Linear"],
          ["log", "Log", "Where all values are positive"],
        ]}
        chosen={log}
        choose={(word) => setParams({ log: word === "auto" ? null : word === "log" ? "yes" : "no" })}
      />
      <Signs />
    </div>
  );
}

function Signs() {
  return (
    <div class="legend">
      <span>
        <i class="heat-sign nan" />
        has NaN
      </span>
      <span>
        <i class="heat-sign inf" />
        has Inf
      </span>
      <span>
        <i class="heat-sign none" />
        not recorded
      </span>
    </div>
  );
}

interface FieldProps {
  name: string;
  value: number;
  onSet: (value: number | null) => void;
}

function LimitField({ name, value, onSet }: FieldProps) {
  const read = (text: string): number | null => {
    const number = Number(text.replaceAll("\u2212", "-"));
    return text.trim() === "" || !Number.isFinite(number) ? null : number;
  };
  return (
    <input
      class="input sm"
      type="text"
      inputMode="decimal"
      aria-label={`${name} limit`}
      value={String(Number(value.toPrecision(4))).replace("-", "\u2212")}
      onChange={(event) => onSet(read(event.currentTarget.value))}
    />
  );
}
