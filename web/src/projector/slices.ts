/** Long work in short pieces, so that the page stays responsive. */

const PIECE_MS = 10;

export interface Work {
  readonly cancel: () => void;
}

/** Run the steps; each says how far it is, from 0 to 1. Nothing is heard after a cancel. */
export function inSlices<T>(
  steps: Generator<number, T>,
  onProgress: (progress: number) => void,
  onDone: (result: T) => void,
  onFailed: (reason: unknown) => void = () => undefined,
): Work {
  let isCancelled = false;
  const go = (): void => {
    if (isCancelled) return;
    const until = performance.now() + PIECE_MS;
    try {
      for (;;) {
        const step = steps.next();
        if (step.done === true) {
          onDone(step.value);
          return;
        }
        if (performance.now() < until) continue;
        onProgress(step.value);
        setTimeout(go);
        return;
      }
    } catch (reason) {
      onFailed(reason);
    }
  };
  setTimeout(go);
  return {
    cancel: () => {
      isCancelled = true;
    },
  };
}

/** The same at once, for those who can wait. */
export function atOnce<T>(steps: Generator<number, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
