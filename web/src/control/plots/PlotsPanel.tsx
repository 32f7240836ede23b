/** The plots that a training wants, as its numbers come: a few at a glance, more by scrolling. */
import { useEffect, useLayoutEffect } from "preact/hooks";
import { Blank } from "../../shell/Blank";
import { followOptions } from "../../training/feeds";
import { options, settleOptions } from "../../training/options";
import { startEscape } from "../../training/plotkeys";
import { cursor, spoken } from "../../training/state";
import { about, control } from "../store";
import { PlotFigure } from "./PlotFigure";
import { charts } from "./subject";
import "../../training/training.css";
import "./plots.css";

/** So many have room without scrolling. */
const AT_A_GLANCE = 4;

export function PlotsPanel() {
  useEffect(() => {
    const stops = [followOptions(), startEscape()];
    return () => {
      settleOptions();
      for (const stop of stops) stop();
    };
  }, []);
  // As it goes, not after the next paint: by then the next charts may be there, and pointed at.
  useLayoutEffect(() => () => (cursor.value = null), []);
  return (
    <section class="panel control-plots" aria-label="Plots">
      <Plots />
      <div class="sr" role="status" aria-label="At the cursor">
        {spoken}
      </div>
    </section>
  );
}

function Plots() {
  const all = charts.value;
  if (all.length === 0) return <Nothing />;
  const large = all.find(({ key }) => key === options.value.enlarged);
  const shown = large === undefined ? all : [large];
  const style = shown.length === 1 ? "one" : shown.length === 2 ? "two" : shown.length > AT_A_GLANCE ? "many" : "";
  return (
    <div class={`panel-body plot-grid ${style}`}>
      {shown.map((chart) => (
        <PlotFigure key={chart.key} chart={chart} isEnlarged={chart === large} />
      ))}
    </div>
  );
}

function Nothing() {
  if (about.value === null) return <div class="panel-body" aria-busy={control.value === null} />;
  return (
    <Blank icon="chart" title="No plots yet">
      <span>They come with Init.</span>
    </Blank>
  );
}
