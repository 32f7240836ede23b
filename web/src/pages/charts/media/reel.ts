/** From the bytes of a picture to something that can be drawn. */
import { useEffect, useState } from "preact/hooks";
import { type Attempt, messageOf } from "../../../data/message-of";
import { ByteCache, type FullRecord } from "../../../data/requests";
import { Refusal } from "../../../data/source";
import type { VideoHead } from "../../../wire";

export const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** A picture of more pixels would take more memory than a page should. */
const MAX_PIXELS = 64_000_000;

const STARTS: readonly (readonly [kind: string, start: RegExp])[] = [
  ["png", /^\x89PNG\r\n.\n/s],
  ["jpeg", /^\xff\xd8\xff/],
  ["gif", /^GIF8/],
  ["webp", /^RIFF.{4}WEBP/s],
];

/** Which of the kinds that browsers know it is, by its first bytes; empty for none. */
export function sniff(bytes: Uint8Array): string {
  const first = String.fromCharCode(...bytes.subarray(0, 12));
  return STARTS.find(([, start]) => start.test(first))?.[0] ?? "";
}

/** The size that a PNG says it has, before anything is made of it; null for other kinds. */
export function pngSize(bytes: Uint8Array): { width: number; height: number } | null {
  if (sniff(bytes) !== "png" || bytes.byteLength < 24) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

export async function decodePicture(bytes: Uint8Array<ArrayBuffer>): Promise<ImageBitmap> {
  const kind = sniff(bytes);
  if (kind === "") throw new Refusal("Its bytes are no PNG, JPEG, GIF or WebP.");
  const size = pngSize(bytes);
  if (size !== null && size.width * size.height > MAX_PIXELS) {
    throw new Refusal(`It has ${size.width}×${size.height} pixels: too many to show here.`);
  }
  try {
    return await createImageBitmap(new Blob([bytes], { type: TYPES[kind]! }));
  } catch {
    throw new Refusal(`Its bytes are a damaged ${kind.toUpperCase()}.`);
  }
}

/** The frames of a video, one after the other; throws where the sizes do not add up. */
export function frameSlices(
  bytes: Uint8Array<ArrayBuffer>,
  sizes: readonly number[],
): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const size of sizes) {
    if (!Number.isInteger(size) || size < 0 || at + size > bytes.byteLength) {
      throw new Refusal("Its frames are longer than its bytes: the record is damaged.");
    }
    frames.push(bytes.subarray(at, at + size));
    at += size;
  }
  return frames;
}

// --- Frames that can be played: those of a video, or of a GIF that moves.

export interface Reel {
  readonly width: number;
  readonly height: number;
  readonly numFrames: number;
  readonly framesPerSecond: number;
  /** Decoded when it is first shown. */
  readonly frame: (nth: number) => Promise<ImageBitmap>;
}

const MAX_DECODED_BYTES = 128_000_000;
const FIRST_RATE = 4; // frames in a second where nobody has said

export function reelOfVideo({ bytes }: FullRecord, head: VideoHead): Reel {
  return {
    width: head.width,
    height: head.height,
    numFrames: head.frame_bytes.length,
    framesPerSecond: head.frames_per_second > 0 ? head.frames_per_second : FIRST_RATE,
    frame: kept((nth) => decodePicture(frameSlices(bytes, head.frame_bytes)[nth] ?? bytes.subarray(0, 0))),
  };
}

/** Null for a GIF that stands still, and for a browser that cannot take one apart. */
export async function reelOfGif(bytes: Uint8Array<ArrayBuffer>): Promise<Reel | null> {
  if (typeof ImageDecoder === "undefined") return null;
  const decoder = new ImageDecoder({ data: bytes, type: "image/gif" });
  try {
    await decoder.tracks.ready;
    await decoder.completed;
    const numFrames = decoder.tracks.selectedTrack?.frameCount ?? 0;
    if (numFrames < 2) return null;
    const { image } = await decoder.decode({ frameIndex: 0 });
    const { displayWidth: width, displayHeight: height, duration } = image;
    image.close();
    const seconds = (duration ?? 0) / 1e6;
    const framesPerSecond = seconds > 0 ? 1 / seconds : FIRST_RATE;
    return { width, height, numFrames, framesPerSecond, frame: kept((nth) => gifFrame(decoder, nth)) };
  } catch {
    return null; // what is damaged is said where it is shown as a picture
  }
}

async function gifFrame(decoder: ImageDecoder, nth: number): Promise<ImageBitmap> {
  const { image } = await decoder.decode({ frameIndex: nth });
  try {
    return await createImageBitmap(image);
  } finally {
    image.close();
  }
}

/** The frames that were shown last stay decoded, up to so many bytes. */
function kept(decode: (nth: number) => Promise<ImageBitmap>): Reel["frame"] {
  const cache = new ByteCache<ImageBitmap>(MAX_DECODED_BYTES);
  return (nth) => cache.fetched(String(nth), () => decode(nth), ({ width, height }) => width * height * 4);
}

/** What is loaded; the one before stays until the next is ready. */
export function useLoaded<Value>(load: () => Promise<Value>, depends: readonly unknown[]): Attempt<Value> {
  const [loaded, setLoaded] = useState<Attempt<Value>>({ value: null, problem: "" });
  useEffect(() => {
    let isWanted = true;
    load().then(
      (value) => isWanted && setLoaded({ value, problem: "" }),
      (reason: unknown) => isWanted && setLoaded({ value: null, problem: messageOf(reason) }),
    );
    return () => {
      isWanted = false;
    };
  }, depends);
  return loaded;
}
