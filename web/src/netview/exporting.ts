/** The drawing as a file: a picture with its names, or a video of what is played. */
import { cssColour } from "./colours";
import type { Drawing } from "./drawing";

export interface VideoTaking {
  /** Take what is drawn now, with all that a slow card leaves out while something moves. */
  frame(): void;
  /** What was taken. */
  stop(): Promise<Blob>;
}

/** Both canvases as one. */
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

export async function pictureOf(drawing: Drawing): Promise<Blob> {
  // In the same turn: the card forgets what it drew once it is shown.
  drawing.drawNow();
  const sheet = document.createElement("canvas");
  together(drawing, sheet);
  const blob = await new Promise<Blob | null>((resolve) => sheet.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("The browser could not make a picture of this size.");
  return blob;
}

const TYPES = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

const MAX_TRIES = 100;
const BETWEEN_TRIES_MS = 20;

/** Wait for what is encoded so far, which may be nothing. */
async function nextPart(recorder: MediaRecorder): Promise<void> {
  await new Promise<void>((resolve) => {
    recorder.addEventListener("dataavailable", () => setTimeout(resolve, BETWEEN_TRIES_MS), { once: true });
    recorder.requestData();
  });
}

/** Every frame that is drawn from now on. Throws a sentence where the browser cannot. */
export function startVideo(drawing: Drawing): VideoTaking {
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
  return {
    frame: () => drawing.drawNow(),
    stop: async () => {
      drawing.onPainted = null;
      // An encoder that has not come to its first frame yet would leave an empty file.
      for (let tries = 0; parts.length === 0 && tries < MAX_TRIES; tries += 1) await nextPart(recorder);
      await new Promise<void>((resolve) => {
        recorder.onstop = () => resolve();
        recorder.stop();
      });
      for (const track of stream.getTracks()) track.stop();
      return new Blob(parts, { type: type.split(";")[0]! });
    },
  };
}
