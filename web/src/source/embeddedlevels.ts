/** Numbers as levels, as a server makes them: see app/runs/netlevels.py. */
import { LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY } from "../netview/store";

export interface Levels {
  readonly levels: Uint16Array<ArrayBuffer>;
  readonly low: number;
  readonly high: number;
}

/** The highest less the lowest must be a number, too. */
const LARGEST = Number.MAX_VALUE / 2;

/** From the lowest to the highest number. What is not there has a code of its own and does not count. */
export function levelsOf(values: Float32Array | Float64Array, isThere: Uint8Array | null = null): Levels {
  const has = (at: number): boolean => isThere === null || isThere[at] === 1;
  let [low, high] = [Infinity, -Infinity];
  values.forEach((value, at) => {
    if (!(Math.abs(value) <= LARGEST) || !has(at)) return;
    if (value < low) low = value;
    if (value > high) high = value;
  });
  if (low > high) [low, high] = [0, 0];
  const span = high - low;
  const levels = new Uint16Array(values.length);
  values.forEach((value, at) => {
    if (!has(at)) levels[at] = NOT_THERE;
    else if (Math.abs(value) <= LARGEST) levels[at] = span === 0 ? 0 : Math.round(((value - low) / span) * LEVELS);
    else levels[at] = Number.isNaN(value) ? NOT_A_NUMBER : value > 0 ? PLUS_INFINITY : MINUS_INFINITY;
  });
  return { levels, low, high };
}
