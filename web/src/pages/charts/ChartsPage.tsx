/** Charts of the chosen runs: alarms, scalars in groups, then all else that the runs hold. */
import { computed, useComputed } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { groupBy } from "../../data/collections";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { alarmKind, eventsOf, followEvents, goToAlarm, isOfScalar, type Severity } from "../../data/run-events";
import * as runs from "../../data/runs";
import * as store from "../../data/store";
import { ChartFigure, Skeleton } from "../../plot/scalars/ChartFigure";
import { useChartModel } from "../../plot/scalars/Plot";
import { describePlace, describeReading, type Reading, readingsAt } from "../../plot/scalars/model";
import { options, setOptions } from "../../plot/scalars/options";
import { useCharts } from "../../plot/scalars/plot-keys";
import {
  type Chart,
  chartRuns,
  cursor,
  followLayouts,
  goToScalar,
  type Group,
  groups,
  isOpen,
  isWatcherGroup,
  type NotSupported,
  reveal,
  setGroupOpen,
  shownGroups,
  spoken,
} from "../../plot/scalars/state";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { Blank } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { RunsFrame } from "../../ui/RunsFrame";
import { isOfWatcher } from "../../ui/run-states";
import { useNear, useWidth } from "../../ui/useWidth";
import type { AlarmListing, RunListing, SeriesListing } from "../../wire";
import { ScalarOptions } from "./ScalarOptions";
import { Sections } from "./Sections";
import "../../ui/alarms.css";
import "../../plot/scalars/scalars.css";

export function ChartsPage() {
  useCharts();
  const source = store.source.value;
  useEffect(() => (source === null ? undefined : followEvents(source)), [source]);
  useEffect(followLayouts, []);
  const options = (
    <>
      <ScalarOptions />
      <AtCursor />
      <AlarmNotes />
    </>
  );
  return (
    <RunsFrame options={options}>
      <h1 class="sr">Training</h1>
      <AlarmStrip />
      <Scalars />
      <Sections />
      <Groups ofWatcher />
      <div class="sr" role="status" aria-label="At the cursor">
        {spoken}
      </div>
    </RunsFrame>
  );
}

const MAX_NOTES = 3;

/** The first alarms of the chosen runs in words, the worst before the others. */
function AlarmNotes() {
  const rows = alarmRows(0).filter(({ marks }) => marks.length > 0);
  if (rows.length === 0) return null;
  return (
    <section class="section" aria-label="Alarms in words" role="status">
      {rows.slice(0, MAX_NOTES).map((row) => (
        <Note key={row.run.id} row={row} />
      ))}
      {rows.length > MAX_NOTES && <p class="muted fs-1">and {rows.length - MAX_NOTES} more runs</p>}
    </section>
  );
}

function Note({ row: { run, marks } }: { row: AlarmRow }) {
  const { step, alarms } = marks.find((mark) => severityOf(mark.alarms[0]!) === "danger") ?? marks[0]!;
  const alarm = alarms[0]!;
  const isBad = severityOf(alarm) === "danger";
  return (
    <div class="alarm-note">
      <h3>Alarm at {formatCount(step)}</h3>
      <div class="row">
        <span class={isBad ? "badge died" : "badge warn"}>{alarm.watched === null ? "NaN" : titleOf(alarm)}</span>
        <span class="dim">
          <button class="link quiet" onClick={() => openAlarm(alarm)}>
            {alarm.name === "" ? "the model" : alarm.name}
          </button>{" "}
          {alarms.length > 1 && `and ${alarms.length - 1} more `}of <b>{run.name}</b>
          {alarm.watched === null ? " became NaN or infinite." : "."}
        </span>
      </div>
    </div>
  );
}

/** All groups of charts, or what stands there while there are none. */
function Scalars() {
  const shown = shownGroups.value;
  if (shown.length > 0) return <Groups ofWatcher={false} />;
  if (groups.value.length > 0) {
    return (
      <Blank icon="search" title="No chart has such a name">
        <span>The filter is “{options.value.filter}”.</span>
        <button class="btn" onClick={() => setOptions({ filter: "" })}>
          Show all charts
        </button>
      </Blank>
    );
  }
  const known = runs.chosen.value.filter(({ id }) => runs.index.value.has(id));
  if (known.length < runs.chosen.value.length) return <Waiting />;
  // Runs without scalars may have pictures and texts: those follow below.
  if (known.some(({ id }) => (runs.index.value.get(id)?.size ?? 0) > 0)) return null;
  return (
    <Blank icon="details" title="No scalars yet">
      <span>They show up here by themselves as soon as they are logged.</span>
      <pre class="snippet">run.log(step, loss=loss)</pre>
    </Blank>
  );
}

/** What a watcher says of itself is below all that the training itself logs. */
function Groups({ ofWatcher }: { ofWatcher: boolean }) {
  const its = shownGroups.value.filter((group) => isWatcherGroup(group) === ofWatcher);
  return its.map((group) => <ChartGroup key={group.key} group={group} />);
}

function Waiting() {
  return (
    <div class="scalars" aria-busy="true" aria-label="Loading charts">
      {[0, 1, 2, 3].map((at) => (
        <div key={at} class="scalar">
          <Skeleton />
        </div>
      ))}
    </div>
  );
}

const MOST_LISTED = 5;

/** Charts under one heading that can be closed. */
function ChartGroup({ group }: { group: Group }) {
  const isShown = isOpen(group.key);
  const numInPart = hasMany.value ? IN_PART : Infinity;
  const parts: (readonly Chart[])[] = [];
  for (let at = 0; at < group.charts.length; at += numInPart) parts.push(group.charts.slice(at, at + numInPart));
  return (
    <Part look="chart-group" name={group.title} charts={isShown ? group.charts : []} room={HEAD_HEIGHT}>
      <div class="group-head">
        <button class="group-fold" aria-expanded={isShown} onClick={() => setGroupOpen(group.key, !isShown)}>
          <Icon name={isShown ? "down" : "right"} />
          <h2>{group.title}</h2>
          <span class="muted fs-1">{formatCount(group.charts.length)}</span>
        </button>
      </div>
      {isShown && <NotSupportedList all={group.notSupported} />}
      {isShown &&
        parts.map((charts, at) => (
          <Part key={at} look="scalars" charts={charts}>
            {charts.map((chart) => (
              <ChartFigure key={chart.key} chart={chart} />
            ))}
          </Part>
        ))}
    </Part>
  );
}

/** Where a page has more charts, parts of it are empty while they are far from the screen. */
const MANY = 400;
/** Whole rows of up to six columns. */
const IN_PART = 60;
const HEAD_HEIGHT = 37;
const ROW_HEIGHT = 172;
const LEAST_WIDTH = 264;

const hasMany = computed(() => shownGroups.value.reduce((sum, { charts }) => sum + charts.length, 0) > MANY);

/** Of the charts, as the page is now. */
function numColumns(): number {
  const { clientWidth = 0 } = document.querySelector(".frame-view > .panel-body") ?? {};
  return Math.max(1, Math.floor(clientWidth / LEAST_WIDTH));
}

interface PartProps {
  look: string;
  name?: string;
  charts: readonly Chart[];
  /** What it needs besides its charts, in pixels. */
  room?: number;
  children: ComponentChildren;
}

function Part({ look, name, charts, room = 0, children }: PartProps) {
  const box = useRef<HTMLElement>(null);
  const height = useRef(0);
  const isNear = useNear(box);
  const isWanted = useComputed(() => charts.some(({ key }) => key === reveal.value?.chart || key === options.value.enlarged));
  const isThere = !hasMany.value || isNear || isWanted.value;
  useLayoutEffect(() => {
    if (isThere && hasMany.value) height.current = box.current!.clientHeight;
  });
  const style = isThere ? {} : { height: `${height.current || room + ROW_HEIGHT * Math.ceil(charts.length / numColumns())}px` };
  return (
    <section ref={box} class={look} aria-label={name} style={style}>
      {isThere && children}
    </section>
  );
}

/** What the run asks for and the page does not look for. */
function NotSupportedList({ all }: { all: readonly NotSupported[] }) {
  if (all.length === 0) return null;
  return (
    <ul class="not-supported muted fs-1" aria-label="Patterns that are not supported">
      {all.slice(0, MOST_LISTED).map(({ chart, pattern }) => (
        <li key={`${chart} ${pattern}`}>
          {chart}: the pattern <code>{pattern}</code> is not supported, so its lines are missing. Names,{" "}
          <code>.*</code> and alternatives such as <code>(train|test)</code> are.
        </li>
      ))}
      {all.length > MOST_LISTED && <li>and {formatCount(all.length - MOST_LISTED)} more</li>}
    </ul>
  );
}

/** The values of some charts at the cursor, or their last ones, run by run. */
function AtCursor() {
  const open = useComputed(() => shownGroups.value.filter(({ key }) => isOpen(key)));
  const pointed = useComputed(() => cursor.value?.chart ?? "");
  const charts = columnsFor(open.value, pointed.value);
  const models = [useChartModel(charts[0], false), useChartModel(charts[1], false), useChartModel(charts[2], false)];
  const place = cursor.value?.x ?? null;
  const columns = charts.map((chart, at) => {
    const model = models[at]!.value;
    // That of another chart may still be there.
    const readings = model?.chart.key === chart.key ? readingsAt(model, place) : [];
    return { chart, readings: new Map(readings.map((reading) => [reading.line.run.id, reading])) };
  });
  const rows = chartRuns.value.filter(({ id }) => columns.some(({ readings }) => readings.has(id)));
  if (rows.length === 0) return null;
  const isSmoothed = columns.some(({ readings }) => [...readings.values()].some(({ smoothed }) => smoothed !== null));
  return (
    <section class="section" aria-label="Values at the cursor">
      <div class="row at-cursor-head">
        <h3>{place === null ? "Last values" : "At cursor"}</h3>
        <span class="grow" />
        {place !== null && <b class="fs-2">{describePlace(place, options.value.axis)}</b>}
      </div>
      <table class="table at-cursor">
        <thead>
          <tr>
            <th>
              <span class="sr">run</span>
            </th>
            {charts.map((chart) => (
              <th key={chart.key} class="num" title={chart.fullTitle}>
                <Name text={chart.fullTitle} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <tr key={run.id} title={run.name}>
              <td>
                <i class="sw" style={{ background: runs.colourOf(run.id) }} />
                <span class="sr">{run.name}</span>
              </td>
              {columns.map(({ chart, readings }) => (
                <Cell key={chart.key} reading={readings.get(run.id)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {isSmoothed && <p class="muted fs-1">As logged; below it, smoothed.</p>}
    </section>
  );
}

/** It may be broken after a slash. */
function Name({ text }: { text: string }) {
  const parts = text.split(/(?<=\/)/);
  return (
    <span>
      {parts.map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}

function Cell({ reading }: { reading: Reading | undefined }) {
  if (reading === undefined) return <td />;
  const { value, smoothed } = reading;
  return (
    <td class={Number.isFinite(value) ? "num" : "num bad"} title={describeReading(reading)}>
      {formatValue(value, 3)}
      {smoothed !== null && <small class="muted">{formatValue(smoothed, 3)}</small>}
    </td>
  );
}

// --- Which charts stand in the table of values at the cursor.

const MAX_COLUMNS = 3;

/**
 * The first chart of the page, those of the same name in other groups, then others in their order: the same ones
 * wherever somebody has scrolled to, and none of what a watcher says of itself. A chart under the cursor that is not among them takes the last place.
 */
export function columnsFor(groups: readonly Group[], cursorChart: string): Chart[] {
  // A chart of several lines has no single value for a run.
  const usable = groups
    .flatMap(({ charts }) => charts)
    .filter((chart) => chart.members.length === 1 || chart.form === "margin");
  const likely = usable.filter(({ key }) => !isOfWatcher(key));
  const first = likely.find((chart) => !chart.isAsked) ?? likely[0];
  const rank = (chart: Chart): number =>
    chart === first ? 0 : chart.isAsked ? 3 : chart.title === first?.title ? 1 : 2;
  const chosen = [...likely].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_COLUMNS);
  const pointed = usable.find(({ key }) => key === cursorChart);
  if (pointed === undefined || chosen.includes(pointed)) return chosen;
  return [...chosen.slice(0, MAX_COLUMNS - 1), pointed];
}

const MARK_WIDTH = 12;
const PITCH = 12;
const TOP = 8;
/** Where more runs are chosen, only those with alarms have a line. */
const MAX_ROWS = 8;
const SIDES = 12;

function AlarmStrip() {
  return alarmRows(0).length === 0 ? null : <Strip />;
}

function Strip() {
  const [box, width] = useWidth<HTMLDivElement>(1000);
  const lastStep = Math.max(1, ...runs.chosen.value.map((run) => run.last_step ?? 0));
  const inner = Math.max(1, width - 2 * SIDES);
  const place = (step: number): number => SIDES + (inner * Math.min(step, lastStep)) / lastStep;
  const rows = alarmRows((MARK_WIDTH * lastStep) / inner);
  const ticks = linearTicks({ low: 0, high: lastStep });
  const labels = formatTicks(ticks);
  const at = cursor.value !== null && options.value.axis === "step" ? cursor.value.x : null;
  const height = TOP + PITCH * rows.length;
  return (
    <section class="alarm-strip" aria-label="Alarms">
      <div class="group-head first">
        <h2>Alarms</h2>
        <span class="grow" />
        <span class="legend">
          {countsOf(rows).map(({ title, severity, count }) => (
            <span key={title}>
              <i class={`alarm-sign ${severity}`} aria-hidden="true" />
              {title} {formatCount(count)}
            </span>
          ))}
        </span>
      </div>
      <div ref={box} class="alarm-rows" style={{ height: `${height + 20}px` }}>
        {rows.map(({ run, lastStep: end, marks }) => (
          <div key={run.id} class="alarm-row" role="group" aria-label={run.name}>
            <i
              class="alarm-line"
              style={{ left: `${SIDES}px`, width: `${place(end) - SIDES}px`, background: runs.colourOf(run.id) }}
            />
            {marks.map((mark) => {
              const text = describeMark(mark, run.name);
              const left = place(mark.step);
              const style = left > width / 2 ? { right: `${width - left}px` } : { left: `${left}px` };
              return (
                <Fragment key={`${severityOf(mark.alarms[0]!)} ${mark.step}`}>
                  <button
                    class={`alarm-sign ${severityOf(mark.alarms[0]!)}`}
                    aria-label={text}
                    style={{ left: `${left}px` }}
                    onClick={() => openAlarm(mark.alarms[0]!)}
                  />
                  <span class="alarm-tip" style={style} aria-hidden="true">
                    {text}
                  </span>
                </Fragment>
              );
            })}
          </div>
        ))}
        {at !== null && at >= 0 && at <= lastStep && (
          <i class="alarm-cursor" style={{ left: `${place(at)}px`, height: `${height}px` }} />
        )}
        {ticks.map((tick, index) => (
          <span key={tick} class="alarm-tick" style={{ left: `${place(tick)}px` }}>
            {labels[index]}
          </span>
        ))}
      </div>
    </section>
  );
}

/** To the chart of a scalar, or to the map of the layers. */
function openAlarm({ name, step, watched }: Alarm): void {
  if (watched === null || isOfScalar(watched)) goToScalar(name, step);
  else goToAlarm(watched);
}

/** None where no chosen run has an alarm. */
function alarmRows(apart: number): AlarmRow[] {
  const rows = runs.chosen.value.map((run) => ({
    run,
    lastStep: run.last_step ?? 0,
    marks: marksOf(alarmsOf(runs.index.value.get(run.id)?.values() ?? [], eventsOf(run.id).alarms), apart),
  }));
  const marked = rows.filter(({ marks }) => marks.length > 0);
  return marked.length === 0 || rows.length > MAX_ROWS ? marked : rows;
}

// --- Alarms of the chosen runs: scalars that became NaN or infinite, and what was seen in watched layers.

export interface Alarm {
  /** Of the scalar, or of what was watched. */
  readonly name: string;
  readonly step: number;
  /** How many values are NaN or infinite; nought for what was seen in a layer. */
  readonly numBad: number;
  /** What was seen in a layer; null for a scalar. */
  readonly watched: AlarmListing | null;
}

/** Alarms of one run, all as bad, so near each other that one mark stands for all of them. */
export interface AlarmMark {
  readonly step: number;
  readonly alarms: readonly Alarm[];
}

export interface AlarmRow {
  readonly run: RunListing;
  readonly lastStep: number;
  readonly marks: readonly AlarmMark[];
}

const MAX_NAMED = 3;

export function alarmsOf(series: Iterable<SeriesListing>, watched: readonly AlarmListing[] = []): Alarm[] {
  const found: Alarm[] = watched.map((alarm) => ({ name: alarm.row, step: alarm.step, numBad: 0, watched: alarm }));
  for (const { kind, name, first_bad_step: step, num_bad: numBad } of series) {
    if (kind === "scalar" && step !== null && numBad > 0) found.push({ name, step, numBad, watched: null });
  }
  return found.sort((a, b) => a.step - b.step || a.name.localeCompare(b.name, "en", { numeric: true }));
}

export function severityOf({ watched }: Alarm): Severity {
  return watched === null ? "danger" : alarmKind(watched.alarm).severity;
}

/** How the legend calls it. */
export function titleOf({ watched }: Alarm): string {
  return watched === null ? "NaN or infinite" : alarmKind(watched.alarm).title;
}

/** Alarms gathered to marks that are so many steps apart. The worse ones come last: they lie above the others. */
export function marksOf(alarms: readonly Alarm[], apart: number): AlarmMark[] {
  return (["warn", "danger"] as const).flatMap((severity) => {
    const marks: { step: number; alarms: Alarm[] }[] = [];
    for (const alarm of alarms.filter((one) => severityOf(one) === severity)) {
      const last = marks.at(-1);
      if (last !== undefined && alarm.step - last.step <= apart) last.alarms.push(alarm);
      else marks.push({ step: alarm.step, alarms: [alarm] });
    }
    return marks;
  });
}

/** `train/loss of first became NaN or infinite at step 7 040 (12 values).` */
export function describeMark({ step, alarms }: AlarmMark, runName: string): string {
  const scalars = alarms.filter(({ watched }) => watched === null);
  const seen = alarms.flatMap(({ watched }) => (watched === null ? [] : [watched]));
  return [
    ...(scalars.length === 0 ? [] : [describeScalars(scalars, step, runName)]),
    ...(seen.length === 0 ? [] : [describeWatched(seen, runName)]),
  ].join(" ");
}

function describeScalars(alarms: readonly Alarm[], step: number, runName: string): string {
  const names = alarms.slice(0, MAX_NAMED).map(({ name }) => name);
  const more = alarms.length > MAX_NAMED ? ` and ${alarms.length - MAX_NAMED} more` : "";
  const numBad = alarms.reduce((sum, alarm) => sum + alarm.numBad, 0);
  const count = formatNumberOf(numBad, "value");
  return `${names.join(", ")}${more} of ${runName} became NaN or infinite at step ${formatCount(step)} (${count}).`;
}

/** `first: features.0.weight.Grad has NaN at step 70. And 3 more.` */
function describeWatched(alarms: readonly AlarmListing[], runName: string): string {
  const message = alarms[0]!.message.replace(/\.?$/, ".");
  const more = alarms.length > 1 ? ` And ${formatCount(alarms.length - 1)} more.` : "";
  return `${runName}: ${message}${more}`;
}

/** How many there are of each title, the worst first. */
export function countsOf(rows: readonly AlarmRow[]): readonly { title: string; severity: Severity; count: number }[] {
  const byTitle = groupBy(rows.flatMap(({ marks }) => marks.flatMap(({ alarms }) => alarms)), titleOf);
  const counts = [...byTitle].map(([title, all]) => ({ title, severity: severityOf(all[0]!), count: all.length }));
  return counts.sort((a, b) => a.severity.localeCompare(b.severity) || b.count - a.count);
}
