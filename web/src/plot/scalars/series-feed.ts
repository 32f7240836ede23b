/** Series that somebody looks at, followed with few questions: those that are wanted together are asked together. */
import { computed, effect, signal } from "@preact/signals";
import { obtain } from "../../data/collections";
import * as runs from "../../data/runs";
import type { Reply, Source } from "../../data/source";
import * as store from "../../data/store";
import type { SeriesBlock, SeriesQuestion, SeriesWanted } from "../../wire";
import type { Span } from "../ticks";
import { options, type Options } from "./options";

// --- The data of all charts: each series in whole, and finer for those that somebody looks at closely.

export interface Feeds {
  /** Every chart: all of its lines from their beginning. */
  readonly whole: Feed;
  /**
   * In finer grain: of charts that are zoomed only the part that is seen, on a logarithmic axis the first part of it;
   * else all of the chart that is enlarged.
   */
  readonly fine: Feed;
  /** Small charts of other pages: over steps, however the charts are drawn. */
  readonly small: Feed;
}

const SMALL_BUCKETS = 200;
const FINE_BUCKETS = 1024;
const LARGE_BUCKETS = 2048;
/** As long as all, divided by this. */
const FIRST_PART = 64;
const BUCKETS_APART = 128;

/** At least one for each pixel of the widest chart, and seldom more than before. */
const wholeBuckets = signal(2 * BUCKETS_APART);

/** A chart that is not enlarged has so many pixels of the screen along its axis. */
export function noteChartPixels(pixels: number): void {
  const needed = Math.min(LARGE_BUCKETS, Math.ceil(pixels / BUCKETS_APART) * BUCKETS_APART);
  if (needed > wholeBuckets.peek()) wholeBuckets.value = needed;
}

export const feeds = computed<Feeds | null>(() => {
  const source = store.source.value;
  if (source === null) return null;
  const everything = { axis: "step", low: null, high: null } as const;
  return {
    whole: new Feed(source, { ...everything, num_buckets: wholeBuckets.peek() }),
    fine: new Feed(source, { ...everything, num_buckets: LARGE_BUCKETS }),
    small: new Feed(source, { ...everything, num_buckets: SMALL_BUCKETS }),
  };
});

const axis = computed(() => options.value.axis);

/** How long the longest of the chosen runs is, along the axis. */
const longest = computed(() => {
  const lengths = runs.chosen.value.map(({ last_step, started, updated }) =>
    axis.value === "step" ? (last_step ?? 0) : updated - started,
  );
  return Math.max(0, ...lengths);
});

/** The part that is looked at closely. */
const closely = computed<Span | null>(() => {
  const { zoom, isLogX } = options.value;
  return zoom ?? (isLogX ? firstPart(longest.value) : null);
});

/** On a logarithmic axis the beginning is as wide as all that follows. Grows in doubles, so that it seldom changes. */
export function firstPart(length: number): Span | null {
  return length > FIRST_PART ? { low: 0, high: 2 ** Math.floor(Math.log2(length / FIRST_PART)) } : null;
}

/** Is there a part of the axis that needs finer grain? */
export function hasPart({ zoom, isLogX }: Pick<Options, "zoom" | "isLogX">): boolean {
  return zoom !== null || isLogX;
}

/** Let the questions follow axis and zoom; call what it returns to stop. */
export function followOptions(): () => void {
  return effect(() => {
    const all = feeds.value;
    if (all === null) return;
    const { low = null, high = null } = closely.value ?? {};
    all.whole.ask({ axis: axis.value, low: null, high: null, num_buckets: wholeBuckets.value });
    all.fine.ask({ axis: axis.value, low, high, num_buckets: hasPart(options.value) ? FINE_BUCKETS : LARGE_BUCKETS });
  });
}

export type Query = Readonly<Pick<SeriesQuestion, "axis" | "low" | "high" | "num_buckets">>;

interface Entry {
  readonly wanted: SeriesWanted;
  readonly data: SeriesData;
  isAnswered: boolean;
  /** Why there is nothing; empty where it was not refused. */
  refusal: string;
  /** Told of each change. */
  readonly users: Set<() => void>;
  batch: Batch | null;
}

interface Batch {
  readonly entries: readonly Entry[];
  stop: () => void;
}

const MAX_IN_QUESTION = 512;
/** So many series are kept for when they come into view again. */
const MAX_KEPT = 800;
/** Charts come into view one after the other; those of one glance are asked together. */
const GATHER_MS = 10;

export class Feed {
  readonly #source: Pick<Source, "follow">;
  readonly #later: (run: () => void) => void;
  readonly #entries = new Map<string, Entry>();
  #query: Query;
  #isWaiting = false;

  constructor(
    source: Pick<Source, "follow">,
    query: Query,
    later: (run: () => void) => void = (run) => void setTimeout(run, GATHER_MS),
  ) {
    this.#source = source;
    this.#query = query;
    this.#later = later;
  }

  known(runId: string, name: string): Entry | undefined {
    return this.#entries.get(keyOf(runId, name));
  }

  /** Follow series until the function that is returned is called; `hear` is told whenever one has changed. */
  use(wanted: readonly SeriesWanted[], hear: () => void): () => void {
    const used = wanted.map((one) =>
      obtain(this.#entries, keyOf(one.run_id, one.name), (): Entry => {
        return { wanted: one, data: new SeriesData(), users: new Set(), batch: null, isAnswered: false, refusal: "" };
      }),
    );
    // The same function may be there twice, for two uses.
    const user = (): void => hear();
    for (const entry of used) entry.users.add(user);
    this.#askLater();
    return () => {
      for (const entry of used) {
        entry.users.delete(user);
        if (entry.batch?.entries.every(({ users }) => users.size === 0)) this.#end(entry.batch);
      }
      this.#forget();
    };
  }

  /** Ask for something else from now on. What is known stays until the answer comes. */
  ask(query: Query): void {
    const before = this.#query;
    const isSame = (Object.keys(query) as (keyof Query)[]).every((name) => query[name] === before[name]);
    if (isSame) return;
    this.#query = query;
    for (const { batch } of this.#entries.values()) if (batch !== null) this.#end(batch);
    this.#askLater();
  }

  askAgain(): void {
    for (const entry of this.#entries.values()) {
      if (entry.refusal === "") continue;
      entry.refusal = "";
      entry.batch = null;
      for (const tell of entry.users) tell();
    }
    this.#askLater();
  }

  #askLater(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#later(() => {
      this.#isWaiting = false;
      const unasked = [...this.#entries.values()].filter(({ users, batch }) => users.size > 0 && batch === null);
      for (let at = 0; at < unasked.length; at += MAX_IN_QUESTION) {
        this.#begin(unasked.slice(at, at + MAX_IN_QUESTION));
      }
    });
  }

  #begin(entries: readonly Entry[]): void {
    const query = this.#query;
    const batch: Batch = { entries, stop: () => undefined };
    for (const entry of entries) entry.batch = batch;
    batch.stop = this.#source.follow(
      { type: "series", wanted: entries.map(({ wanted }) => wanted), ...query },
      {
        hear: (reply) => this.#hear(batch, reply, query),
        refuse: (reason) => this.#refuse(batch, reason),
      },
    );
  }

  #hear(batch: Batch, reply: Reply, query: Query): void {
    const changed = new Set<Entry>();
    for (const [block, values] of blocksOf(reply)) {
      const entry = this.#entries.get(keyOf(block.run_id, block.name));
      if (entry?.batch !== batch) continue;
      entry.data.take(block, values, query);
      changed.add(entry);
    }
    for (const entry of batch.entries) {
      if (!entry.isAnswered || entry.refusal !== "") changed.add(entry);
      entry.isAnswered = true;
      entry.refusal = "";
    }
    const users = [...changed].flatMap((entry) => [...entry.users]);
    for (const tell of new Set(users)) tell();
  }

  /** One series that cannot be read must not take the others with it: each half is asked again alone. */
  #refuse(batch: Batch, reason: string): void {
    const { entries } = batch;
    if (entries.length > 1) {
      const middle = Math.ceil(entries.length / 2);
      this.#begin(entries.slice(0, middle));
      this.#begin(entries.slice(middle));
      return;
    }
    // It was asked, and is not asked again by itself.
    for (const entry of entries) {
      entry.refusal = reason;
      for (const tell of entry.users) tell();
    }
  }

  #end(batch: Batch): void {
    batch.stop();
    for (const entry of batch.entries) if (entry.batch === batch) entry.batch = null;
  }

  #forget(): void {
    if (this.#entries.size <= MAX_KEPT) return;
    for (const [key, { users, batch }] of this.#entries) {
      if (users.size === 0 && batch === null) this.#entries.delete(key);
      if (this.#entries.size <= MAX_KEPT) return;
    }
  }
}

export function keyOf(runId: string, name: string): string {
  return `${runId}\n${name}`;
}

/** A point counts as a bucket of one. Values are as they were logged: NaN and infinity, too. */
export const COLUMNS = ["step", "time", "mean", "low", "high", "count", "bad"] as const;
type Column = (typeof COLUMNS)[number];
export type Columns = Readonly<Record<Column, Float64Array>>;

/** The very last point of a series. */
export interface Last {
  readonly step: number;
  readonly time: number;
  /** NaN also where it is infinite. */
  readonly value: number;
}

/** What a question asked for; null for all that there is. */
type Asked = Omit<Query, "num_buckets">;

const NOTHING_ASKED: Asked = { axis: "step", low: null, high: null };
const FIRST_ROOM = 64;
const NUM_COLUMNS = { points: 3, buckets: COLUMNS.length } as const;

/** The columns of one series as the page knows it: buckets or points, and the points that came after them. */
export class SeriesData {
  asked: Asked = NOTHING_ASKED;
  size = 0;
  numPoints = 0;
  started = 0;
  /** The very last point, which a bucket hides; null before there is one. */
  last: Last | null = null;
  /** Is anything of it a bucket of several points? */
  hasBuckets = false;
  #columns = emptyColumns(FIRST_ROOM);

  column(name: Column): Float64Array {
    return this.#columns[name].subarray(0, this.size);
  }

  /** Take a block in, in the place of what is there or after it. */
  take(block: SeriesBlock, values: Float64Array, asked: Asked): void {
    if (block.is_fresh) {
      this.size = 0;
      this.hasBuckets = false;
      this.asked = asked;
    }
    this.size -= block.num_replaced;
    this.#makeRoom(this.size + block.num_items);
    if (block.form === "buckets") this.#takeBuckets(block.num_items, values);
    else this.#takePoints(block.num_items, values);
    this.size += block.num_items;
    this.numPoints = block.num_points;
    this.started = block.started;
    const { last_step: step, last_time: time, last_value: value } = block;
    this.last = block.num_points === 0 ? null : { step, time, value: value ?? NaN };
  }

  #takeBuckets(count: number, values: Float64Array): void {
    COLUMNS.forEach((name, at) => {
      this.#columns[name].set(values.subarray(at * count, (at + 1) * count), this.size);
    });
    this.hasBuckets = this.hasBuckets || count > 0;
  }

  #takePoints(count: number, values: Float64Array): void {
    const { step, time, mean, low, high, count: counts, bad } = this.#columns;
    const [start, end] = [this.size, this.size + count];
    const logged = values.subarray(2 * count, 3 * count);
    step.set(values.subarray(0, count), start);
    time.set(values.subarray(count, 2 * count), start);
    for (const column of [mean, low, high]) column.set(logged, start);
    counts.fill(1, start, end);
    for (let at = start; at < end; at++) bad[at] = Number.isFinite(mean[at]) ? 0 : 1;
  }

  #makeRoom(size: number): void {
    const before = this.#columns;
    const room = before.step.length;
    if (size <= room) return;
    this.#columns = emptyColumns(Math.max(size, 2 * room));
    for (const name of COLUMNS) this.#columns[name].set(before[name].subarray(0, this.size));
  }
}

export function emptyColumns(size: number): Columns {
  return Object.fromEntries(COLUMNS.map((name) => [name, new Float64Array(size)])) as unknown as Columns;
}

/** The blocks of an answer, each with the numbers that belong to it. Throws where there are too few. */
export function blocksOf(reply: Reply): [SeriesBlock, Float64Array][] {
  if (reply.answer.type !== "series") return [];
  let offset = reply.offset;
  return reply.answer.blocks.map((block) => {
    const length = NUM_COLUMNS[block.form] * block.num_items;
    const values = new Float64Array(reply.buffer, offset, length);
    offset += 8 * length;
    return [block, values];
  });
}
