/** Ask the server for what the page of layers shows, and for more as it comes. */
import { batch, computed, effect } from "@preact/signals";
import type { Source } from "../source/source";
import { followEvents } from "./events";
import { figureOf } from "./figures";
import { gridOf, neverSeen, type WatchedGrid } from "./grid";
import { rowFiguresOf } from "./rowfigures";
import * as state from "./state";
import { bucketSpans } from "./steps";

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
export function followLayers(source: Source): () => void {
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
