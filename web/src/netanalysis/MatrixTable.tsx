/** The same matrix as numbers, as far as a table can be read. */
import { formatCount, formatValue } from "../format";
import { describe, goToItem } from "./ReadingLine";
import { itemName, type Items } from "./items";
import { rowsOf, type Matrix } from "./matrix";

const MOST = 48;

export function MatrixTable({ matrix, items, order }: { matrix: Matrix; items: Items; order: readonly number[] }) {
  const shown = order.slice(0, MOST);
  const rows = rowsOf(matrix, shown);
  return (
    <div class="an-table" role="region" aria-label="Matrix of items" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Item</th>
            {shown.map((place) => (
              <th scope="col" key={place}>
                {itemName(items, place)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((place, at) => (
            <tr key={place}>
              <th scope="row">
                <button class="link" title="Show in the network" onClick={() => goToItem(items, place)}>
                  {describe(items, place)}
                </button>
              </th>
              {rows.map((column) => (
                <td key={column}>{formatValue(matrix.values[rows[at]! * matrix.places.length + column]!, 3)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {order.length > MOST && <p class="muted fs-1">{formatCount(order.length - MOST)} more items are not in the table.</p>}
    </div>
  );
}
