/** Frames that can be played: those of a video, or of a GIF that moves. */
import type { VideoHead } from "../../wire";
import type { FullRecord } from "../asking";
import { ByteCache } from "../bytecache";
import { decodePicture, frameSlices } from "./decoding";

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
  return async (nth) => {
    const known = cache.get(String(nth));
    if (known !== undefined) return known;
    const bitmap = await decode(nth);
    cache.set(String(nth), bitmap, bitmap.width * bitmap.height * 4);
    return bitmap;
  };
}
