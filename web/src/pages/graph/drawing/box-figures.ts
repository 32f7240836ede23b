/** What a node is coloured by: its figure, the scale over all boxes on screen, and how the figure is written. */
import { obtain } from "../../../data/collections";
import { formatCount } from "../../../data/format";
import { opsInside } from "../../../data/pass/edges";
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import type { Figures, Metric } from "../../../data/store";

export const NUM_STEPS = 10;

export type Measure = (node: GraphNode) => number | null;

const MEASURES: Partial<Record<Metric, Measure>> = {
  forward_time: (node) => (node.opKind === "op" || node.kind === "group" ? node.seconds : null),
  backward_time: (node) => node.backwardSeconds,
  memory: (node) => node.numBytes,
  flops: (node) => node.flops,
  parameters: (node) => (node.numParams === 0 ? null : node.numParams),
};

/** How to measure nodes by a metric; null where it gives no number. */
export function measureBy(metric: Metric, hierarchy: Hierarchy, figures: Figures): Measure | null {
  if (metric !== "zeros") return MEASURES[metric] ?? null;
  const zeros = figures.get("zeros");
  if (zeros === undefined) return null;
  const known = new Map<string, number | null>();
  return ({ key }) => obtain(known, key, () => mean(opsInside(hierarchy, key).map((op) => zeros[op] ?? null)));
}

function mean(values: readonly (number | null)[]): number | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 ? null : numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

/** A unit for all figures of a scale: what to divide by, and its name. */
interface Unit {
  readonly size: number;
  readonly name: string;
}

const TIME_UNITS: readonly Unit[] = [{ size: 1e-6, name: "µs" }, { size: 1e-3, name: "ms" }, { size: 1, name: "s" }];

const UNITS: Partial<Record<Metric, readonly Unit[]>> = {
  forward_time: TIME_UNITS,
  backward_time: TIME_UNITS,
  memory: [
    { size: 1, name: "B" }, { size: 2 ** 10, name: "KB" }, { size: 2 ** 20, name: "MB" }, { size: 2 ** 30, name: "GB" },
    { size: 2 ** 40, name: "TB" },
  ],
  flops: [
    { size: 1, name: "FLOP" }, { size: 1e3, name: "kFLOP" }, { size: 1e6, name: "MFLOP" },
    { size: 1e9, name: "GFLOP" }, { size: 1e12, name: "TFLOP" },
  ],
  parameters: [
    { size: 1, name: "parameters" }, { size: 1e3, name: "thousand parameters" }, { size: 1e6, name: "million parameters" },
    { size: 1e9, name: "billion parameters" },
  ],
  zeros: [{ size: 0.01, name: "%" }],
};

/** The largest unit in which the limit is at least one. */
export function unitFor(metric: Metric, limit: number): Unit {
  const units = UNITS[metric] ?? [{ size: 1, name: "" }];
  return units.findLast((unit) => limit >= unit.size) ?? units[0]!;
}

/** `0.04`, `1.62`, `21.4`, `318`: enough digits to compare. */
export function figureText(value: number, unit: Unit): string {
  const amount = value / unit.size;
  if (amount === 0) return "0";
  if (Number.isInteger(amount) && amount < 1000) return String(amount);
  if (amount >= 99.95) return formatCount(amount);
  if (amount >= 9.995) return amount.toFixed(1);
  return amount < 0.005 ? "<0.01" : amount.toFixed(2);
}

export interface Scale {
  readonly limit: number;
  readonly unit: Unit;
}

/** The scale of the boxes on screen; `fixed` is a limit that somebody chose. */
export function scaleOf(metric: Metric, values: Iterable<number | null>, fixed: number | null): Scale {
  let limit = fixed ?? (metric === "zeros" ? 1 : 0);
  if (fixed === null && metric !== "zeros") for (const value of values) if (value !== null && value > limit) limit = value;
  return { limit, unit: unitFor(metric, limit) };
}

/** Which of the ten steps of the colour ramp a value has. */
export function stepOf(value: number, { limit }: Scale): number {
  if (!(limit > 0)) return 0;
  return Math.max(0, Math.min(NUM_STEPS - 1, Math.floor((value / limit) * NUM_STEPS)));
}

/** The commonest types of op, which get a colour each; the others share one. */
export function commonTypes(hierarchy: Hierarchy): string[] {
  const counts = new Map<string, number>();
  for (const node of hierarchy.nodes.values()) {
    if (node.opKind === "op" && node.host === null) counts.set(node.type, (counts.get(node.type) ?? 0) + node.numOps);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return sorted.slice(0, 8).map(([type]) => type);
}
