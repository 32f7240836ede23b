/** The drawing as a file: a picture of it, or a video of the moments from the one that is shown to the last. */
import { effect, signal } from "@preact/signals";
import { at, goTo, isSettled, moments, run, step } from "../../data/network/moments";
import { valueFailure } from "../../data/network/network-state";
import { variable } from "../../data/network/store";
import { messageOf } from "../../data/message-of";
import { route } from "../../data/route";
import { fileName, save } from "../../data/save-file";
import { cssColour } from "./colours";
import type { Drawing } from "./drawing";
import { type Stage, stage } from "./stage";

const SHOWN_MS = 120;
/** A moment whose values do not come is left behind. */
const PATIENCE_MS = 4000;

export const filming = signal<{ readonly done: number; readonly of: number } | null>(null);

/** A picture that cannot be put into a file, as an address that holds all of it; empty where there is none. */
export const shownPicture = signal("");

let isStopWanted = false;

export function cancelFilm(): void {
  isStopWanted = true;
}

/** A frame without a place of its own, as between the cells of a notebook: browsers save nothing from there. */
export function canSave(): boolean {
  return window.parent === window || window.origin !== "null";
}

/** A video of what is played. It ends with the drawing: who leaves it has what was taken until then. */
export async function film(): Promise<void> {
  const control = stage.peek();
  if (control === null || filming.peek() !== null) return;
  isStopWanted = false;
  const last = moments.peek().length - 1;
  const first = at.peek() >= last ? 0 : Math.max(0, at.peek());
  const stem = [run.peek()?.name ?? "network", variable.peek()];
  filming.value = { done: 0, of: last - first + 1 };
  try {
    goTo(first);
    await settled();
    if (stage.peek() !== control) return;
    const stop = startVideo(control.drawing);
    await play(control, first, last);
    const blob = await stop();
    save(fileName(stem, blob.type === "video/mp4" ? "mp4" : "webm"), blob, blob.type);
  } catch (reason) {
    valueFailure.value = `No video was recorded. ${messageOf(reason)}`;
  } finally {
    filming.value = null;
  }
}

async function play(control: Stage, first: number, last: number): Promise<void> {
  // The address changes at once when somebody leaves, the drawing a little later.
  const { view } = route.peek();
  const isHere = (): boolean => stage.peek() === control && route.peek().view === view;
  for (let index = first; index <= last && !isStopWanted && isHere(); index++) {
    filming.value = { done: index - first + 1, of: last - first + 1 };
    goTo(index);
    await settled();
    if (stage.peek() === control) control.drawing.drawNow();
    await wait(SHOWN_MS);
  }
}

/** A picture of what is drawn, with its names: as a file or, where there can be none, on the page. */
export async function takePicture(): Promise<void> {
  const drawing = stage.peek()?.drawing;
  if (drawing === undefined) return;
  try {
    // In the same turn: the card forgets what it drew once it is shown.
    drawing.drawNow();
    const sheet = document.createElement("canvas");
    together(drawing, sheet);
    const blob = await new Promise<Blob | null>((resolve) => sheet.toBlob(resolve, "image/png"));
    if (blob === null) throw new Error("The browser could not make a picture of this size.");
    const name = [run.peek()?.name ?? "network", variable.peek(), step.peek() ?? 0];
    if (canSave()) save(fileName(name, "png"), blob, blob.type);
    // With all of its bytes: what the browser's own menu can save.
    else shownPicture.value = sheet.toDataURL("image/png");
  } catch (reason) {
    valueFailure.value = `No picture was saved. ${messageOf(reason)}`;
  }
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The values of the moment have come, or the patience is at its end. */
async function settled(): Promise<void> {
  let stop = (): void => undefined;
  const come = new Promise<void>((resolve) => {
    stop = effect(() => {
      if (isSettled.value) resolve();
    });
  });
  await Promise.race([come, wait(PATIENCE_MS)]);
  stop();
}

function together(drawing: Drawing, onto: HTMLCanvasElement): void {
  const [below] = drawing.canvases;
  if (onto.width !== below.width) onto.width = below.width;
  if (onto.height !== below.height) onto.height = below.height;
  const context = onto.getContext("2d");
  if (context === null) return;
  context.fillStyle = cssColour(drawing.canvasColour);
  context.fillRect(0, 0, onto.width, onto.height);
  for (const canvas of drawing.canvases) context.drawImage(canvas, 0, 0);
}

const TYPES = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

const MAX_TRIES = 100;
const BETWEEN_TRIES_MS = 20;

/** Wait for what is encoded so far, which may be nothing. */
async function nextPart(recorder: MediaRecorder): Promise<void> {
  const come = new Promise((resolve) => recorder.addEventListener("dataavailable", resolve, { once: true }));
  recorder.requestData();
  await come;
  await wait(BETWEEN_TRIES_MS);
}

/**
 * Every frame that is drawn from now on, until what it returns is called: that gives what was taken. Throws a sentence
 * where the browser cannot.
 */
function startVideo(drawing: Drawing): () => Promise<Blob> {
  const type = typeof MediaRecorder === "undefined" ? undefined : TYPES.find((one) => MediaRecorder.isTypeSupported(one));
  if (type === undefined) throw new Error("This browser cannot record a video; pictures can be saved one by one.");
  const sheet = document.createElement("canvas");
  drawing.drawNow();
  together(drawing, sheet);
  const stream = sheet.captureStream(30);
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 8_000_000 });
  const parts: Blob[] = [];
  recorder.ondataavailable = (event) => {
    if (event.data.size > 0) parts.push(event.data);
  };
  drawing.onPainted = () => together(drawing, sheet);
  recorder.start(1000);
  return async () => {
    drawing.onPainted = null;
    // An encoder that has not come to its first frame yet would leave an empty file.
    for (let tries = 0; parts.length === 0 && tries < MAX_TRIES; tries += 1) await nextPart(recorder);
    const stopped = new Promise((resolve) => recorder.addEventListener("stop", resolve));
    recorder.stop();
    await stopped;
    for (const track of stream.getTracks()) track.stop();
    return new Blob(parts, { type: type.split(";")[0]! });
  };
}
