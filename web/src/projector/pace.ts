/** How many points can be drawn while the camera moves, learned from how long frames take. */

const SLOW_MS = 45;
const QUICK_MS = 24;
/** Frames further apart than this were not one movement. */
const PAUSE_MS = 700;
const FEWEST = 8000;

export class Pace {
  #share = 1;
  #last = -Infinity;

  /** Called for each frame of a movement, with the time. */
  affordable(count: number, now: number): number {
    const took = now - this.#last;
    this.#last = now;
    if (took < PAUSE_MS) {
      if (took > SLOW_MS) this.#share *= Math.max(0.5, SLOW_MS / took);
      else if (took < QUICK_MS) this.#share = Math.min(1, this.#share * 1.15);
    }
    this.#share = Math.max(this.#share, Math.min(1, FEWEST / Math.max(1, count)));
    return Math.min(count, Math.max(FEWEST, Math.round(count * this.#share)));
  }
}
