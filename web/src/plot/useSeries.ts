/** Scalars of runs for small charts, followed for as long as a part of the page is there. */
import { useEffect, useReducer } from "preact/hooks";
import type { SeriesWanted } from "../wire";
import { type Curve, curveOf } from "./scalars/model";
import { feeds } from "./scalars/series-feed";

interface FollowedSeries {
  /** What is known of one of them, over steps. */
  of(runId: string, name: string): Curve;
  readonly isWaiting: boolean;
  /** Why there is nothing; empty where there is. */
  readonly refusal: string;
}

export function useSeries(wanted: readonly SeriesWanted[]): FollowedSeries {
  const feed = feeds.value?.small ?? null;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const hear = (): void => redraw(undefined);
  // A new list of the same series is no new question.
  useEffect(() => feed?.use(wanted, hear), [feed, wanted.map(({ run_id, name }) => `${run_id} ${name}`).join("\n")]);
  const known = wanted.map(({ run_id, name }) => feed?.known(run_id, name));
  return {
    of: (runId, name) => curveOf(feed?.known(runId, name)?.data ?? null, null, "step"),
    isWaiting: feed !== null && known.some((one) => one === undefined || (!one.isAnswered && one.refusal === "")),
    refusal: known.find((one) => (one?.refusal ?? "") !== "")?.refusal ?? "",
  };
}
