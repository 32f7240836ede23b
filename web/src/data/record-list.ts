/** The records of a series, asked for again whenever it has more. */
import { effect } from "@preact/signals";
import type { RecordKind, RecordListing } from "../wire";
import * as runs from "./runs";
import type { Source } from "./source";

export interface SeriesPlace {
  readonly runId: string;
  readonly kind: RecordKind;
  readonly name: string;
}

export interface RecordList {
  readonly place: SeriesPlace;
  readonly records: readonly RecordListing[];
  /** How many there are, where not all are listed. */
  readonly numAll: number;
}

/** More would be more than a slider has places for. */
export const MOST_RECORDS = 1000;
/** How long to wait before the list is asked for again. */
const PAUSE_MS = 1000;

export function placeKey({ runId, kind, name }: SeriesPlace): string {
  return `${kind} ${runId} ${name}`;
}

/** Call what it returns to stop. The answer to an older wish is not heard. */
export function followRecordList(
  source: Source,
  wanted: () => SeriesPlace | null,
  hear: (list: RecordList) => void,
  fail: (reason: string) => void,
): () => void {
  let asked = "";
  let place = "";
  let last = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = effect(() => {
    const next = wanted();
    if (next === null) return;
    const series = runs.seriesOf(next.runId, next.kind, next.name);
    if (series === undefined) return;
    const version = `${placeKey(next)} ${series.count} ${series.last_step} ${series.last_time}`;
    if (version === asked) return;
    asked = version;
    const isOther = place !== placeKey(next);
    place = placeKey(next);
    clearTimeout(timer);
    const askNow = (): void => {
      last = performance.now();
      const { runId: run_id, kind, name } = next;
      source.ask({ type: "records", run_id, kind, name, most: MOST_RECORDS }).then(
        ({ answer }) => {
          if (answer.type === "records" && place === placeKey(next))
            hear({ place: next, records: answer.records, numAll: answer.num_all });
        },
        (reason: unknown) => {
          if (place === placeKey(next)) fail(reason instanceof Error ? reason.message : String(reason));
        },
      );
    };
    timer = setTimeout(askNow, isOther ? 0 : Math.max(0, PAUSE_MS - (performance.now() - last)));
  });
  return () => {
    clearTimeout(timer);
    place = "";
    stop();
  };
}
