/** Which of the chosen runs hold a series, and how far each of them is. */
import { chosen, index, namesOf, seriesKey } from "../data/runs";
import type { RecordKind, RunListing, SeriesListing } from "../wire";
import { filter } from "./scalars/state";

export interface Holder {
  readonly run: RunListing;
  readonly series: SeriesListing;
}

export function holdersOf(kind: RecordKind, name: string): readonly Holder[] {
  const holders: Holder[] = [];
  for (const run of chosen.value) {
    const series = index.value.get(run.id)?.get(seriesKey(kind, name));
    if (series !== undefined && series.count > 0) holders.push({ run, series });
  }
  return holders;
}

/** Changes whenever there is more of the series to see. */
export function versionOf({ series }: Holder): string {
  return `${series.count} ${series.last_step} ${series.last_time}`;
}

/** The names of one kind that the filter of the page lets through. */
export function shownNames(kind: RecordKind): readonly string[] {
  return namesOf(kind).filter(filter.value);
}
