/** Numbers of items in a table: each leads to its place in the network. */
import { formatCount, formatValue } from "../format";
import { itemName, labelOf, type Items } from "./items";
import { goToItem } from "./ReadingLine";

interface Column {
  readonly title: string;
  readonly values: ArrayLike<number>;
}

const MOST = 200;

export function ItemTable({ items, places, columns }: { items: Items; places: readonly number[]; columns: readonly Column[] }) {
  return (
    <div class="an-table" role="region" aria-label="Table of items" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Item</th>
            {items.labels.length > 0 && <th scope="col">Label</th>}
            {columns.map(({ title }) => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {places.slice(0, MOST).map((place, row) => (
            <tr key={place}>
              <th scope="row">
                <button class="link" title="Show in the network" onClick={() => goToItem(items, place)}>
                  {itemName(items, place)}
                </button>
              </th>
              {items.labels.length > 0 && <td>{labelOf(items, place)}</td>}
              {columns.map(({ title, values }) => (
                <td key={title}>{formatValue(values[row]!, 4)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {places.length > MOST && <p class="muted fs-1">{formatCount(places.length - MOST)} more items are not in the table.</p>}
    </div>
  );
}
