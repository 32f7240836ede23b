/** The records of a series in all chosen runs, and the step at which they are looked at. */
import { askRecord, askRecords, ByteCache, type FullRecord, recordKey, type Records } from "../data/requests";
import { param, setParams } from "../data/route";
import { chosen, namesOf, seriesOf } from "../data/runs";
import { type Asked, useAsked } from "../data/useAsked";
import type { RecordKind, RecordListing, RunListing, SeriesListing } from "../wire";
import { escaped, partsOf, unescaped } from "./figure-options";
import { lastUpTo } from "./lines";
import { filter } from "./scalars/state";

/** The index counts records that turn out not to be there. */
export const UNREADABLE = "None of its records can be read: they are damaged, or were taken away meanwhile.";
const BYTES_A_RECORD = 300; // about, of a head
const cache = new ByteCache<Records>(16_000_000);

/** The steps of a series, and the one that is looked at. */
export type Stepped = ReturnType<typeof useRecords>;

export function useRecords(
  kind: RecordKind,
  name: string,
  holders: readonly Holder[],
  isNear: boolean,
) {
  const asked = useAsked<RecordsByRun>(
    isNear && holders.length > 0
      ? {
          key: JSON.stringify([kind, name, holders.map(({ run }) => run.id)]),
          version: holders.map(versionOf).join(" "),
          ask: () => askEach(holders.map((holder) => [holder.run.id, askCached(kind, name, holder)] as const)),
        }
      : null,
  );
  const byRun: RecordsByRun = asked.value ?? new Map<string, Records>();
  const steps = stepsOf(byRun);
  const pinned = readPins(param(NAME)).get(pinKey(kind, name)) ?? null;
  const at = placeOf(steps, pinned);
  const step = steps[at] ?? 0;
  const problem =
    asked.problem === "" && asked.value !== null && steps.length === 0 ? UNREADABLE : asked.problem;
  const recordsOf = (runId: string): readonly RecordListing[] => byRun.get(runId)?.records ?? [];
  return {
    state: steps.length > 0 ? ("shown" as const) : problem === "" ? ("waiting" as const) : ("failed" as const),
    problem,
    steps,
    at,
    step,
    isFollowing: pinned === null,
    /** How many records there are in the run that has most. */
    numAll: Math.max(0, ...[...byRun.values()].map((one) => one.numAll)),
    /** All records of a run that have a place on the slider. */
    recordsOf,
    /** The record of a run at this step; null where it begins later. */
    recordOf: (runId: string) => recordAt(recordsOf(runId), step),
    moveTo: (place: number) => setPin(kind, name, steps[place] ?? null),
    follow: () => setPin(kind, name, null),
    retry: asked.retry,
  };
}

/** What there is for each run. One that cannot be read is left out, unless none can. */
async function askEach<Value>(asked: readonly (readonly [runId: string, answer: Promise<Value>])[]): Promise<ReadonlyMap<string, Value>> {
  const answers = await Promise.allSettled(asked.map(([, answer]) => answer));
  const found = new Map<string, Value>();
  for (const [at, answer] of answers.entries()) {
    if (answer.status === "fulfilled") found.set(asked[at]![0], answer.value);
  }
  const failed = answers.find((answer) => answer.status === "rejected");
  if (found.size === 0 && failed !== undefined) throw failed.reason;
  return found;
}

async function askCached(kind: RecordKind, name: string, holder: Holder): Promise<Records> {
  const key = JSON.stringify([holder.run.id, kind, name, versionOf(holder)]);
  const known = cache.get(key);
  if (known !== undefined) return known;
  const found = await askRecords(holder.run.id, kind, name);
  // Nothing is not remembered: who tries again asks again.
  if (found.records.length > 0) cache.set(key, found, found.records.length * BYTES_A_RECORD);
  return found;
}

// --- The steps of a series over several runs, and which record each run has at one of them.

type RecordsByRun = ReadonlyMap<string, Records>;

/** All steps at which any of the runs has a record, rising. */
export function stepsOf(byRun: RecordsByRun): number[] {
  const steps = new Set<number>();
  for (const { records } of byRun.values()) for (const { step } of records) steps.add(step);
  return [...steps].sort((a, b) => a - b);
}

/** The place of the step that was asked for, or of the last one before it; the last of all for null. */
export function placeOf(steps: readonly number[], step: number | null): number {
  return step === null ? steps.length - 1 : Math.max(0, lastUpTo(steps, step));
}

/** The newest record of a run at a step: the last one that is not after it. */
export function recordAt(records: readonly RecordListing[], step: number): RecordListing | null {
  return records.findLast((record) => record.step <= step) ?? null;
}

// --- The steps at which somebody stopped to look, by series, as they stand in the address.

const NAME = "at";
const MAX_PINS = 50; // an address has its limits

/** The steps by series, in the order in which they were pinned. */
type Pins = ReadonlyMap<string, number>;

export function pinKey(kind: RecordKind, name: string): string {
  return `${kind} ${name}`;
}

export function readPins(text: string): Pins {
  const pins = new Map<string, number>();
  for (const part of partsOf(text)) {
    const end = part.lastIndexOf("~");
    const step = Number(part.slice(end + 1));
    if (end > 0 && part.length > end + 1 && Number.isSafeInteger(step))
      pins.set(unescaped(part.slice(0, end)), step);
  }
  return pins;
}

export function writePins(pins: Pins): string {
  return [...pins]
    .slice(-MAX_PINS)
    .map(([key, step]) => `${escaped(key)}~${step}`)
    .join(",");
}

/** Hold a series at a step, or let it follow the newest again. */
function setPin(kind: RecordKind, name: string, step: number | null): void {
  const pins = new Map(readPins(param(NAME)));
  pins.delete(pinKey(kind, name));
  if (step !== null) pins.set(pinKey(kind, name), step);
  setParams({ [NAME]: pins.size === 0 ? null : writePins(pins) });
}

export interface RecordWanted {
  readonly runId: string;
  readonly listing: RecordListing;
}

export function useFullRecords(wanted: readonly RecordWanted[], isNear: boolean): Asked<ReadonlyMap<string, FullRecord>> {
  return useAsked(
    isNear && wanted.length > 0
      ? {
          key: JSON.stringify(wanted.map(({ runId, listing }) => recordKey(runId, listing))),
          version: "",
          ask: () => askEach(wanted.map(({ runId, listing }) => [runId, askRecord(runId, listing)] as const)),
        }
      : null,
  );
}

/** Which record of each run belongs to the step that is looked at. */
export function wantedOf(holders: readonly Holder[], stepped: Pick<Stepped, "recordOf">): RecordWanted[] {
  return holders.flatMap(({ run }) => {
    const listing = stepped.recordOf(run.id);
    return listing === null ? [] : [{ runId: run.id, listing }];
  });
}

// --- Which of the chosen runs hold a series, and how far each of them is.

export interface Holder {
  readonly run: RunListing;
  readonly series: SeriesListing;
}

export function holdersOf(kind: RecordKind, name: string): readonly Holder[] {
  return chosen.value.flatMap((run) => {
    const series = seriesOf(run.id, kind, name);
    return series !== undefined && series.count > 0 ? [{ run, series }] : [];
  });
}

/** Changes whenever there is more of the series to see. */
export function versionOf({ series }: Holder): string {
  return `${series.count} ${series.last_step} ${series.last_time}`;
}

/** The names of one kind that the filter of the page lets through. */
export function shownNames(kind: RecordKind): readonly string[] {
  return namesOf(kind).filter(filter.value);
}
