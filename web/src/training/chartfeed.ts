/** The data of one chart: what it follows changes with the runs, the zoom and its size. */
import type { SeriesWanted } from "../wire";
import type { Feeds } from "./feeds";
import type { Sources } from "./model";

/** What the feeds know of a series. */
export type Fed = Omit<Sources, "last">;

/** Which feed has the finer grain, if any is needed. */
export type Finer = "part" | "large" | null;

export class ChartFeed {
  readonly #feeds: Feeds;
  readonly #hear: () => void;
  #wanted: readonly SeriesWanted[] = [];
  #names = new Set<string>();
  #finer: Finer = null;
  #followed = "";
  #stopWhole = (): void => undefined;
  #stopFiner = (): void => undefined;

  constructor(feeds: Feeds, hear: () => void) {
    this.#feeds = feeds;
    this.#hear = hear;
  }

  want(wanted: readonly SeriesWanted[], finer: Finer): void {
    const stopBefore = this.#stopWhole;
    this.#wanted = wanted;
    this.#names = new Set(wanted.map(({ run_id, name }) => `${run_id}\n${name}`));
    this.#finer = finer;
    this.#stopWhole = this.#feeds.whole.use(wanted, this.#take);
    // The new before the old: what both want goes on without a break.
    stopBefore();
    this.#followFiner();
  }

  /** Null for what the chart does not want. */
  lookup = (runId: string, name: string): Fed | null => {
    if (!this.#names.has(`${runId}\n${name}`)) return null;
    const whole = this.#feeds.whole.known(runId, name);
    const finer = this.#finer === null ? undefined : this.#feeds[this.#finer].known(runId, name);
    return {
      whole: whole?.data ?? null,
      finer: finer?.data ?? null,
      isAnswered: whole?.isAnswered ?? false,
      refusal: whole?.refusal ?? "",
    };
  };

  stop(): void {
    this.#stopWhole();
    this.#stopFiner();
  }

  readonly #take = (): void => {
    this.#followFiner();
    this.#hear();
  };

  /** Only what came in buckets can be had in finer grain. */
  #followFiner(): void {
    const { whole } = this.#feeds;
    const coarse = this.#wanted.filter(({ run_id, name }) => whole.known(run_id, name)?.data.hasBuckets);
    const followed = this.#finer === null ? "" : JSON.stringify([this.#finer, coarse]);
    if (followed === this.#followed) return;
    this.#followed = followed;
    const stopBefore = this.#stopFiner;
    this.#stopFiner =
      this.#finer === null || coarse.length === 0
        ? (): void => undefined
        : this.#feeds[this.#finer].use(coarse, this.#hear);
    stopBefore();
  }
}
