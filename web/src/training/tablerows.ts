/** The numbers of a chart in rows: one for each place of the axis where any line has an item. */
import type { Curve } from "./curve";

export interface TableRow {
  readonly x: number;
  /** The item of each line; -1 where it has none here. */
  readonly items: readonly number[];
}

/** All places in order. Items of one line at one place get rows of their own. */
export function tableRows(curves: readonly Pick<Curve, "x">[]): TableRow[] {
  const next = curves.map(() => 0);
  const rows: TableRow[] = [];
  for (;;) {
    let x = Infinity;
    curves.forEach((curve, at) => {
      const place = curve.x[next[at]!];
      if (place !== undefined && place < x) x = place;
    });
    if (x === Infinity) return rows;
    const items = curves.map((curve, at) => (curve.x[next[at]!] === x ? next[at]!++ : -1));
    rows.push({ x, items });
  }
}
