/** A running average that forgets: each point weighs less by one factor than the next. */

/**
 * The average after each item, with the weight that it lacks at the beginning made good. A bucket counts as all
 * of its finite points, each with the mean of the bucket. Values that are not finite are gaps and change nothing.
 */
export function smooth(
  means: ArrayLike<number>,
  counts: ArrayLike<number>,
  bad: ArrayLike<number>,
  weight: number,
): Float64Array {
  const smoothed = new Float64Array(means.length);
  let [average, total] = [0, 0];
  for (let at = 0; at < means.length; at++) {
    const value = means[at]!;
    if (!Number.isFinite(value)) {
      smoothed[at] = NaN;
      continue;
    }
    // Of n points of one value, what was there before keeps weight ** n.
    const kept = weight ** Math.max(1, counts[at]! - bad[at]!);
    average = kept * average + (1 - kept) * value;
    total = kept * total + (1 - kept);
    smoothed[at] = average / total;
  }
  return smoothed;
}
