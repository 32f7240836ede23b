/** The points nearest to a point in the space they were given in: exact, by measuring all of them. */

export type Metric = "cosine" | "euclidean";

export interface Neighbour {
  readonly point: number;
  readonly distance: number;
}

/** Nearest first; where two are as near, the one that comes first in the list. */
export function nearestTo(
  matrix: Float32Array,
  numDims: number,
  hasPlace: Uint8Array,
  point: number,
  count: number,
  metric: Metric,
): Neighbour[] {
  if (hasPlace[point] !== 1) return [];
  const from = matrix.subarray(point * numDims, (point + 1) * numDims);
  const measure = metric === "cosine" ? cosineTo(from) : squareTo(from);
  const points: number[] = [];
  const distances: number[] = [];
  for (let other = 0; other < hasPlace.length; other++) {
    if (other === point || hasPlace[other] !== 1) continue;
    const distance = measure(matrix, other * numDims);
    if (points.length >= count && distance >= distances[distances.length - 1]!) continue;
    const at = placeOf(distances, distance);
    points.splice(at, 0, other);
    distances.splice(at, 0, distance);
    if (points.length > count) {
      points.pop();
      distances.pop();
    }
  }
  const last = metric === "cosine" ? (distance: number) => distance : Math.sqrt;
  return points.map((other, at) => ({ point: other, distance: last(distances[at]!) }));
}

type Measure = (matrix: Float32Array, start: number) => number;

function squareTo(from: Float32Array): Measure {
  return (matrix, start) => {
    let sum = 0;
    for (let dim = 0; dim < from.length; dim++) {
      const part = matrix[start + dim]! - from[dim]!;
      sum += part * part;
    }
    return sum;
  };
}

/** One minus the cosine. A point at the origin has no direction: it is as far as one at a right angle. */
function cosineTo(from: Float32Array): Measure {
  const length = Math.sqrt(from.reduce((sum, part) => sum + part * part, 0));
  return (matrix, start) => {
    let [along, square] = [0, 0];
    for (let dim = 0; dim < from.length; dim++) {
      const part = matrix[start + dim]!;
      along += part * from[dim]!;
      square += part * part;
    }
    const both = length * Math.sqrt(square);
    return both === 0 ? 1 : Math.max(0, 1 - along / both);
  };
}

/** After all that are as near or nearer. */
function placeOf(distances: readonly number[], distance: number): number {
  let [low, high] = [0, distances.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (distances[middle]! <= distance) low = middle + 1;
    else high = middle;
  }
  return low;
}
