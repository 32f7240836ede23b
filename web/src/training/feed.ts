/** Series that somebody looks at, followed with few questions: those that are wanted together are asked together. */
import type { Reply, Source } from "../source/source";
import type { SeriesWanted } from "../wire";
import { blocksOf, SeriesData, type Asked } from "./seriesdata";

export interface Query extends Asked {
  readonly num_buckets: number;
}

type Hear = () => void;

/** One use of a series: the same function may stand in several. */
interface User {
  readonly hear: Hear;
}

interface Entry {
  readonly wanted: SeriesWanted;
  readonly data: SeriesData;
  readonly users: Set<User>;
  batch: Batch | null;
  isAnswered: boolean;
  refusal: string;
}

interface Batch {
  readonly entries: readonly Entry[];
  stop: () => void;
}

/** What is known of a series. */
export interface Known {
  readonly data: SeriesData;
  /** Has the server said what there is? */
  readonly isAnswered: boolean;
  /** Why there is nothing; empty where it was not refused. */
  readonly refusal: string;
}

/** As many as a question may name. */
const MAX_IN_QUESTION = 512;
/** So many series are kept for when they come into view again. */
const MAX_KEPT = 800;
/** Charts come into view one after the other; those of one glance are asked together. */
const GATHER_MS = 30;

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

  known(runId: string, name: string): Known | undefined {
    return this.#entries.get(keyOf(runId, name));
  }

  /** Follow series until the function that is returned is called; `hear` is told whenever one has changed. */
  use(wanted: readonly SeriesWanted[], hear: Hear): () => void {
    const used = wanted.map((one) => this.#entry(one));
    const user: User = { hear };
    for (const entry of used) entry.users.add(user);
    this.#askLater();
    return () => {
      for (const entry of used) {
        entry.users.delete(user);
        this.#stopIdle(entry.batch);
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
    for (const entry of this.#entries.values()) this.#end(entry.batch);
    this.#askLater();
  }

  /** Ask once more for what was refused. */
  askAgain(): void {
    for (const entry of this.#entries.values()) {
      if (entry.refusal === "") continue;
      entry.refusal = "";
      entry.batch = null;
      for (const { hear } of entry.users) hear();
    }
    this.#askLater();
  }

  #entry(wanted: SeriesWanted): Entry {
    const key = keyOf(wanted.run_id, wanted.name);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const data = new SeriesData();
    const made: Entry = { wanted, data, users: new Set(), batch: null, isAnswered: false, refusal: "" };
    this.#entries.set(key, made);
    return made;
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
    const told = new Set<Hear>();
    for (const [block, values] of blocksOf(reply)) {
      const entry = this.#entries.get(keyOf(block.run_id, block.name));
      if (entry?.batch !== batch) continue;
      entry.data.take(block, values, query);
      for (const { hear } of entry.users) told.add(hear);
    }
    for (const entry of batch.entries) {
      if (!entry.isAnswered || entry.refusal !== "") for (const { hear } of entry.users) told.add(hear);
      entry.isAnswered = true;
      entry.refusal = "";
    }
    for (const hear of told) hear();
  }

  /** One series that cannot be read must not take the others with it: each half is asked again alone. */
  #refuse(batch: Batch, reason: string): void {
    const { entries } = batch;
    for (const entry of entries) entry.batch = null;
    if (entries.length > 1) {
      const middle = Math.ceil(entries.length / 2);
      this.#begin(entries.slice(0, middle));
      this.#begin(entries.slice(middle));
      return;
    }
    for (const entry of entries) {
      entry.batch = batch; // it was asked, and is not asked again by itself
      entry.refusal = reason;
      for (const { hear } of entry.users) hear();
    }
  }

  #stopIdle(batch: Batch | null): void {
    if (batch?.entries.every(({ users }) => users.size === 0)) this.#end(batch);
  }

  #end(batch: Batch | null): void {
    if (batch === null) return;
    batch.stop();
    batch.stop = () => undefined;
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

function keyOf(runId: string, name: string): string {
  return `${runId}\n${name}`;
}
