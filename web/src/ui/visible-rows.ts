/** Which rows of a long list are in view: only those are put into the page. */

export interface Rows {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
}

/** Below this many rows all of them are there. */
export const MAX_PLAIN_ROWS = 200;
const SPARE = 10;

export function rowsInView(count: number, rowHeight: number, scrollTop: number, viewHeight: number): Rows {
  if (count <= MAX_PLAIN_ROWS) return { first: 0, end: count };
  const first = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight) - SPARE, count - 1));
  const end = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + SPARE);
  return { first, end: Math.max(end, first) };
}

/** Where to scroll so that a row is in view, or null where it is. Rows far off are put in the middle. */
export function scrollFor(
  row: number,
  rowHeight: number,
  scrollTop: number,
  viewHeight: number,
): number | null {
  const top = row * rowHeight;
  if (top >= scrollTop && top + rowHeight <= scrollTop + viewHeight) return null;
  const isNear = Math.abs(top - scrollTop) < viewHeight * 1.5;
  if (!isNear) return Math.max(0, top - (viewHeight - rowHeight) / 2);
  return Math.max(0, top < scrollTop ? top : top + rowHeight - viewHeight);
}
