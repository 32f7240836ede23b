/** Find points by the text of their labels. */
import { searchTest } from "../globs";
import type { Column } from "./embedding";

export interface FoundPoints {
  readonly points: readonly number[];
  /** The columns in which a point was found. */
  readonly columnsOf: (point: number) => readonly Column[];
}

/** In one column or, for null, in all of them. */
export function findPoints(columns: readonly Column[], column: string | null, query: string): FoundPoints {
  const text = query.trim();
  if (text === "") return { points: [], columnsOf: () => [] };
  const test = searchTest(text);
  const searched = columns.filter(({ name }) => column === null || name === column);
  const numPoints = columns[0]?.values.length ?? 0;
  const points: number[] = [];
  for (let point = 0; point < numPoints; point++) {
    if (searched.some(({ values }) => test(values[point]!))) points.push(point);
  }
  return { points, columnsOf: (point) => searched.filter(({ values }) => test(values[point]!)) };
}
