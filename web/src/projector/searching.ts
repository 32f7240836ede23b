/** Find points by the text of their labels: a part of it, or a /regular expression/. */
import type { Column } from "./embedding";

export interface FoundPoints {
  readonly points: readonly number[];
  /** The columns in which a point was found. */
  readonly columnsOf: (point: number) => readonly Column[];
}

export type Found = FoundPoints | { readonly fault: string };

/** In one column or, for null, in all of them. */
export function findPoints(columns: readonly Column[], column: string | null, query: string): Found {
  const text = query.trim();
  if (text === "") return { points: [], columnsOf: () => [] };
  const test = testOf(text);
  if ("fault" in test) return test;
  const searched = columns.filter(({ name }) => column === null || name === column);
  const numPoints = columns[0]?.values.length ?? 0;
  const points: number[] = [];
  for (let point = 0; point < numPoints; point++) {
    if (searched.some(({ values }) => test.matches(values[point]!))) points.push(point);
  }
  return { points, columnsOf: (point) => searched.filter(({ values }) => test.matches(values[point]!)) };
}

function testOf(text: string): { matches: (value: string) => boolean } | { fault: string } {
  const parts = /^\/(.+)\/([a-z]*)$/s.exec(text);
  if (parts === null) {
    const wanted = text.toLowerCase();
    return { matches: (value) => value.toLowerCase().includes(wanted) };
  }
  try {
    // Without the flags that would make it remember where it was.
    const expression = new RegExp(parts[1]!, parts[2]!.replaceAll(/[gy]/g, ""));
    return { matches: (value) => expression.test(value) };
  } catch {
    return { fault: "This is no regular expression." };
  }
}
