/** Runs and a source of them for the tests. */
import { signal } from "@preact/signals";
import type {
  Asked,
  Connection,
  Listener,
  OpenedPass,
  PassListing,
  Reply,
  Source,
} from "../src/data/source";
import { Refusal } from "../src/data/source";
import type { Answer, RunListing, SeriesListing } from "../src/wire";

export function runWith(parts: Partial<RunListing> & { id: string }): RunListing {
  return {
    name: parts.id,
    comment: "",
    tags: [],
    source: "torcheer",
    state: "finished",
    reason: "",
    started: 1000,
    updated: 2000,
    last_step: 10,
    total_steps: null,
    spark_name: "loss",
    spark: [],
    metrics: [],
    num_series: 1,
    num_bytes: 100,
    num_alarms: 0,
    has_network: false,
    num_dropped: 0,
    num_thinned: 0,
    host: "box",
    note: "",
    ...parts,
  };
}

export function seriesWith(parts: Partial<SeriesListing>): SeriesListing {
  return {
    kind: "scalar",
    name: "loss",
    count: 1,
    last_step: 0,
    last_time: 0,
    last_value: 0,
    num_bad: 0,
    first_bad_step: null,
    description: "",
    ...parts,
  };
}

export interface Followed {
  readonly question: Asked;
  readonly listener: Listener;
  isStopped: boolean;
}

/** A source whose other end is the test. */
export class FakeRuns implements Source {
  readonly hasRuns = signal<boolean | null>(true);
  readonly hasLessons = signal<boolean | null>(false);
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "connected" });
  readonly canMove = true;
  readonly followed: Followed[] = [];

  follow(question: Asked, listener: Listener): () => void {
    const one: Followed = { question, listener, isStopped: false };
    this.followed.push(one);
    return () => {
      one.isStopped = true;
    };
  }

  /** Those of one type that nobody stopped. */
  open(type: Asked["type"]): Followed[] {
    return this.followed.filter(({ question, isStopped }) => question.type === type && !isStopped);
  }

  say(answer: Answer): void {
    const type = answer.type as Asked["type"];
    for (const { listener } of this.open(type)) listener.hear(replyOf(answer));
  }

  ask(): Promise<Reply> {
    return Promise.reject(new Refusal("nobody asks"));
  }
  openPass(): Promise<OpenedPass> {
    return Promise.reject(new Refusal("nobody opens"));
  }
  tensor() {
    return Promise.resolve({ missing: "" });
  }
  figures() {
    return Promise.resolve([]);
  }
  refreshPasses(): void {
    // Nothing new.
  }
  retryNow(): void {
    // Connected.
  }
}

export function replyOf(answer: Answer): Reply {
  return { answer, buffer: new ArrayBuffer(0), offset: 0 };
}

export function runsAnswer(runs: RunListing[], parts: { is_all?: boolean; gone?: string[] } = {}): Answer {
  return { type: "runs", id: 1, folder: "runs", is_all: true, runs, gone: [], note: "", ...parts };
}
