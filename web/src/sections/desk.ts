/** Asks for what is wanted now: one question at a time, the newest wins, and not more often than it helps. */

/** What there is of it. */
export interface Held<Value> {
  /** The last value that came, whatever was asked since; null before the first. */
  readonly value: Value | null;
  /** What it was the answer to. */
  readonly key: string;
  /** Why the last question was not answered; empty where it was. */
  readonly problem: string;
}

export interface Wanted<Value> {
  /** Of the thing itself, such as a record of a run. */
  readonly key: string;
  /** Of its state: changes when there is news. */
  readonly version: string;
  ask(): Promise<Value>;
}

/** So long after an answer the same thing is not asked again, however much news there is. */
export const PAUSE_MS = 1000;

export class Desk<Value> {
  readonly #tell: (held: Held<Value>) => void;
  readonly #pauseMs: number;
  #wanted: Wanted<Value> | null = null;
  #asked = "";
  #held: Held<Value> = { value: null, key: "", problem: "" };
  #isBusy = false;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(tell: (held: Held<Value>) => void, pauseMs = PAUSE_MS) {
    this.#tell = tell;
    this.#pauseMs = pauseMs;
  }

  /** From now on this is wanted; null for nothing. */
  want(wanted: Wanted<Value> | null): void {
    const isOther = wanted?.key !== this.#wanted?.key;
    this.#wanted = wanted;
    // Another thing does not have to wait for the pause of the one before.
    if (isOther) this.#stopTimer();
    this.#next();
  }

  /** Ask once more after a failure. */
  retry(): void {
    this.#asked = "";
    this.#stopTimer();
    this.#next();
  }

  close(): void {
    this.#isClosed = true;
    this.#wanted = null;
    this.#stopTimer();
  }

  #next(): void {
    const wanted = this.#wanted;
    if (wanted === null || this.#isBusy || this.#timer !== null) return;
    const question = `${wanted.key}\n${wanted.version}`;
    if (question === this.#asked) return;
    this.#asked = question;
    this.#isBusy = true;
    void this.#ask(wanted);
  }

  async #ask(wanted: Wanted<Value>): Promise<void> {
    try {
      const value = await wanted.ask();
      this.#hold({ value, key: wanted.key, problem: "" });
    } catch (reason) {
      this.#hold({ ...this.#held, problem: reason instanceof Error ? reason.message : String(reason) });
    }
    this.#isBusy = false;
    if (this.#wanted?.key === wanted.key) {
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.#next();
      }, this.#pauseMs);
    }
    this.#next();
  }

  #hold(held: Held<Value>): void {
    this.#held = held;
    // Also to one who wants nothing just now: when it is wanted again, it is not asked for again.
    if (!this.#isClosed) this.#tell(held);
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
