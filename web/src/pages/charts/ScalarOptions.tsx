/** How all charts are drawn: smoothing, axes, cursor, outliers, and which of them. */
import { useState } from "preact/hooks";
import { describePlace, FEW_POINTS } from "../../plot/scalars/model";
import { type Axis, clampSmoothing, options, setOptions, setSoon, settleOptions } from "../../plot/scalars/options";
import { resetZoom } from "../../plot/scalars/plot-keys";
import { groups, shownGroups } from "../../plot/scalars/state";
import { Hint } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { Segments, TextField } from "../../ui/controls";

const AXES: readonly (readonly [Axis, string])[] = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["time", "Wall"],
];

const Y_AXES = [["linear", "Linear"], ["log", "Log"]] as const;

export function ScalarOptions() {
  const { axis, isLogX, isLogY, ignoresOutliers, hasSharedCursor, zoom } = options.value;
  return (
    <section class="section scalar-options" aria-label="Scalars">
      <h3>Scalars</h3>
      <ChartFilter />
      <Smoothing />
      <div class="ctl">
        <span>X axis</span>
        <Segments label="X axis" words={AXES} chosen={axis} choose={(word) => setOptions({ axis: word })} />
      </div>
      <div class="ctl">
        <span>Y axis</span>
        <Segments
          label="Y axis"
          words={Y_AXES}
          chosen={isLogY ? "log" : "linear"}
          choose={(word) => setOptions({ isLogY: word === "log" })}
        />
      </div>
      <div class="stack">
        <Check isOn={hasSharedCursor} set={(isOn) => setOptions({ hasSharedCursor: isOn })}>
          Same cursor in all charts
        </Check>
        <Check isOn={ignoresOutliers} set={(isOn) => setOptions({ ignoresOutliers: isOn })}>
          Ignore outliers
        </Check>
        <Check isOn={isLogX} isOff={axis === "time"} set={(isOn) => setOptions({ isLogX: isOn })}>
          Logarithmic x axis
        </Check>
      </div>
      {zoom !== null && (
        <div class="row zoom-row">
          <span class="fs-1 dim grow clip">
            {describePlace(zoom.low, axis)} to {describePlace(zoom.high, axis)}
          </span>
          <button class="btn sm" title="Esc" onClick={resetZoom}>
            Show all
          </button>
        </div>
      )}
    </section>
  );
}

function Smoothing() {
  const { smoothing, isSmoothingChosen } = options.value;
  const [error, setError] = useState("");
  const type = (text: string): void => {
    const value = Number(text);
    const isRight = text.trim() !== "" && value >= 0 && value < 1;
    setError(isRight ? "" : "From 0 to below 1.");
    if (isRight) setOptions({ smoothing: clampSmoothing(value) });
  };
  return (
    <>
      <div class="ctl">
        <span>Smoothing</span>
        <div class="row">
          <input
            class="grow"
            type="range"
            min="0"
            max="0.99"
            step="0.01"
            value={smoothing}
            aria-label="Smoothing"
            onInput={(event) => setSoon({ smoothing: Number(event.currentTarget.value) })}
            onChange={settleOptions}
          />
          <input
            class="input sm smoothing-number"
            type="text"
            inputMode="decimal"
            aria-label="Smoothing as a number"
            aria-invalid={error !== ""}
            value={written(smoothing)}
            onChange={(event) => type(event.currentTarget.value)}
          />
        </div>
      </div>
      <Hint text={error} />
      {!isSmoothingChosen && <p class="muted fs-1">For lines of {FEW_POINTS} points or more.</p>}
    </>
  );
}

function written(smoothing: number): string {
  const text = String(smoothing);
  return text.length < 4 ? smoothing.toFixed(2) : text;
}

function ChartFilter() {
  const { filter: text } = options.value;
  const count = (all: readonly { charts: readonly unknown[] }[]): number =>
    all.reduce((sum, { charts }) => sum + charts.length, 0);
  return (
    <div class="chart-filter">
      <TextField
        type="text"
        placeholder="Filter charts"
        aria-label="Filter charts"
        title="A part of a name; * is any text, ? one character, ^ the beginning, $ the end, | or"
        autocomplete="off"
        spellcheck={false}
        isBad={false}
        value={text}
        set={(filter) => setSoon({ filter })}
        onChange={settleOptions}
        keys={{ Escape: () => setOptions({ filter: "" }) }}
      />
      {text !== "" && (
        <p class="muted fs-1" role="status">
          {count(shownGroups.value)} of {count(groups.value)} charts
        </p>
      )}
    </div>
  );
}
