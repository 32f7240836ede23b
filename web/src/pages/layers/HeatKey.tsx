/** The colours of the map with their limits in numbers, which can be fixed. */
import { setParams } from "../../data/route";
import { LimitFields } from "../../plot/ColourScale";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Picker";
import type { Scale } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import { formatFigure } from "./rows";
import type { LogChoice } from "./scales";
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
export function Ramp({ scale }: { scale: Scale }) {
  const figure = state.shownFigure.value;
  return (
    <span class="heat-ramp">
      {formatFigure(figure, scale.low, { digits: 3 })}
      <span class={`ramp smooth ${scale.map}`} />
      <span class="ramp-end">{formatFigure(figure, scale.high, { digits: 3 })}</span>
      <span class="muted is-log">{scale.isLog === true ? "log" : ""}</span>
    </span>
  );
}

function Limits({ scale }: { scale: Scale | null }) {
  const { limits, log } = state.wish.value;
  return (
    <div class="stack heat-limits">
      <LimitFields
        ends={limits ?? [scale?.low ?? 0, scale?.high ?? 1]}
        isAuto={limits === null}
        complaint={(low, high) => (low < high ? "" : "The low limit must be below the high one.")}
        onSet={(ends) => setParams({ limits: ends === null ? null : ends.join(",") })}
      />
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
      <div class="legend">
        {SIGNS.map(([look, text]) => (
          <span key={look}>
            <i class={`heat-sign ${look}`} />
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}

const SIGNS = [
  ["nan", "has NaN"],
  ["inf", "has Inf"],
  ["none", "not recorded"],
] as const;
