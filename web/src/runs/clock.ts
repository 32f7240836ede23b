/** The time, for what says how long ago something was. It only goes while somebody looks. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const STEP_MS = 10_000;

/** Seconds since 1970, as of a few seconds ago. */
export const now = signal(Date.now() / 1000);

let lookers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

const tick = (): void => {
  now.value = Date.now() / 1000;
};

/** Keep the clock going for as long as a part of the page is there. */
export function useClock(): void {
  useEffect(() => {
    if (lookers === 0) {
      tick();
      timer = setInterval(tick, STEP_MS);
    }
    lookers += 1;
    return () => {
      lookers -= 1;
      if (lookers === 0) clearInterval(timer);
    };
  }, []);
}
