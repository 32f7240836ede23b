/** Follow a table over some runs: what is known of it stays until more comes. */
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import * as store from "../../store";
import { NO_ROWS, withAnswer, type TableData } from "./tabledata";

/** The server answers for no more runs at a time. */
export const MOST_RUNS = 256;

export interface Followed {
  readonly data: TableData;
  /** Has the server said what there is? */
  readonly isAnswered: boolean;
  /** What a reader must know: why there is nothing, or that not all is here. */
  readonly note: string;
}

export interface TableWish {
  readonly name: string;
  readonly runIds: readonly string[];
  /** Of each run only the rows that were logged last. */
  readonly isOnlyLast: boolean;
}

const NOTHING: Followed = { data: NO_ROWS, isAnswered: false, note: "" };

export function useTable({ name, runIds, isOnlyLast }: TableWish): ReadonlySignal<Followed> {
  const followed = useSignal<Followed>(NOTHING);
  const source = store.source.value;
  useEffect(() => {
    if (source === null || runIds.length === 0) {
      followed.value = { ...NOTHING, isAnswered: true };
      return undefined;
    }
    // What was known of the same runs stays until the first answer voids it.
    let data = followed.peek().data;
    return source.follow(
      { type: "table", run_ids: [...runIds], name, only_last: isOnlyLast },
      {
        hear: ({ answer }) => {
          if (answer.type !== "table") return;
          data = withAnswer(data, answer, runIds, isOnlyLast);
          followed.value = { data, isAnswered: true, note: answer.note };
        },
        refuse: (note) => (followed.value = { ...followed.peek(), isAnswered: true, note }),
      },
    );
  }, [source, name, runIds.join(), isOnlyLast]);
  return followed;
}
