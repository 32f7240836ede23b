/** What the inspector remembers from one op to the next: the tab. */
import { signal } from "@preact/signals";
import type { TabName } from "./subjects";

export const tabChosen = signal<TabName>("Output");
