/** The order of the runs in their table. */
import type { RunListing } from "../wire";
import { metricOf } from "./columns";

export interface Order {
  /** A column's id, or `m:` and the name of a metric. */
  readonly column: string;
  readonly isDown: boolean;
}

/** As it is where nobody chose: what has changed last stands first. */
export const FIRST_ORDER: Order = { column: "updated", isDown: true };

type Key = string | number | null;

const KEYS: Record<string, (run: RunListing) => Key> = {
  name: (run) => run.name,
  state: (run) => ["running", "died", "finished", "unknown"].indexOf(run.state),
  spark: (run) => run.spark.findLast((value) => value !== null) ?? null,
  step: (run) => run.last_step,
  duration: (run) => run.updated - run.started,
  // What is running changes all the time: among themselves such runs stay where they are.
  updated: (run) => (run.state === "running" ? Number.MAX_VALUE : run.updated),
  started: (run) => run.started,
  host: (run) => run.host,
  tags: (run) => run.tags.join(" "),
  series: (run) => run.num_series,
  size: (run) => run.num_bytes,
};

export function metricColumn(name: string): string {
  return `m:${name}`;
}

/** From the address, where a minus means downwards. What is not known there sorts as nothing was said. */
export function readOrder(text: string): Order {
  const isDown = text.startsWith("-");
  const column = isDown ? text.slice(1) : text;
  return column.startsWith("m:") || Object.hasOwn(KEYS, column) ? { column, isDown } : FIRST_ORDER;
}

/** For the address; nothing for the order that is there by itself. */
export function writeOrder({ column, isDown }: Order): string | null {
  const text = `${isDown ? "-" : ""}${column}`;
  return text === writtenFirst ? null : text;
}

const writtenFirst = `-${FIRST_ORDER.column}`;

/** What a press on a column's head asks for: names from A, numbers from the largest; pressed again, the other way. */
export function nextOrder(now: Order, column: string): Order {
  if (now.column === column) return { column, isDown: !now.isDown };
  return { column, isDown: !["name", "state", "host", "tags"].includes(column) };
}

const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Runs without a value stand last, whichever way; equals stay in the order in which they came. */
export function sortRuns(runs: readonly RunListing[], { column, isDown }: Order): readonly RunListing[] {
  const key: (run: RunListing) => Key = column.startsWith("m:")
    ? (run) => metricOf(run, column.slice(2)) ?? null
    : (KEYS[column] ?? KEYS.updated!);
  const keyed = runs.map((run) => ({ run, key: key(run) }));
  keyed.sort((a, b) => compare(a.key, b.key, isDown));
  return keyed.map(({ run }) => run);
}

function compare(a: Key, b: Key, isDown: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "string" || typeof b === "string" ? byName.compare(String(a), String(b)) : a - b;
  return isDown ? -order : order;
}
