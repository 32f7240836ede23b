/** The steps of a series over several runs, and which record each run has at one of them. */
import type { RecordListing } from "../wire";
import type { Records } from "./asking";

export type RecordsByRun = ReadonlyMap<string, Records>;

/** All steps at which any of the runs has a record, rising. */
export function stepsOf(byRun: RecordsByRun): number[] {
  const steps = new Set<number>();
  for (const { records } of byRun.values()) for (const { step } of records) steps.add(step);
  return [...steps].sort((a, b) => a - b);
}

/** The place of the step that was asked for, or of the last one before it; the last of all for null. */
export function placeOf(steps: readonly number[], step: number | null): number {
  if (step === null) return steps.length - 1;
  const after = steps.findIndex((one) => one > step);
  return Math.max(0, after === -1 ? steps.length - 1 : after - 1);
}

/** The newest record of a run at a step: the last one that is not after it. */
export function recordAt(records: readonly RecordListing[], step: number): RecordListing | null {
  return records.findLast((record) => record.step <= step) ?? null;
}
