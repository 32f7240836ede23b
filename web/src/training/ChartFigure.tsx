/** A chart with its title, its values and what can be done with it. Away from the screen it is only its title. */
import { type ReadonlySignal, useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatValue } from "../format";
import { textWidth } from "../inspector/textWidth";
import { useNear } from "../measuring/useNear";
import { useWidth } from "../measuring/useWidth";
import { ChartMenu, type MenuItem } from "./ChartMenu";
import { ChartTable } from "./ChartTable";
import { Instead } from "./Instead";
import { LimitFields } from "./LimitFields";
import { Plot } from "./Plot";
import { downloadCsv, downloadSvg } from "./downloads";
import type { Chart } from "./grouping";
import { colourOfLine, type Line, type Model } from "./model";
import { options, setOptions } from "./options";
import { readPalette } from "./palette";
import { leaveView } from "./plotkeys";
import { describeReading, readingsAt } from "./readings";
import { placeOfCursor, reveal } from "./state";
import { useChartModel } from "./useChartModel";
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

// --- The values of a chart at the cursor, or the last ones, beside its title: a swatch and a number for each
//   line.

interface Props {
  model: ReadonlySignal<Model | null>;
  chartKey: string;
  title: string;
  /** Of the whole head, in pixels. */
  width: number;
  /** Is there room for all, and for the names of the lines? */
  isNamed: boolean;
}

/** The title is larger than the numbers, and bolder. */
const TITLE_FACTOR = 1.15;

function ChartValues({ model, chartKey, title, width, isNamed }: Props) {
  const now = model.value;
  if (now === null) return null;
  const place = placeOfCursor(chartKey);
  const readings = readingsAt(now, place).map((reading) => ({
    reading,
    value: formatValue(reading.value, 3),
    // The last value is what was reached; the line shows how it got there.
    smoothed: place === null || reading.smoothed === null ? "" : formatValue(reading.smoothed, 3),
  }));
  const all: Shown = { count: readings.length, withSmoothed: true };
  const { count, withSmoothed } = isNamed ? all : fitting(width, TITLE_FACTOR * textWidth(title), readings, textWidth);
  const hidden = readings.slice(count);
  return (
    <span class={isNamed ? "chart-values named" : "chart-values"}>
      {readings.slice(0, count).map(({ reading, value, smoothed }) => (
        <span key={reading.line.key} title={describeReading(reading)}>
          <Sample line={reading.line} isWide={isNamed} />
          {isNamed && <span class="clip">{reading.line.label}</span>}
          <span class={Number.isFinite(reading.value) ? "logged" : "logged bad"}>{value}</span>
          {withSmoothed && smoothed !== "" && <span class="muted">{smoothed}</span>}
        </span>
      ))}
      {hidden.length > 0 && (
        <span class="muted" title={hidden.map(({ reading }) => describeReading(reading)).join("\n")}>
          +{hidden.length}
        </span>
      )}
    </span>
  );
}

/** The colour of a line, and its dashes where there is room. */
function Sample({ line, isWide }: { line: Line; isWide: boolean }) {
  const colour = colourOfLine(line);
  if (!isWide) return <i class="sw" style={{ background: colour }} />;
  return (
    <svg class="line-sample" viewBox="0 0 20 8" aria-hidden="true">
      <path d="M0 4H20" style={{ stroke: colour }} stroke-dasharray={line.dash.join(" ")} />
    </svg>
  );
}

// --- Which of its values have room in the head of a chart.

/** In pixels: a swatch with the gaps around it, the gap between two numbers, the button and the gaps beside it. */
const SWATCH = 20;
const GAP = 6;
const BUTTON = 44;
const MORE = 28;
/** A title gives way to values down to this share of the head. */
const TITLE_SHARE = 0.4;

interface Texts {
  readonly value: string;
  /** Empty where there is none. */
  readonly smoothed: string;
}

interface Shown {
  /** The first so many values are shown. */
  readonly count: number;
  readonly withSmoothed: boolean;
}

/** All with their smoothed ones, or all without, or as many as there is room for and how many more there are. */
export function fitting(width: number, titleWidth: number, all: readonly Texts[], measure: (text: string) => number): Shown {
  const room = width - BUTTON - Math.min(titleWidth, TITLE_SHARE * width);
  const plain = all.map(({ value }) => SWATCH + measure(value));
  const extra = all.map(({ smoothed }) => (smoothed === "" ? 0 : GAP + measure(smoothed)));
  if (sum(plain) + sum(extra) <= room) return { count: all.length, withSmoothed: true };
  if (sum(plain) <= room) return { count: all.length, withSmoothed: false };
  let [count, used] = [0, MORE];
  while (count < all.length && used + plain[count]! <= room) used += plain[count++]!;
  return { count: Math.max(1, count), withSmoothed: false };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
