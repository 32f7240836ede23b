/** Coordinates as they are drawn: around the origin and within one of it, whatever they were. */

/** How far out the drawing reaches: all but the last of many points. */
const REACH = 0.995;

/** Three numbers for each point. Points that have no place are drawn nowhere. */
export function fitPlaces(
  coordinates: Float32Array,
  perPoint: number,
  axes: readonly number[],
  hasPlace: Uint8Array,
): Float32Array {
  const numPoints = hasPlace.length;
  const places = new Float32Array(numPoints * 3);
  const middle = axes.map((axis) => middleOf(coordinates, perPoint, axis, hasPlace));
  const lengths = new Float32Array(numPoints);
  for (let point = 0; point < numPoints; point++) {
    let square = 0;
    for (const [at, axis] of axes.entries()) {
      const value = axis < perPoint ? coordinates[point * perPoint + axis]! - middle[at]! : 0;
      places[point * 3 + at] = value;
      square += value * value;
    }
    lengths[point] = hasPlace[point] === 1 ? Math.sqrt(square) : 0;
  }
  const far = lengths.sort()[Math.min(numPoints - 1, Math.floor(numPoints * REACH))] ?? 0;
  const scale = far > 0 ? 1 / far : 1;
  for (let at = 0; at < places.length; at++) places[at]! *= scale;
  return places;
}

/** The mean of an axis. */
function middleOf(coordinates: Float32Array, perPoint: number, axis: number, hasPlace: Uint8Array): number {
  if (axis >= perPoint) return 0;
  let [sum, count] = [0, 0];
  for (let point = 0; point < hasPlace.length; point++) {
    if (hasPlace[point] !== 1) continue;
    sum += coordinates[point * perPoint + axis]!;
    count += 1;
  }
  return count === 0 ? 0 : sum / count;
}
