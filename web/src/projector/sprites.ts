/** Decode the sheet of pictures, once it is sure that it is a picture of a size that can be drawn. */
import type { SpriteSheet } from "./embedding";
import type { SpriteImage } from "./painter";

const LARGEST = 16_384;
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Throws a sentence where it is none. */
export async function decodeSprites(sheet: SpriteSheet, numPoints: number): Promise<SpriteImage> {
  const { width, height } = pngSize(sheet.bytes);
  const numRows = Math.ceil(numPoints / sheet.perRow);
  // What a file declares decides how much memory it takes, so it is looked at first.
  if (Math.max(width, height) > LARGEST) throw new Error(`The sheet of pictures is too large: ${width}×${height}.`);
  if (width < sheet.perRow * sheet.width || height < numRows * sheet.height)
    throw new Error(`The sheet of pictures (${width}×${height}) is too small for ${numPoints} pictures.`);
  const image = await createImageBitmap(new Blob([sheet.bytes], { type: "image/png" }));
  return { image, width: sheet.width, height: sheet.height, perRow: sheet.perRow };
}

/** The size that a PNG file declares. */
export function pngSize(bytes: Uint8Array): { width: number; height: number } {
  if (bytes.length < 24 || PNG.some((byte, at) => bytes[at] !== byte))
    throw new Error("The sheet of pictures is no PNG file.");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}
