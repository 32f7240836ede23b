/** The bytes of records of several runs, which are then shown together. */
import type { RecordListing } from "../wire";
import { askRecord, recordKey, type FullRecord } from "./asking";
import { useAsked, type Asked } from "./useAsked";

export interface RecordWanted {
  readonly runId: string;
  readonly listing: RecordListing;
}

export type FullByRun = ReadonlyMap<string, FullRecord>;

/** A run whose record cannot be read is left out, unless none can. */
export function useFullRecords(wanted: readonly RecordWanted[], isNear: boolean): Asked<FullByRun> {
  return useAsked<FullByRun>(
    isNear && wanted.length > 0
      ? {
          key: JSON.stringify(wanted.map(({ runId, listing }) => recordKey(runId, listing))),
          version: "",
          ask: () => askAll(wanted),
        }
      : null,
  );
}

async function askAll(wanted: readonly RecordWanted[]): Promise<FullByRun> {
  const answers = await Promise.allSettled(wanted.map(({ runId, listing }) => askRecord(runId, listing)));
  const found = new Map<string, FullRecord>();
  for (const [at, answer] of answers.entries()) {
    if (answer.status === "fulfilled") found.set(wanted[at]!.runId, answer.value);
  }
  const failed = answers.find((answer) => answer.status === "rejected");
  if (found.size === 0 && failed !== undefined) throw failed.reason;
  return found;
}
