/** The kinds of alarms: what each is called, how bad it is, and which figure shows it. */

export type Severity = "danger" | "warn";

export interface AlarmKind {
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  /** The figure in which it can be seen; null where no figure of the row shows it. */
  readonly figure: string | null;
}

const KNOWN: readonly AlarmKind[] = [
  // The map marks it whatever figure is shown.
  { id: "nan", title: "NaN or Inf", severity: "danger", figure: null },
  { id: "exploding_gradient", title: "exploding gradient", severity: "warn", figure: "norm" },
  { id: "vanishing_gradient", title: "vanishing gradient", severity: "warn", figure: "norm" },
  { id: "dead_units", title: "dead units", severity: "warn", figure: "dead" },
  { id: "saturated", title: "saturated", severity: "warn", figure: "saturated" },
  { id: "loss_spike", title: "loss spike", severity: "warn", figure: null },
  { id: "stuck_weight", title: "stuck weight", severity: "warn", figure: null },
];

const BY_ID = new Map(KNOWN.map((kind) => [kind.id, kind]));

/** Also one that this page does not know yet. */
export function alarmKind(id: string): AlarmKind {
  return BY_ID.get(id) ?? { id, title: id.replaceAll("_", " "), severity: "warn", figure: null };
}

/** Those that are known in their order, the worst first, then the others. */
export function inOrder(ids: Iterable<string>): string[] {
  const rank = (id: string): number => {
    const at = KNOWN.findIndex((kind) => kind.id === id);
    return at < 0 ? KNOWN.length : at;
  };
  return [...ids].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
