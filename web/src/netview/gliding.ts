/** Move the camera to a place that was asked for: in 280 ms, or at once for those who want less motion. */
import { onTheWay, type Camera } from "./camera";
import type { Drawing } from "./drawing";

const DURATION_MS = 280;

export class Gliding {
  readonly #drawing: () => Drawing | null;
  #frame = 0;

  constructor(drawing: () => Drawing | null) {
    this.#drawing = drawing;
  }

  /** A hand on the camera ends it. */
  stop(): void {
    cancelAnimationFrame(this.#frame);
  }

  to(next: Camera, onThere: () => void = () => undefined): void {
    this.stop();
    const drawing = this.#drawing();
    if (drawing === null) return;
    const from = drawing.camera;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches || from.isFlat !== next.isFlat;
    const start = performance.now();
    const step = (now: number): void => {
      const share = isStill ? 1 : Math.min(1, Math.max(0, now - start) / DURATION_MS);
      drawing.look(share === 1 ? next : onTheWay(from, next, eased(share)));
      if (share < 1) this.#frame = requestAnimationFrame(step);
      else onThere();
    };
    step(start);
  }
}

function eased(share: number): number {
  return 1 - (1 - share) ** 3;
}
