/** The head of a column: a button that sorts by it or, of pictures, what their colours stand for. */
import { formatValue } from "../../format";
import type { Scale } from "../../tensor/colour";
import type { ShownColumn } from "./columns";
import type { Order } from "./ordering";

interface Props {
  column: ShownColumn;
  /** Where the rows are sorted by it. */
  order: Order | null;
  scale: Scale | null;
  /** Are the pictures in colours of their own? */
  isColour: boolean;
  onSort: () => void;
}

export function ColumnHead({ column: { title, form }, order, scale, isColour, onSort }: Props) {
  if (form === "tensor") {
    return (
      <th scope="col" class="text">
        <span class="clip">{title}</span>
        {scale !== null && <ScaleLine scale={scale} isColour={isColour} />}
      </th>
    );
  }
  return (
    <th
      scope="col"
      class={form === "text" ? "text" : "num"}
      aria-sort={order === null ? undefined : order.isDown ? "descending" : "ascending"}
    >
      <button title={`Sort by ${title}`} onClick={onSort}>
        <span>{title}</span>
        {order !== null && <span aria-hidden="true">{order.isDown ? "\u2193" : "\u2191"}</span>}
      </button>
    </th>
  );
}

function ScaleLine({ scale: { map, low, high }, isColour }: { scale: Scale; isColour: boolean }) {
  return (
    <span class="column-scale" role="img" aria-label={`Colours from ${formatValue(low)} to ${formatValue(high)}`}>
      <span aria-hidden="true">{formatValue(low, 2)}</span>
      <i class={isColour ? "ramp rgb" : `ramp smooth ${map}`} />
      <span aria-hidden="true">{formatValue(high, 2)}</span>
    </span>
  );
}
