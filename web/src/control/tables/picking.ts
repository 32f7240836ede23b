/** Which item of the test set somebody has picked from the table of trials. */
import { computed, signal } from "@preact/signals";
import * as net from "../../netview/store";
import { testItem } from "../acting";
import { reasonAgainst } from "../sending";
import { itemText } from "../stepping";
import { announceTable } from "./showing";
import { cellOf, numberIn, type Row } from "./tabledata";
import { TEST_ITEMS } from "./tablelist";

/** Null for none. */
export const pickedItem = signal<number | null>(null);

export function itemOf(row: Row): number {
  return numberIn(cellOf(row, "trial")) ?? row.at;
}

/** Show the item in the network, by testing it there. While something else is under way it is only marked. */
export function pick(row: Row): void {
  const item = itemOf(row);
  pickedItem.value = item;
  itemText.value = String(item);
  // It is the only one of its batch there.
  net.item.value = 0;
  if (reasonAgainst("test") === "") announceTable(TEST_ITEMS);
  testItem(item);
}

/** What pressing a row does, or why it only marks it. */
export const pickHint = computed(() => reasonAgainst("test") || "Test this item, and see it in the network");

export function isPicked(row: Row): boolean {
  return itemOf(row) === pickedItem.value;
}
