/** How units, counters and connections are named. */
import type { NetLayer } from "../../wire";
import { formatExact, formatSpecial, groupDigits } from "../format";

/** The place of a unit in the tensor of one item: [12, 5, 7]. */
export function indexOf(shape: readonly number[], unit: number): number[] {
  let rest = unit;
  const fromEnd = shape.toReversed().map((size) => {
    const at = size > 0 ? rest % size : 0;
    rest = size > 0 ? Math.floor(rest / size) : 0;
    return at;
  });
  return fromEnd.reverse();
}

/** `conv1 [12, 5, 7]`. A place of a colour picture has three values: its colour is left open. */
export function unitName({ name, shape, grid }: Pick<NetLayer, "name" | "shape" | "grid">, unit: number): string {
  const index = indexOf(shape, unit).map(String);
  if (grid.is_colour && index.length > 0) index[0] = ":";
  return index.length === 0 ? name : `${name} [${index.join(", ")}]`;
}

/** `epoch` → `Epoch`. */
export function counterTitle(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Whole numbers in groups of three, anything else as it is. */
export function counterText(text: string): string {
  return /^-?\d{1,300}$/.test(text) ? groupDigits(text) : text;
}

/** All digits that it takes; NaN and infinities come as texts. */
export function exactText(value: number | string): string {
  if (typeof value === "number") return formatExact(value, "f4");
  return ["NaN", "Infinity", "-Infinity"].includes(value) ? formatSpecial(Number(value)) : value;
}

/** What the server says of layers that are connected without any weights, as by pooling: nothing is missing there. */
export const NOT_WEIGHTED = "there are no weights in between";

/** How a page that is one file begins to say why something is missing there. */
export const NOT_IN_FILE = "Not in this file";

export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

export interface WeightVariable {
  readonly direction: "received" | "sent";
  /** Wt, Grad, Delta… */
  readonly name: string;
}

/** What `r.Wt` and `s.Grad` stand for; null for a variable of units. */
export function weightVariable(variable: string): WeightVariable | null {
  const mark = variable.slice(0, 2);
  if (mark !== "r." && mark !== "s.") return null;
  return { direction: mark === "r." ? "received" : "sent", name: variable.slice(2) };
}
