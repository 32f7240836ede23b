/** How large a picture is drawn: as it fits, or by a factor. */

/** `fit`, or screen pixels for each pixel of the picture. */
export type Zoom = "fit" | number;

const FACTORS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32];
const TALLEST = 200; // of a picture that fits
const MAX_FIT = 16; // a picture of a few pixels need not fill its place

export function fitFactor(width: number, height: number, room: number): number {
  if (width <= 0 || height <= 0) return 1;
  return Math.min(room / width, TALLEST / height, MAX_FIT);
}

/** The next factor up (1) or down (−1) from the one that is shown. */
export function zoomed(shown: number, by: 1 | -1): number {
  if (by === 1) return FACTORS.find((factor) => factor > shown * 1.001) ?? FACTORS.at(-1)!;
  return FACTORS.findLast((factor) => factor < shown * 0.999) ?? FACTORS[0]!;
}
