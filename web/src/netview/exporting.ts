/** The drawing as a file: a picture with its names, or a video of what is played. */
import { fileName, save } from "../files/saving";
import { cssColour } from "./colours";
import type { Drawing } from "./drawing";

export interface VideoTaking {
  /** Saves what was taken. */
  stop(): Promise<void>;
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

export async function pictureFile(drawing: Drawing): Promise<Blob> {
  // In the same turn: the card forgets what it drew once it is shown.
  drawing.drawNow();
  const sheet = document.createElement("canvas");
  together(drawing, sheet);
  const blob = await new Promise<Blob | null>((resolve) => sheet.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("The browser could not make a picture of this size.");
  return blob;
}

export async function savePicture(drawing: Drawing, fileStem: string): Promise<void> {
  save(fileName([fileStem], "png"), await pictureFile(drawing), "image/png");
}

const TYPES = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

/** Every frame that is drawn from now on. Throws a sentence where the browser cannot. */
export function startVideo(drawing: Drawing, fileStem: string): VideoTaking {
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
  const take = (): void => together(drawing, sheet);
  drawing.onPainted = take;
  recorder.start(1000);
  return {
    stop: async () => {
      drawing.drawNow();
      drawing.onPainted = null;
      await new Promise<void>((resolve) => {
        recorder.onstop = () => resolve();
        recorder.stop();
      });
      for (const track of stream.getTracks()) track.stop();
      save(fileName([fileStem], type.startsWith("video/mp4") ? "mp4" : "webm"), new Blob(parts), type.split(";")[0]!);
    },
  };
}
