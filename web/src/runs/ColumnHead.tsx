/** The head of a column: a button that sorts by it. */
import { nextOrder } from "./sorting";
import { order, sortBy } from "./runtable";

interface Props {
  column: string;
  title: string;
  style: string;
}

export function ColumnHead({ column, title, style }: Props) {
  const now = order.value;
  const isSorted = now.column === column;
  return (
    <th
      class={style}
      scope="col"
      aria-sort={isSorted ? (now.isDown ? "descending" : "ascending") : undefined}
    >
      <button title={`Sort by ${title}`} onClick={() => sortBy(nextOrder(now, column))}>
        <span class="clip">{title}</span>
        {isSorted && <span aria-hidden="true">{now.isDown ? "\u2193" : "\u2191"}</span>}
      </button>
    </th>
  );
}
