/** A tree of clusters as lines: where each join is, across in leaves, and how far apart what it joins is. */

export interface Join {
  /** The two that are joined: where they stand, and how far down their line goes. */
  readonly left: number;
  readonly right: number;
  readonly leftBase: number;
  readonly rightBase: number;
  readonly distance: number;
  /** Items below it. */
  readonly count: number;
}

/**
 * `tree` in rows of four: two numbers, their distance, how many items. `standing`: for each leaf as the tree numbers
 * it, its place from the left.
 */
export function joinsOf(tree: Float64Array, standing: readonly number[]): Join[] {
  const places = [...standing];
  const bases = standing.map(() => 0);
  const joins: Join[] = [];
  for (let row = 0; row + 3 < tree.length; row += 4) {
    const [one, other, distance, count] = [tree[row]!, tree[row + 1]!, tree[row + 2]!, tree[row + 3]!];
    const [left, right] = (places[one] ?? 0) <= (places[other] ?? 0) ? [one, other] : [other, one];
    const [from, to] = [places[left] ?? 0, places[right] ?? 0];
    joins.push({ left: from, right: to, leftBase: bases[left] ?? 0, rightBase: bases[right] ?? 0, distance, count });
    places.push((from + to) / 2);
    bases.push(distance);
  }
  return joins;
}

/** As an SVG path; `x` of a place, `y` of a distance. */
export function pathOf(joins: readonly Join[], x: (place: number) => number, y: (distance: number) => number): string {
  const text = (value: number): string => value.toFixed(1);
  return joins
    .map(({ left, right, leftBase, rightBase, distance }) => {
      const top = text(y(distance));
      return `M${text(x(left))} ${text(y(leftBase))}V${top}H${text(x(right))}V${text(y(rightBase))}`;
    })
    .join("");
}
