/** From the bytes of a picture to something that can be drawn. */
import { Refusal } from "../../source/source";

const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** A picture of more pixels would take more memory than a page should. */
const MAX_PIXELS = 64_000_000;

const PNG_START = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Which of the kinds that browsers know it is, by its first bytes; empty for none. */
export function sniff(bytes: Uint8Array): string {
  const starts = (wanted: readonly number[], at = 0): boolean =>
    wanted.every((byte, nth) => bytes[at + nth] === byte);
  if (starts(PNG_START)) return "png";
  if (starts([0xff, 0xd8, 0xff])) return "jpeg";
  if (starts([0x47, 0x49, 0x46, 0x38])) return "gif";
  if (starts([0x52, 0x49, 0x46, 0x46]) && starts([0x57, 0x45, 0x42, 0x50], 8)) return "webp";
  return "";
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

export function mediaType(bytes: Uint8Array): string {
  return TYPES[sniff(bytes)] ?? "application/octet-stream";
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
