/** What is under the pointer, or where the keys have led, in a line below the pictures. */
import { current, showInNetwork } from "./choosing";
import { itemName, items, labelOf, type Items } from "./items";

/** What else is to be said of the item, such as its coordinates. */
export function ReadingLine({ more }: { more?: (place: number) => string }) {
  const all = items.value;
  const place = current.value;
  if (all === null || place === null || place >= all.steps.length) {
    return <p class="an-reading muted">Point at an item to read it; click it to see it in the network.</p>;
  }
  const extra = more?.(place) ?? "";
  return (
    <p class="an-reading">
      <b>{describe(all, place)}</b>
      {extra !== "" && <span>{extra}</span>}
    </p>
  );
}

export function describe(all: Items, place: number): string {
  const label = labelOf(all, place);
  return label === "" ? itemName(all, place) : `${itemName(all, place)}: ${label}`;
}

export function goToItem(all: Items, place: number): void {
  const [moment, item] = [all.steps[place], all.items[place]];
  if (moment !== undefined && item !== undefined) showInNetwork(moment, item);
}

/** Keys of a picture whose items stand in an order. */
export function stepItem(event: KeyboardEvent, order: readonly number[], all: Items): void {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -order.length, End: order.length }[event.key];
  const place = current.peek();
  if (event.key === "Enter" && place !== null) {
    event.preventDefault();
    goToItem(all, place);
  }
  if (by === undefined || order.length === 0) return;
  event.preventDefault();
  event.stopPropagation();
  const at = place === null ? -1 : order.indexOf(place);
  const next = at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + by * (event.shiftKey ? 10 : 1)));
  current.value = order[next] ?? null;
}
