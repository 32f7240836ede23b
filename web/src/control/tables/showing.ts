/** Which table stands under the tabs, and which of the others has something that nobody has seen yet. */
import { signal } from "@preact/signals";
import { TRAIN_EPOCHS } from "./tablelist";

/** Also of a table that is on its way: it opens when it is there. */
export const chosenTable = signal(TRAIN_EPOCHS);

/** Empty for none. */
export const newTable = signal("");

export function chooseTable(name: string): void {
  chosenTable.value = name;
  if (newTable.peek() === name) newTable.value = "";
}

/** Something was added to a table while somebody works in another: they stay there. */
export function announceTable(name: string): void {
  if (chosenTable.peek() !== name) newTable.value = name;
}
