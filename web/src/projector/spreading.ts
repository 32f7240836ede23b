/** The same points in another order, in which any beginning is an even sample of all. */

const GOLDEN = 0.618033988749895;

/** Labels often come sorted; drawn in that order, the last kind would lie on top of all others. */
export function spread(points: Int32Array): Int32Array<ArrayBuffer> {
  const count = points.length;
  let stride = Math.max(1, Math.round(count * GOLDEN));
  while (commonDivisor(stride, count) !== 1) stride += 1;
  const order = new Int32Array(count);
  for (let nth = 0, from = 0; nth < count; nth++) {
    order[nth] = points[from]!;
    from = (from + stride) % count;
  }
  return order;
}

function commonDivisor(left: number, right: number): number {
  return right === 0 ? left : commonDivisor(right, left % right);
}
