/** Which record of each run belongs to the step that is looked at. */
import type { Holder } from "./series";
import type { RecordWanted } from "./useFullRecords";
import type { Stepped } from "./useRecords";

export function wantedOf(holders: readonly Holder[], stepped: Pick<Stepped, "recordOf">): RecordWanted[] {
  return holders.flatMap(({ run }) => {
    const listing = stepped.recordOf(run.id);
    return listing === null ? [] : [{ runId: run.id, listing }];
  });
}
