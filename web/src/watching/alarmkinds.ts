/** The kinds of alarms: what each is called, how bad it is, which figure shows it, and what its value is. */
import { formatValue } from "../format";
import type { AlarmListing } from "../wire";
import { figureOf, formatFigure } from "./figures";

export type Severity = "danger" | "warn";

export interface AlarmKind {
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  /** The figure in which it can be seen; null where no figure of the row shows it. */
  readonly figure: string | null;
  /** What its value is: a figure, the scalar itself, or nothing that says more than its title. */
  readonly value: "norm" | "share" | "scalar" | "none";
}

const KNOWN: readonly AlarmKind[] = [
  // The map marks it whatever figure is shown.
  { id: "nan", title: "NaN or Inf", severity: "danger", figure: null, value: "share" },
  { id: "exploding_gradient", title: "exploding gradient", severity: "warn", figure: "norm", value: "norm" },
  { id: "vanishing_gradient", title: "vanishing gradient", severity: "warn", figure: "norm", value: "norm" },
  { id: "dead_units", title: "dead units", severity: "warn", figure: "dead", value: "share" },
  { id: "saturated", title: "saturated", severity: "warn", figure: "saturated", value: "share" },
  { id: "loss_spike", title: "loss spike", severity: "warn", figure: null, value: "scalar" },
  { id: "stuck_weight", title: "stuck weight", severity: "warn", figure: null, value: "none" },
];

const BY_ID = new Map(KNOWN.map((kind) => [kind.id, kind]));

/** Also one that this page does not know yet. */
export function alarmKind(id: string): AlarmKind {
  return BY_ID.get(id) ?? { id, title: id.replaceAll("_", " "), severity: "warn", figure: null, value: "scalar" };
}

/** The value of an alarm with what it is: `norm 118`, `25.0 %`; empty where it has none. */
export function alarmValue({ alarm, value }: Pick<AlarmListing, "alarm" | "value">): string {
  const { value: what } = alarmKind(alarm);
  if (value === null || what === "none") return "";
  if (what === "share") return formatFigure(figureOf("nan"), value);
  return what === "norm" ? `norm ${formatValue(value, 3)}` : formatValue(value, 3);
}

/** Those that are known in their order, the worst first, then the others. */
export function inOrder(ids: Iterable<string>): string[] {
  const rank = (id: string): number => {
    const at = KNOWN.findIndex((kind) => kind.id === id);
    return at < 0 ? KNOWN.length : at;
  };
  return [...ids].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
