/** The records of a series, asked for again whenever it has more. */
import type { RecordKind } from "../wire";
import { askRecords, type Records } from "./requests";
import { seriesOf } from "./runs";
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
  let key = "";
  return followAsked<RecordList>(
    () => {
      const place = wanted();
      const series = place === null ? undefined : seriesOf(place.runId, place.kind, place.name);
      if (place === null || series === undefined) return null;
      key = placeKey(place);
      const version = `${series.count} ${series.last_step} ${series.last_time}`;
      const ask = async (): Promise<RecordList> => ({ place, ...(await askRecords(place.runId, place.kind, place.name)) });
      return { key, version, ask };
    },
    ({ value, problem }) => {
      if (problem !== "") fail(problem);
      else if (value !== null && placeKey(value.place) === key) hear(value);
    },
  );
}
