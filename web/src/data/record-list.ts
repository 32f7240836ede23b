/** The records of a series, asked for again whenever it has more. */
import type { RecordKind } from "../wire";
import { askRecords, type Records } from "./requests";
import * as runs from "./runs";
import { followAsked } from "./useAsked";

export interface SeriesPlace {
  readonly runId: string;
  readonly kind: RecordKind;
  readonly name: string;
}

export interface RecordList extends Records {
  readonly place: SeriesPlace;
}

export function placeKey({ runId, kind, name }: SeriesPlace): string {
  return `${kind} ${runId} ${name}`;
}

/** Call what it returns to stop. The answer to an older wish is not heard. */
export function followRecordList(
  wanted: () => SeriesPlace | null,
  hear: (list: RecordList) => void,
  fail: (reason: string) => void,
): () => void {
  return followAsked<RecordList>(
    () => {
      const place = wanted();
      const series = place === null ? undefined : runs.seriesOf(place.runId, place.kind, place.name);
      if (place === null || series === undefined) return null;
      const version = `${series.count} ${series.last_step} ${series.last_time}`;
      const ask = async (): Promise<RecordList> => ({ place, ...(await askRecords(place.runId, place.kind, place.name)) });
      return { key: placeKey(place), version, ask };
    },
    ({ value, problem }) => {
      const place = wanted();
      if (problem !== "") fail(problem);
      else if (value !== null && place !== null && placeKey(value.place) === placeKey(place)) hear(value);
    },
  );
}
