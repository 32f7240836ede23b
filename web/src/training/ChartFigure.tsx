/** A chart with its title, its values and what can be done with it. Away from the screen it is only its title. */
import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { useWidth } from "../measuring/useWidth";
import { ChartMenu, type MenuItem } from "./ChartMenu";
import { ChartTable } from "./ChartTable";
import { ChartValues } from "./ChartValues";
import { downloadCsv, downloadSvg } from "./downloads";
import type { Chart } from "./grouping";
import { Instead } from "./Instead";
import { LimitFields } from "./LimitFields";
import type { Model } from "./model";
import { options, setOptions } from "./options";
import { readPalette } from "./palette";
import { Plot } from "./Plot";
import { leaveView } from "./plotkeys";
import { reveal } from "./state";
import { useChartModel } from "./useChartModel";
import { useNear } from "../measuring/useNear";
import { toggleEnlarged } from "./zooming";

export function ChartFigure({ chart }: { chart: Chart }) {
  const box = useRef<HTMLElement>(null);
  const isNear = useNear(box);
  const isEnlarged = useComputed(() => options.value.enlarged === chart.key).value;
  const isTable = useComputed(() => options.value.tables.has(chart.key)).value;
  const isRevealed = useComputed(() => reveal.value?.chart === chart.key).value;
  useEffect(() => {
    if (!isEnlarged && !isRevealed) return;
    box.current?.scrollIntoView({ block: "nearest" });
    if (isRevealed) reveal.value = null;
  }, [isEnlarged, isRevealed]);
  return (
    <figure ref={box} class={classes(isEnlarged, isTable)} aria-label={chart.fullTitle} onKeyDown={onEscape}>
      {isNear ? (
        <LiveChart chart={chart} isEnlarged={isEnlarged} isTable={isTable} />
      ) : (
        <figcaption>
          <b class="clip">{chart.title}</b>
        </figcaption>
      )}
    </figure>
  );
}

/** Also where a button of it has the focus, or its table. */
export function onEscape(event: KeyboardEvent): void {
  if (event.key !== "Escape" || event.defaultPrevented || !leaveView()) return;
  event.preventDefault();
  event.stopPropagation();
}

function classes(isEnlarged: boolean, isTable: boolean): string {
  if (isEnlarged) return "scalar large";
  return isTable ? "scalar as-table" : "scalar";
}

interface LiveProps {
  chart: Chart;
  isEnlarged: boolean;
  isTable: boolean;
}

function LiveChart({ chart, isEnlarged, isTable }: LiveProps) {
  const model = useChartModel(chart, isEnlarged);
  const [caption, width] = useWidth<HTMLElement>(280);
  const [hasLimits, setHasLimits] = useState(false);
  const isFixed = useComputed(() => options.value.limits.has(chart.key)).value;
  const withModel = (act: (now: Model) => void) => () => {
    if (model.peek() !== null) act(model.peek()!);
  };
  const items: MenuItem[] = [
    { title: isEnlarged ? "Make small again" : "Enlarge", press: () => toggleEnlarged(chart.key) },
    { title: isTable ? "Show as chart" : "Show as table", press: () => showAsTable(chart.key, !isTable) },
    { title: "Set limits…", press: () => setHasLimits(true) },
    { title: "Download CSV", press: withModel(downloadCsv) },
    {
      title: "Download SVG",
      press: withModel((now) => downloadSvg(now, readPalette(document.documentElement))),
    },
  ];
  return (
    <>
      <figcaption ref={caption}>
        <b class="clip" title={chart.fullTitle}>
          {chart.title}
        </b>
        {isFixed && (
          <button class="badge" title="The limits are fixed: change them" onClick={() => setHasLimits(!hasLimits)}>
            fixed
          </button>
        )}
        <span class="grow" />
        <ChartValues
          model={model}
          chartKey={chart.key}
          isNamed={isEnlarged}
          title={chart.title}
          width={width}
        />
        <ChartMenu name={chart.fullTitle} items={items} />
      </figcaption>
      {hasLimits && <LimitFields chartKey={chart.key} name={chart.fullTitle} close={() => setHasLimits(false)} />}
      {isTable ? (
        <ChartTable model={model} />
      ) : (
        <div class="plot-place">
          <Plot model={model} chartKey={chart.key} />
          <Instead model={model} />
        </div>
      )}
    </>
  );
}

export function showAsTable(key: string, isWanted: boolean): void {
  const tables = new Set(options.peek().tables);
  if (isWanted) tables.add(key);
  else tables.delete(key);
  setOptions({ tables });
}
