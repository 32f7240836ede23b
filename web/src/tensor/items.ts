/** Count through the items of a batch, the last dimension fastest. */

/** The item so many further on, or null past either end. */
export function stepItem(shape: readonly number[], item: readonly number[], by: number): number[] | null {
  const total = shape.reduce((product, size) => product * size, 1);
  const at = item.reduce((place, index, dim) => place * shape[dim]! + index, 0) + by;
  if (at < 0 || at >= total) return null;
  const next: number[] = [];
  let rest = at;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    next.unshift(rest % shape[dim]!);
    rest = Math.floor(rest / shape[dim]!);
  }
  return next;
}
