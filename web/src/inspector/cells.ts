/** How many columns of numbers have room beside one another, and which texts have room in one. */
import { PAGE_COLUMNS } from "../tensor/window";

const GAP = 1;
/** Left and right of the text; as in data.css. */
const PADDING = 3;
const FEWEST = 3;

/** A number as wide as most are: a sign and four digits. */
const USUAL = "\u22120.000";

export function columnsFor(width: number, widthOf: (text: string) => number): number {
  const each = widthOf(USUAL) + PADDING + GAP;
  return Math.max(FEWEST, Math.min(PAGE_COLUMNS, Math.floor((width - GAP) / each)));
}

/** Room for the text of one cell. */
export function roomFor(width: number, columns: number): number {
  return (width - GAP * (columns + 1)) / columns - PADDING;
}
