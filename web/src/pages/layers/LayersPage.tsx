/** The watched layers of one run: a map of rows over steps, alarms and gaps on the same axis, and one row in full. */
import { batch, computed, effect } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../data/format";
import { follow, type ReplyOf } from "../../data/requests";
import { param } from "../../data/route";
import { followEvents } from "../../data/run-events";
import * as runs from "../../data/runs";
import type { Source } from "../../data/source";
import * as page from "../../data/store";
import { Blank, Skeletons } from "../../ui/Blank";
import { RunsFrame } from "../../ui/RunsFrame";
import { EventLines, EventList } from "./Events";
import { HeatMap } from "./HeatMap";
import { LayersToolbar } from "./LayersToolbar";
import { RowPanel } from "./RowPanel";
import { UNSEEN } from "./rows";
import * as state from "./state";
import { bucketAt, bucketSpans } from "./steps";
import { figureOf, gridOf, neverSeen, readingOf, rowFiguresOf } from "./watched";
import "./layers.css";

export function LayersPage() {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    const stops = [followEvents(source), followGrid(source), followRow(source)];
    return () => stops.forEach((stop) => stop());
  }, [source]);
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
    return <Skeletons widths={[120, "block low", "block"]} style="section late" label="Loading the watched layers" />;
  // As somebody would type it, from beside the folder.
  const folder = runs.folder.value.split(/[/\\]/).filter(Boolean).at(-1) ?? "runs";
  const name = runs.chosen.value[0]?.name ?? "first";
  const isOther = param("run") !== "" && !runs.chosen.value.some(({ id }) => id === param("run"));
  return (
    <Blank icon="frame" title={isOther ? "The run of this address is not chosen" : "Nothing is watched in these runs"}>
      <span>One line watches the layers of a model while it trains; they show up here by themselves:</span>
      <pre>{`torcheer.watch(model, optimizer=optimizer, run="${folder}/${name}")`}</pre>
    </Blank>
  );
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

const asked = computed(() => {
  const { low, high } = state.zoom.value ?? { low: null, high: null };
  return { run_id: state.runId.value, rank: state.rank.value, low, high };
});
/** Until the width of the map is known, nobody knows how many cells it has room for. */
const numBuckets = computed(() => (state.plotWidth.value === 0 ? 0 : bucketsFor(state.plotWidth.value)));

function followGrid(source: Source): () => void {
  return effect(() => {
    const [column, num_buckets] = [state.column.value, numBuckets.value];
    const isWhole = asked.value.low === null;
    if (asked.value.run_id === "" || num_buckets === 0) return undefined;
    const hear = (reply: ReplyOf<"watched">): void => {
      const grid = gridOf(reply, column);
      if (grid === null) return;
      batch(() => {
        state.failure.value = "";
        const isAll = isWhole && figureOf(column).isRare !== true;
        state.takeUnseen(neverSeen(grid, isAll, state.unseen.peek() ?? new Set()));
        state.takeGrid(grid);
        const spans = bucketSpans(grid);
        if (isWhole) state.takeWhole({ low: spans[0]?.low ?? 0, high: spans.at(-1)?.high ?? 1 });
      });
    };
    const refuse = (reason: string): unknown => (state.failure.value = reason);
    return follow(source, { type: "watched", ...asked.value, column, num_buckets }, hear, refuse);
  });
}

function followRow(source: Source): () => void {
  return effect(() => {
    const row = state.rowName.value;
    if (asked.value.run_id === "" || row === "") return undefined;
    // Where it is refused, the map says why.
    return follow(source, { type: "watched_row", ...asked.value, row, num_buckets: ROW_BUCKETS }, (reply) => {
      const found = rowFiguresOf(reply);
      if (found !== null) state.takeFigures(found);
    });
  });
}

/** One line above the map: what is under the pointer or, where it is elsewhere, what the map shows. */
function ReadingLine() {
  const grid = state.grid.value;
  const at = state.pointed.value;
  const line = state.lines.value.byName.get(at?.row ?? "");
  const reading =
    grid === null || at === null || line === undefined ? null : readingOf(grid, line.index, bucketAt(state.spans.value, at.step));
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
  const { rows, num_steps: numSteps, every, got } = grid;
  const [shown, left, unaffordable] = [state.lines.value.rows.length, state.numLeftOut.value, state.numUnaffordable.value];
  const often = [frequencyText(every, "wanted"), got === every ? "" : frequencyText(got, "got")].filter(Boolean).join(", ");
  const { size } = state.unseenRows.value;
  return [
    shown === rows.length ? formatNumberOf(shown, "row") : `${formatCount(shown)} of ${formatNumberOf(rows.length, "row")}`,
    `${formatNumberOf(numSteps, "step")} watched${often === "" ? "" : ` (${often})`}`,
    left > 0 && `${formatCount(left)} without this figure`,
    unaffordable > 0 && `${formatNumberOf(unaffordable, "record")} left out to keep the budget`,
    state.failure.value,
    size > 0 && `${formatCount(size)} never seen`,
  ]
    .filter(Boolean)
    .join(" \u00b7 ");
}

// --- How often somebody wanted to watch, and how often it was watched, in words: looking costs time.

const UNITS: Readonly<Record<string, string>> = {
  ...{ s: "second", sec: "second", second: "second" },
  ...{ min: "minute", minute: "minute", h: "hour", hour: "hour" },
};

/** `20/s` → `20 a second wanted`, `10 steps` → `every 10 steps wanted`; empty where nothing was said. */
export function frequencyText(every: string, word: "wanted" | "got"): string {
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
