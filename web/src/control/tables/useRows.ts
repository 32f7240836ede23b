/** The rows of a table in the order and with the filter that somebody chose. */
import { useMemo, useState } from "preact/hooks";
import type { ShownColumn } from "./columns";
import { inOrder, nextOrder, type Order } from "./ordering";
import { ERROR, isWrong, type Row, type TableData } from "./tabledata";

export interface Rows {
  readonly rows: readonly Row[];
  /** Null where the table does not say what was wrong. */
  readonly numWrong: number | null;
  readonly isOnlyWrong: boolean;
  readonly showOnlyWrong: (isWanted: boolean) => void;
  readonly order: Order | null;
  readonly sort: (column: ShownColumn) => void;
}

/** `isGrowing`: what is added row by row is read from its end. */
export function useRows(data: TableData, isGrowing: boolean): Rows {
  const [isWanted, showOnlyWrong] = useState(false);
  const [order, setOrder] = useState<Order | null>(null);
  const hasErrors = data.columns.some(({ name }) => name === ERROR);
  const isOnlyWrong = isWanted && hasErrors;
  const wrong = useMemo(() => (hasErrors ? data.rows.filter(isWrong) : []), [data]);
  const rows = useMemo(() => {
    const passed = isOnlyWrong ? wrong : data.rows;
    return inOrder(isGrowing && order === null ? [...passed].reverse() : passed, order);
  }, [data, isOnlyWrong, order, isGrowing]);
  return {
    rows,
    numWrong: hasErrors ? wrong.length : null,
    isOnlyWrong,
    showOnlyWrong,
    order,
    sort: ({ key, form }) => setOrder(nextOrder(order, key, form !== "text")),
  };
}
