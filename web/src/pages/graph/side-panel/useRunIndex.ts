/** The series of one run, also where it is not among the chosen ones. */
import { useEffect, useState } from "preact/hooks";
import { index, isChosen, seriesKey, type RunSeries } from "../../../data/runs";
import * as store from "../../../data/store";
import type { SeriesListing } from "../../../wire";

const NOTHING: RunSeries = new Map();

export function useRunIndex(runId: string): RunSeries {
  const source = store.source.value;
  const isFollowed = isChosen(runId);
  const [own, setOwn] = useState(NOTHING);
  useEffect(() => {
    if (source === null || isFollowed || runId === "") return undefined;
    let known: ReadonlyMap<string, SeriesListing> = NOTHING;
    return source.follow(
      { type: "index", run_ids: [runId] },
      {
        hear: ({ answer }) => {
          if (answer.type !== "index") return;
          for (const { run_id, is_all, series } of answer.runs) {
            if (run_id !== runId) continue;
            const next = new Map(is_all ? [] : known);
            for (const one of series) next.set(seriesKey(one.kind, one.name), one);
            known = next;
          }
          setOwn(known);
        },
        refuse: () => undefined, // then nothing is known of it
      },
    );
  }, [source, runId, isFollowed]);
  return isFollowed ? (index.value.get(runId) ?? NOTHING) : own;
}
