/** The watched layers of one run: a map of rows over steps, alarms and gaps on the same axis, and one row in full. */
import { batch, computed, effect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../data/format";
import { param } from "../../data/route";
import { addressOfAlarm, alarmKind, describeGap, followEvents } from "../../data/run-events";
import * as runs from "../../data/runs";
import type { Source } from "../../data/source";
import * as page from "../../data/store";
import { Blank } from "../../ui/Blank";
import { RunsFrame } from "../../ui/RunsFrame";
import { Segments } from "../../ui/controls";
import type { AlarmListing, GapListing } from "../../wire";
import { EventLines } from "./EventLines";
import { HeatMap } from "./HeatMap";
import { LayersToolbar } from "./LayersToolbar";
import { RowPanel } from "./RowPanel";
import { gridOf, neverSeen, type WatchedGrid } from "./grid";
import { alarmValue, figureOf, readingOf, rowFiguresOf, UNSEEN } from "./rows";
import * as state from "./state";
import { bucketAt, bucketSpans } from "./steps";
import "../../ui/alarms.css";
import "./layers.css";

export function LayersPage() {
  const source = page.source.value;
  useEffect(() => (source === null ? undefined : followLayers(source)), [source]);
  // As it goes, not after the next paint: by then the next map may be there, and pointed at.
  useLayoutEffect(() => () => (state.pointed.value = null), []);
  return <RunsFrame>{state.run.value === null ? <NoneYet /> : <Layers />}</RunsFrame>;
}

function Layers() {
  const { alarms, gaps } = state.events.value;
  const hasEvents = alarms.length + gaps.length > 0;
  const hasRow = state.rowName.value !== "";
  return (
    <div class="layers">
      <h1 class="sr">Layers</h1>
      <LayersToolbar />
      {hasEvents && <EventLines />}
      <ReadingLine />
      <HeatMap />
      {(hasRow || hasEvents) && (
        <div class={hasRow && hasEvents ? "layers-below both" : "layers-below"}>
          {hasRow && <RowPanel key={`${state.runId.value} ${state.rank.value} ${state.rowName.value}`} />}
          {hasEvents && <EventList />}
        </div>
      )}
      <div class="sr" role="status" aria-label="At the cursor">
        {state.spoken}
      </div>
    </div>
  );
}

function NoneYet() {
  if (!runs.isIndexed.value)
    return (
      <div class="section late" aria-busy="true" aria-label="Loading the watched layers">
        <i class="skeleton" style={{ width: "120px" }} />
        <i class="skeleton block low" />
        <i class="skeleton block" />
      </div>
    );
  const name = runs.chosen.value[0]?.name ?? "first";
  const isOther = param("run") !== "" && !runs.chosen.value.some(({ id }) => id === param("run"));
  return (
    <Blank icon="frame" title={isOther ? "The run of this address is not chosen" : "Nothing is watched in these runs"}>
      <span>One line watches the layers of a model while it trains; they show up here by themselves:</span>
      <pre>{`torcheer.watch(model, optimizer=optimizer, run="${folderOf()}${name}")`}</pre>
    </Blank>
  );
}

/** As somebody would type it, from beside the folder. */
function folderOf(): string {
  const last = runs.folder.value.split(/[/\\]/).filter(Boolean).at(-1);
  return last === undefined ? "runs/" : `${last}/`;
}

// --- Ask the server for what the page of layers shows, and for more as it comes.

/** A cell is at least so wide. */
const CELL = 3;
/** So that not every change of the width is a new question. */
const ROUNDED = 32;
const MOST_BUCKETS = 640;
const ROW_BUCKETS = 240;

export function bucketsFor(width: number): number {
  return Math.min(MOST_BUCKETS, Math.max(ROUNDED, Math.floor(width / CELL / ROUNDED) * ROUNDED));
}

const part = computed(() => {
  const zoom = state.zoom.value;
  return { low: zoom?.low ?? null, high: zoom?.high ?? null };
});
/** Until the width of the map is known, nobody knows how many cells it has room for. */
const numBuckets = computed(() => (state.plotWidth.value === 0 ? 0 : bucketsFor(state.plotWidth.value)));

/** Call what it returns to stop. */
function followLayers(source: Source): () => void {
  const stops = [followEvents(source), followGrid(source), followRow(source)];
  return () => {
    for (const stop of stops) stop();
  };
}

function followGrid(source: Source): () => void {
  return effect(() => {
    const asked = { runId: state.runId.value, rank: state.rank.value, column: state.column.value };
    const { low, high } = part.value;
    if (asked.runId === "" || numBuckets.value === 0) return undefined;
    const { runId: run_id, rank, column } = asked;
    return source.follow(
      { type: "watched", run_id, rank, column, low, high, num_buckets: numBuckets.value },
      {
        hear: (reply) => {
          const grid = gridOf(reply, asked);
          if (grid === null) return;
          batch(() => {
            state.failure.value = "";
            const isWhole = low === null && high === null && figureOf(column).isRare !== true;
            state.unseen.value = { runId: run_id, rank, names: neverSeen(grid, isWhole, unseenOf(run_id, rank)) };
            state.lastGrid.value = grid;
            if (low === null) state.knownWhole.value = wholeOf(grid);
          });
        },
        refuse: (reason) => (state.failure.value = reason),
      },
    );
  });
}

function unseenOf(runId: string, rank: number): ReadonlySet<string> {
  const known = state.unseen.peek();
  return known?.runId === runId && known.rank === rank ? known.names : new Set<string>();
}

function wholeOf(grid: WatchedGrid): state.KnownWhole {
  const spans = bucketSpans(grid);
  return { runId: grid.runId, low: spans[0]?.low ?? 0, high: spans.at(-1)?.high ?? 1 };
}

function followRow(source: Source): () => void {
  return effect(() => {
    const asked = { runId: state.runId.value, rank: state.rank.value, name: state.rowName.value };
    const { low, high } = part.value;
    if (asked.runId === "" || asked.name === "") return undefined;
    const { runId: run_id, rank, name: row } = asked;
    return source.follow(
      { type: "watched_row", run_id, rank, row, low, high, num_buckets: ROW_BUCKETS },
      {
        hear: (reply) => {
          const found = rowFiguresOf(reply, asked);
          if (found !== null) state.lastFigures.value = found;
        },
        refuse: () => undefined, // the map says why
      },
    );
  });
}

// --- One line above the map: what is under the pointer or, where it is elsewhere, what the map shows.

function ReadingLine() {
  const grid = state.grid.value;
  const at = state.pointed.value;
  const line = at?.row === null || at === null ? undefined : state.lines.value.byName.get(at.row);
  const bucket = at === null ? -1 : bucketAt(state.spans.value, at.step);
  const reading = grid === null || line === undefined ? null : readingOf(grid, line.index, bucket);
  return (
    <div class="heat-reading">
      {reading === null ? (
        <>
          <span class="muted">{about()}</span>
          {state.unseenRows.value.size > 0 && <UnseenButton />}
        </>
      ) : (
        <span data-testid="heat-reading" class="clip">
          <b class="mono">{reading.name}</b> <span class="muted">{reading.steps}</span>{" "}
          <span class={reading.isBad ? "bad" : ""}>{reading.value}</span>
        </span>
      )}
      <span class="grow" />
      {state.zoom.value !== null && (
        <button class="btn sm" onClick={() => state.setZoom(null)}>
          Show all steps
        </button>
      )}
    </div>
  );
}

/** Where there are many rows, those that were never seen stand far below. */
function UnseenButton() {
  const isShut = state.closed.value.has(UNSEEN);
  const press = (): void => {
    state.setClosed(UNSEEN, !isShut);
    const view = document.querySelector(".heat");
    if (isShut && view !== null) requestAnimationFrame(() => (view.scrollTop = view.scrollHeight));
  };
  return (
    <button class="link quiet fs-1" aria-label={`${isShut ? "Show" : "Fold"} the rows that were never seen`} onClick={press}>
      {isShut ? "show them" : "fold them"}
    </button>
  );
}

function about(): string {
  const grid = state.grid.value;
  if (grid === null) return "";
  const { rows, numSteps, every, got } = grid;
  const shown = state.lines.value.rows.length;
  const wanted = [wantedText(every), got === every ? "" : gotText(got)].filter((text) => text !== "").join(", ");
  const parts = [
    shown === rows.length ? formatNumberOf(shown, "row") : `${formatCount(shown)} of ${formatNumberOf(rows.length, "row")}`,
    `${formatNumberOf(numSteps, "step")} watched${wanted === "" ? "" : ` (${wanted})`}`,
  ];
  if (state.numLeftOut.value > 0)
    parts.push(`${formatCount(state.numLeftOut.value)} without this figure`);
  if (state.numUnaffordable.value > 0)
    parts.push(`${formatNumberOf(state.numUnaffordable.value, "record")} left out to keep the budget`);
  if (state.failure.value !== "") parts.push(state.failure.value);
  const { size } = state.unseenRows.value;
  if (size > 0) parts.push(`${formatCount(size)} never seen`);
  return parts.join(" \u00b7 ");
}

// --- How often somebody wanted to watch, and how often it was watched, in words: looking costs time.

const UNITS: Readonly<Record<string, string>> = {
  ...{ s: "second", sec: "second", second: "second" },
  ...{ min: "minute", minute: "minute", h: "hour", hour: "hour" },
};

/** `20/s` → `20 a second wanted`, `10 steps` → `every 10 steps wanted`; empty where nothing was said. */
export function wantedText(every: string): string {
  return textOf(every, "wanted");
}

/** `1.2/s` → `1.2 a second got`. */
export function gotText(got: string): string {
  return textOf(got, "got");
}

function textOf(every: string, word: string): string {
  const text = every.trim();
  if (text === "") return "";
  const [, rate, unit = ""] = /^([\d.eE+-]+)\s*\/\s*([a-z]+)$/.exec(text) ?? [];
  const span = UNITS[unit];
  if (rate !== undefined && span !== undefined) return `${rate} ${span === "hour" ? "an" : "a"} ${span} ${word}`;
  const count = /^(?:every\s+)?([\d.]{1,15})?\s*(?:steps?)?$/.exec(text);
  if (count === null) return `\u201c${text}\u201d ${word}`;
  const steps = Number(count[1] ?? 1);
  return `every ${steps === 1 ? "step" : formatNumberOf(steps, "step")} ${word}`;
}

// --- All alarms and gaps in words, the latest first; a press goes to the row and the step.

/** More at a time than anybody reads. */
const MOST = 200;

type Which = "all" | "row";

function EventList() {
  const [which, setWhich] = useState<Which>("all");
  const { alarms, gaps } = state.events.value;
  const row = state.rowName.value;
  const its = alarms.filter((alarm) => alarm.row === row);
  const isRow = which === "row" && row !== "";
  const items = itemsOf(isRow ? its : alarms, isRow ? gaps.filter(({ counts }) => row in counts) : gaps);
  return (
    <section class="panel event-list" aria-label="Alarms">
      <div class="panel-head">
        <h2>Alarms</h2>
        <span class="muted fs-1">{formatCount(alarms.length)}</span>
        <span class="grow" />
        {row !== "" && (
          <Segments<Which>
            label="Alarms of"
            words={[
              ["all", "All"],
              ["row", `This row ${formatCount(its.length)}`],
            ]}
            chosen={which}
            choose={setWhich}
          />
        )}
      </div>
      <ul class="panel-body event-items">
        {items.slice(0, MOST).map(([, draw]) => draw())}
        {items.length === 0 && <li class="muted fs-2 event-none">This row has no alarms.</li>}
        {items.length > MOST && <li class="muted fs-1 event-none">and {formatCount(items.length - MOST)} earlier ones</li>}
      </ul>
    </section>
  );
}

/** With their steps, the latest first. */
function itemsOf(alarms: readonly AlarmListing[], gaps: readonly GapListing[]): readonly (readonly [step: number, draw: () => ComponentChildren])[] {
  const all = [
    ...alarms.map((alarm) => [alarm.step, () => <AlarmItem key={`alarm ${alarm.record}`} alarm={alarm} />] as const),
    ...gaps.map((gap) => [gap.first_step, () => <GapItem key={`gap ${gap.record}`} gap={gap} />] as const),
  ];
  return all.sort(([one], [other]) => other - one);
}

function AlarmItem({ alarm }: { alarm: AlarmListing }) {
  const { title, severity } = alarmKind(alarm.alarm);
  const isHere = alarm.row === state.rowName.value && alarm.step === state.step.value;
  return (
    <li>
      <a class="event-item" href={addressOfAlarm(alarm)} aria-current={isHere ? "true" : undefined}>
        <span class="event-step">{formatCount(alarm.step)}</span>
        <i class={`alarm-sign ${severity}`} />
        <span class="event-what">
          <b>{title}</b>{" "}
          <span class="mono event-row" title={alarm.row}>
            <bdi class="marked">{alarm.row}</bdi>
          </span>
        </span>
        <span class="event-value">{alarmValue(alarm)}</span>
        <span class="event-message">{alarm.message}</span>
      </a>
    </li>
  );
}

function GapItem({ gap }: { gap: GapListing }) {
  return (
    <li>
      <button class="event-item" onClick={() => state.zoomAround(gap.first_step, gap.last_step)}>
        <span class="event-step">{formatCount(gap.first_step)}</span>
        <i class="heat-sign none" />
        <span class="event-what">
          <b>gap</b> {describeGap(gap)}
        </span>
        <span class="event-value">{formatCount(gap.num_missing)}</span>
        <span class="event-message">{gap.message}</span>
      </button>
    </li>
  );
}
