/** A chart with its title, its values and what can be done with it. Away from the screen it is only its title. */
import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatValue } from "../../data/format";
import { Icon } from "../../ui/Icon";
import { Opener } from "../../ui/Picker";
import { actOn } from "../../ui/keys";
import { useNear, useWidth } from "../../ui/useWidth";
import { LimitFields as Limits } from "../ColourScale";
import { textWidth } from "../tensor/Numbers";
import { ChartTable } from "./ChartTable";
import { Plot, useChartModel } from "./Plot";
import { downloadCsv, downloadSvg } from "./downloads";
import { colourOfLine, describeReading, type Line, type Model, readingsAt } from "./model";
import { options, setOptions } from "./options";
import { leaveView, toggleEnlarged } from "./plot-keys";
import { feeds } from "./series-feed";
import { type Chart, placeOfCursor, reveal } from "./state";

export function ChartFigure({ chart }: { chart: Chart }) {
  const box = useRef<HTMLElement>(null);
  const isNear = useNear(box);
  const isEnlarged = useComputed(() => options.value.enlarged === chart.key).value;
  const isRevealed = useComputed(() => reveal.value?.chart === chart.key).value;
  useEffect(() => {
    if (!isEnlarged && !isRevealed) return;
    box.current?.scrollIntoView({ block: "nearest" });
    if (isRevealed) reveal.value = null;
  }, [isEnlarged, isRevealed]);
  return (
    <figure ref={box} class={isEnlarged ? "scalar large" : "scalar"} aria-label={chart.fullTitle} onKeyDown={onEscape}>
      {isNear ? (
        <LiveChart chart={chart} isEnlarged={isEnlarged} />
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

function LiveChart({ chart, isEnlarged }: { chart: Chart; isEnlarged: boolean }) {
  const model = useChartModel(chart, isEnlarged);
  const [caption, width] = useWidth<HTMLElement>(280);
  return (
    <ChartBody chart={chart} model={model} caption={caption}>
      <span class="grow" />
      <ChartValues model={model} chartKey={chart.key} isNamed={isEnlarged} title={chart.title} width={width} />
    </ChartBody>
  );
}

interface BodyProps {
  chart: Chart;
  model: ReadonlySignal<Model | null>;
  caption?: RefObject<HTMLElement | null>;
  /** Between the title and the menu. */
  children: ComponentChildren;
  /** Under the plot. */
  under?: ComponentChildren;
}

/** A chart with its head and its menu, as a plot or as a table. */
export function ChartBody({ chart, model, caption, children, under }: BodyProps) {
  const [hasLimits, setHasLimits] = useState(false);
  const isEnlarged = useComputed(() => options.value.enlarged === chart.key).value;
  const isTable = useComputed(() => options.value.tables.has(chart.key)).value;
  const isFixed = useComputed(() => options.value.limits.has(chart.key)).value;
  const withModel = (act: (now: Model) => void) => () => {
    if (model.peek() !== null) act(model.peek()!);
  };
  const items: MenuProps["items"] = [
    { title: isEnlarged ? "Make small again" : "Enlarge", press: () => toggleEnlarged(chart.key) },
    { title: isTable ? "Show as chart" : "Show as table", press: () => showAsTable(chart.key, !isTable) },
    { title: "Set limits…", press: () => setHasLimits(true) },
    { title: "Download CSV", press: withModel(downloadCsv) },
    { title: "Download SVG", press: withModel(downloadSvg) },
  ];
  return (
    <>
      <figcaption ref={caption ?? null}>
        <b class="clip" title={chart.fullTitle}>
          {chart.title}
        </b>
        {isFixed && (
          <button class="badge" title="The limits are fixed: change them" onClick={() => setHasLimits(!hasLimits)}>
            fixed
          </button>
        )}
        {children}
        <ChartMenu name={chart.fullTitle} items={items} />
      </figcaption>
      {hasLimits && <LimitFields chartKey={chart.key} name={chart.fullTitle} close={() => setHasLimits(false)} />}
      {isTable ? (
        <ChartTable model={model} />
      ) : (
        <>
          <div class="plot-place">
            <Plot model={model} chartKey={chart.key} />
            <Instead model={model} />
          </div>
          {under}
        </>
      )}
    </>
  );
}

function showAsTable(key: string, isWanted: boolean): void {
  const tables = new Set(options.peek().tables);
  if (isWanted) tables.add(key);
  else tables.delete(key);
  setOptions({ tables });
}

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

/** The values of a chart at the cursor, or the last ones, beside its title: a swatch and a number for each line. */
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
  const { count, withSmoothed } = isNamed
    ? { count: readings.length, withSmoothed: true }
    : fitting(width, TITLE_FACTOR * textWidth(title), readings, textWidth);
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

/** In pixels: a swatch with the gaps around it, the gap between two numbers, the button and the gaps beside it. */
const SWATCH = 20;
const GAP = 6;
const BUTTON = 44;
const MORE = 28;
/** A title gives way to values down to this share of the head. */
const TITLE_SHARE = 0.4;

interface Texts {
  readonly value: string;
  readonly smoothed: string;
}

/** How many of the first ones are shown, and whether with what they are smoothed to: all with their smoothed ones, or all without, or as many as there is room for and how many more there are. */
export function fitting(width: number, titleWidth: number, all: readonly Texts[], measure: (text: string) => number) {
  const room = width - BUTTON - Math.min(titleWidth, TITLE_SHARE * width);
  const plain = ({ value }: Texts): number => SWATCH + measure(value);
  const both = (one: Texts): number => plain(one) + (one.smoothed === "" ? 0 : GAP + measure(one.smoothed));
  const isAll = (widthOf: (one: Texts) => number): boolean => numWithin(all, room, widthOf) === all.length;
  if (isAll(both)) return { count: all.length, withSmoothed: true };
  if (isAll(plain)) return { count: all.length, withSmoothed: false };
  return { count: Math.max(1, numWithin(all, room - MORE, plain)), withSmoothed: false };
}

/** How many of the first ones have room. Those after them are not measured. */
function numWithin(all: readonly Texts[], room: number, widthOf: (one: Texts) => number): number {
  let used = 0;
  const first = all.findIndex((one) => (used += widthOf(one)) > room);
  return first < 0 ? all.length : first;
}

/** What stands over a chart while something of it is missing. */
export function Instead({ model }: { model: ReadonlySignal<Model | null> }) {
  const now = model.value;
  if (now === null || (now.x === null && now.numAwaited > 0 && now.refusal === "")) return <Skeleton />;
  if (now.refusal !== "") {
    return (
      <div class={now.x === null ? "plot-note" : "plot-note low"} role="alert">
        <span>{now.refusal}</span>
        <button class="btn sm" onClick={() => feeds.peek()?.whole.askAgain()}>
          Try again
        </button>
      </div>
    );
  }
  const note = now.note === "" && now.x === null ? "No values yet." : now.note;
  return note === "" ? null : <div class="plot-note">{note}</div>;
}

export function Skeleton() {
  return (
    <div class="plot-skeleton" aria-hidden="true">
      {[0, 1, 2].map((row) => (
        <i key={row} class="skeleton" />
      ))}
    </div>
  );
}

interface MenuProps {
  name: string;
  items: readonly { readonly title: string; readonly press: () => void }[];
}

/** What can be done with a chart, behind one small button. */
function ChartMenu({ name, items }: MenuProps) {
  return (
    <Opener look="chart-menu" style="btn quiet sm square" popup="menu" label={`Actions of ${name}`} title="Actions" button={<Icon name="dots" />}>
      {(close) => <Actions name={name} items={items} close={close} />}
    </Opener>
  );
}

function Actions({ name, items, close }: MenuProps & { close: () => void }) {
  const list = useRef<HTMLUListElement>(null);
  const focus = (at: number): void => [...list.current!.querySelectorAll("button")].at(at % items.length)?.focus();
  useEffect(() => focus(0), []);
  return (
    <ul ref={list} class="chart-actions" role="menu" aria-label={`Actions of ${name}`} onKeyDown={(event) => event.key === "Tab" && close()}>
      {items.map(({ title, press }, at) => (
        <li key={title} role="none">
          <button
            role="menuitem"
            tabIndex={-1}
            onKeyDown={(event) =>
              actOn(event, {
                ArrowDown: () => focus(at + 1),
                ArrowUp: () => focus(at - 1),
                Home: () => focus(0),
                End: () => focus(-1),
              })
            }
            onClick={() => {
              close();
              press();
            }}
          >
            {title}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The ends of a vertical axis, as somebody wants them. */
export function LimitFields({ chartKey, name, close }: { chartKey: string; name: string; close: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const { low, high } = options.value.limits.get(chartKey) ?? { low: null, high: null };
  useEffect(() => box.current?.querySelector("input")?.focus(), []);
  return (
    <div
      ref={box}
      class="chart-limits"
      role="group"
      aria-label={`Limits of ${name}`}
      onKeyDown={(event) => actOn(event, { Escape: close })}
    >
      <Limits
        names={["Lowest value", "Highest value"]}
        ends={[low, high]}
        isAuto={low === null && high === null}
        mayBeOpen
        complaint={(from, to) => (from !== null && to !== null && from >= to ? "The lower limit must be below the upper one." : "")}
        onSet={(ends) => setLimits(chartKey, ends ?? [null, null])}
      >
        <button class="btn quiet sm" onClick={close}>
          Close
        </button>
      </Limits>
    </div>
  );
}

function setLimits(chartKey: string, [low, high]: readonly [number | null, number | null]): void {
  const limits = new Map(options.peek().limits);
  if (low === null && high === null) limits.delete(chartKey);
  else limits.set(chartKey, { low, high });
  setOptions({ limits });
}
