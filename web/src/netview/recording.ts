/** The drawing as a file: a picture of it, or a video of the moments from the one that is shown to the last. */
import { effect, signal } from "@preact/signals";
import { at, goTo, isSettled, moments } from "./moments";
import { valueFailure } from "./netstate";
import { stage } from "./stagecontrol";

/** So long each moment is seen. */
const SHOWN_MS = 120;
/** A moment whose values do not come is left behind. */
const PATIENCE_MS = 4000;

/** How far it is; null where nothing is filmed. */
export const filming = signal<{ readonly done: number; readonly of: number } | null>(null);

let isStopWanted = false;

export function cancelFilm(): void {
  isStopWanted = true;
}

export async function film(fileStem: string): Promise<void> {
  const control = stage.peek();
  if (control === null || filming.peek() !== null) return;
  isStopWanted = false;
  const last = moments.peek().length - 1;
  const first = at.peek() >= last ? 0 : Math.max(0, at.peek());
  goTo(first);
  await settled();
  try {
    const video = control.startVideo(fileStem);
    await play(first, last).finally(() => {
      filming.value = null;
      return video.stop();
    });
  } catch (reason) {
    valueFailure.value = `No video was recorded. ${reason instanceof Error ? reason.message : String(reason)}`;
  }
}

async function play(first: number, last: number): Promise<void> {
  for (let index = first; index <= last && !isStopWanted; index++) {
    filming.value = { done: index - first, of: last - first + 1 };
    goTo(index);
    await settled();
    await wait(SHOWN_MS);
  }
}

/** A picture of what is drawn, with its names. */
export async function picture(fileStem: string): Promise<void> {
  try {
    await stage.peek()?.savePicture(fileStem);
  } catch (reason) {
    valueFailure.value = `No picture was saved. ${reason instanceof Error ? reason.message : String(reason)}`;
  }
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The values of the moment have come, or the patience is at its end. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    let stop = (): void => undefined;
    const done = (): void => {
      clearTimeout(timer);
      resolve();
      queueMicrotask(() => stop());
    };
    const timer = setTimeout(done, PATIENCE_MS);
    stop = effect(() => {
      if (isSettled.value) done();
    });
  });
}
