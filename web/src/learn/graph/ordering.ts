/** From left to right in each row: inputs as they are read, and with few lines that cross. */

/** A value, or a place where a long line goes through a row. */
export interface Spot {
  readonly index: number;
  /** The value that stands here; null where a line goes by. */
  readonly node: number | null;
  readonly rank: number;
  readonly width: number;
  readonly height: number;
  readonly isSpine: boolean;
  /** An input: it may stand lower than its row where there is no room. */
  readonly isLeaf: boolean;
  /** Spots of the row above and below that it is tied to. */
  readonly above: number[];
  readonly below: number[];
  /** The middle. */
  x: number;
  y: number;
}

const SWEEPS = 6;

/** `roots`: where to begin, the end of all first. */
export function orderRows(spots: readonly Spot[], roots: readonly number[]): number[][] {
  let rows = firstRows(spots, roots);
  let [best, fewest] = [rows, numCrossings(spots, rows)];
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep += 1) {
    rows = swept(spots, rows, sweep % 2 === 0);
    const crossings = numCrossings(spots, rows);
    if (crossings < fewest) [best, fewest] = [rows, crossings];
  }
  return best;
}

/** As met from the end upwards, the inputs of each op from left to right. */
function firstRows(spots: readonly Spot[], roots: readonly number[]): number[][] {
  const rows: number[][] = Array.from({ length: 1 + Math.max(-1, ...spots.map(({ rank }) => rank)) }, () => []);
  const seen = new Set<number>();
  const waiting = [...spots.map(({ index }) => index).toReversed(), ...roots.toReversed()];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const spot = spots[at]!;
    rows[spot.rank]!.push(at);
    waiting.push(...spot.above.toReversed());
  }
  return rows;
}

function swept(spots: readonly Spot[], rows: readonly (readonly number[])[], isDown: boolean): number[][] {
  const place = placesIn(rows);
  const next = rows.map((row) => [...row]);
  for (const row of isDown ? next : next.toReversed()) {
    const wanted = new Map(row.map((at) => [at, meanPlace(spots[at]!, place, isDown)]));
    row.sort((one, other) => wanted.get(one)! - wanted.get(other)! || place.get(one)! - place.get(other)!);
    for (const [index, at] of row.entries()) place.set(at, index);
  }
  return next;
}

function meanPlace(spot: Spot, place: ReadonlyMap<number, number>, isDown: boolean): number {
  const ties = isDown ? spot.above : spot.below;
  if (ties.length === 0) return place.get(spot.index)!;
  return ties.reduce((sum, at) => sum + place.get(at)!, 0) / ties.length;
}

function placesIn(rows: readonly (readonly number[])[]): Map<number, number> {
  return new Map(rows.flatMap((row) => row.map((at, index) => [at, index] as const)));
}

export function numCrossings(spots: readonly Spot[], rows: readonly (readonly number[])[]): number {
  const place = placesIn(rows);
  let crossings = 0;
  for (const row of rows) {
    const ends = row.flatMap((at) => spots[at]!.below.map((to) => [place.get(at)!, place.get(to)!] as const));
    for (const [index, [from, to]] of ends.entries()) {
      for (const [other, end] of ends.slice(0, index)) {
        if ((from - other) * (to - end) < 0) crossings += 1;
      }
    }
  }
  return crossings;
}
