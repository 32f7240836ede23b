/** The figures of a watched tensor: what they are called, and what kind of number each is. */
import { formatShare, formatValue } from "../format";

/** Of either sign; a size, which may span decades; a share from 0 to 1. */
export type FigureKind = "signed" | "size" | "share";

export interface Figure {
  /** As the server names it. */
  readonly id: string;
  readonly title: string;
  readonly kind: FigureKind;
  /** Only some rows have it: those that do not are left out of the map. */
  readonly isRare?: boolean;
  readonly hint: string;
}

const KNOWN: readonly Figure[] = [
  { id: "mean", title: "mean", kind: "signed", hint: "of the finite values" },
  { id: "std", title: "std", kind: "size", hint: "standard deviation of the finite values" },
  { id: "min", title: "min", kind: "signed", hint: "least finite value" },
  { id: "max", title: "max", kind: "signed", hint: "largest finite value" },
  { id: "norm", title: "norm", kind: "size", hint: "square root of the sum of squares" },
  { id: "zeros", title: "zeros", kind: "share", hint: "share of values that are exactly 0" },
  { id: "nan", title: "NaN", kind: "share", hint: "share of values that are NaN" },
  { id: "inf", title: "Inf", kind: "share", hint: "share of values that are infinite" },
  { id: "ratio", title: "update ratio", kind: "size", isRare: true, hint: "norm of an update by that of its weight" },
  { id: "dead", title: "dead units", kind: "share", isRare: true, hint: "share of units that are 0 throughout" },
  { id: "saturated", title: "saturated", kind: "share", isRare: true, hint: "share of values near a bound" },
];

const BY_ID = new Map(KNOWN.map((figure) => [figure.id, figure]));

export const FIRST_FIGURE = "norm";

/** Also one that this page does not know yet: it is shown by its name. */
export function figureOf(id: string): Figure {
  const known = BY_ID.get(id);
  if (known !== undefined) return known;
  const digits = /^q(\d\d)$/.exec(id)?.[1];
  if (digits === undefined) return { id, title: id, kind: "signed", hint: "" };
  const share = Number(digits);
  if (share === 50) return { id, title: "median", kind: "signed", hint: "half of the finite values are below" };
  return { id, title: `${share} % quantile`, kind: "signed", hint: `${share} % of the finite values are below` };
}

/** A figure of a sample is written with ≈ before it. */
export function formatFigure({ kind }: Figure, value: number, { digits = 5, isEstimate = false } = {}): string {
  const about = isEstimate ? "\u2248 " : "";
  if (kind !== "share" || !Number.isFinite(value)) return about + formatValue(value, digits);
  return about + formatShare(value, 1);
}
