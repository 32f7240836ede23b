/** Follow scalars of runs for as long as a part of the page is there. */
import { useEffect, useState } from "preact/hooks";
import * as store from "../../store";
import type { SeriesWanted } from "../../wire";
import { pointsKey, withFrame, type Points } from "./seriesblocks";

const NUM_BUCKETS = 200;
const NOTHING: ReadonlyMap<string, Points> = new Map();
const MOST_KEPT = 256;

/** What was last known of each series, for a page that comes back while there is no connection. */
const lastKnown = new Map<string, Points>();

function knownOf(wanted: readonly SeriesWanted[]): ReadonlyMap<string, Points> {
  const keys = wanted.map(({ run_id, name }) => pointsKey(run_id, name));
  return new Map(keys.flatMap((key) => (lastKnown.has(key) ? [[key, lastKnown.get(key)!]] : [])));
}

function keepKnown(points: ReadonlyMap<string, Points>): void {
  for (const [key, found] of points) lastKnown.set(key, found);
  for (const key of [...lastKnown.keys()].slice(0, -MOST_KEPT)) lastKnown.delete(key);
}

export interface FollowedSeries {
  /** By run and name: see `pointsKey`. */
  readonly points: ReadonlyMap<string, Points>;
  readonly isWaiting: boolean;
  /** Why there is nothing; empty where there is. */
  readonly refusal: string;
}

export function useSeries(wanted: readonly SeriesWanted[]): FollowedSeries {
  const source = store.source.value;
  // As text: a new list of the same series is no new question.
  const asked = JSON.stringify(wanted);
  const [found, setFound] = useState<FollowedSeries>(() => ({
    points: knownOf(wanted),
    isWaiting: true,
    refusal: "",
  }));
  useEffect(() => {
    if (source === null || wanted.length === 0) {
      setFound({ points: NOTHING, isWaiting: false, refusal: "" });
      return undefined;
    }
    let points = NOTHING;
    // What is known stays until the answer comes: most of it is what was asked for before.
    setFound((before) => ({ ...before, isWaiting: true }));
    return source.follow(
      {
        type: "series",
        wanted: JSON.parse(asked) as SeriesWanted[],
        axis: "step",
        low: null,
        high: null,
        num_buckets: NUM_BUCKETS,
      },
      {
        hear: (reply) => {
          points = withFrame(points, reply);
          keepKnown(points);
          setFound({ points, isWaiting: false, refusal: "" });
        },
        refuse: (reason) => setFound({ points, isWaiting: false, refusal: reason }),
      },
    );
  }, [source, asked]);
  return found;
}
