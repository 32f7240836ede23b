/** The keys of the page as a whole. Keys of one part are handled by that part. */
import { signal } from "@preact/signals";
import { handleKey } from "../graph/keyboard";
import * as store from "../store";
import { setPanel } from "./panels";

export const keysShown = signal(false);

/** The search field, while it is in the page. */
export const searchField: { current: HTMLInputElement | null } = { current: null };

/** Was the search field asked for before it was there? It then takes the focus when it comes. */
let isSearchAsked = false;

/** Who wants to know of a step to the item before (−1) or after (+1). No signal: every single step counts. */
const itemSteppers = new Set<(by: number) => void>();

/** Listen for steps through the items; call what it returns to stop. */
export function onItemStep(step: (by: number) => void): () => void {
  itemSteppers.add(step);
  return () => itemSteppers.delete(step);
}

function stepItems(by: number): void {
  for (const step of itemSteppers) step(by);
}

export interface KeyRow {
  readonly keys: readonly string[];
  readonly action: string;
}

export const KEY_TABLE: readonly { readonly title: string; readonly rows: readonly KeyRow[] }[] = [
  {
    title: "Anywhere",
    rows: [
      { keys: ["/"], action: "Find a module or op" },
      { keys: ["e"], action: "Open or close the selected module" },
      { keys: ["["], action: "Batch item before" },
      { keys: ["]"], action: "Batch item after" },
      { keys: ["Esc"], action: "Clear the selection, close" },
      { keys: ["?"], action: "Show all keys" },
    ],
  },
  {
    title: "Graph",
    rows: [
      { keys: ["↑", "↓"], action: "Along the edges, against and with the flow" },
      { keys: ["←", "→"], action: "To a neighbour" },
      { keys: ["Enter"], action: "Open the module, show the op" },
      { keys: ["Home", "End"], action: "First, last op" },
      { keys: ["0"], action: "Fit the graph" },
      { keys: ["+", "−"], action: "Zoom" },
    ],
  },
  {
    title: "Lists",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["→", "←"], action: "Open, close" },
      { keys: ["Enter"], action: "Show in the graph" },
      { keys: ["Home", "End"], action: "First, last" },
    ],
  },
];

const ACTIONS: Record<string, () => void> = {
  "/": askForSearch,
  "?": () => (keysShown.value = !keysShown.value),
  "[": () => stepItems(-1),
  "]": () => stepItems(1),
  e: toggleSelected,
  Escape: clear,
};

export function askForSearch(): void {
  setPanel("left", true);
  // At once, so that what is typed next goes into it.
  if (searchField.current === null) isSearchAsked = true;
  else focusSearch(searchField.current);
}

/** Tell that the field is there, or that it is gone. */
export function placeSearch(field: HTMLInputElement | null): void {
  searchField.current = field;
  if (field !== null && isSearchAsked) focusSearch(field);
  if (field !== null) isSearchAsked = false;
}

function focusSearch(field: HTMLInputElement): void {
  field.focus();
  field.select();
}

function toggleSelected(): void {
  const key = store.selected.value;
  if (key !== null && store.hierarchy.value?.nodes.get(key)?.kind === "group") store.toggle(key);
}

function clear(): void {
  if (keysShown.value) keysShown.value = false;
  else store.select(null);
}

/** Letters are off while somebody types. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Is it a shortcut of the browser? On many keyboards brackets take Alt or AltGr: those are still brackets. */
function isBrowserShortcut(event: KeyboardEvent): boolean {
  if (event.getModifierState("AltGraph")) return false;
  if (event.ctrlKey || event.metaKey) return true;
  return event.altKey && !["[", "]", "/", "?"].includes(event.key);
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isBrowserShortcut(event) || isTyping(event.target)) return;
    const action = ACTIONS[event.key];
    if (action !== undefined) {
      event.preventDefault();
      action();
    } else if (event.target === document.body) {
      // Where nothing has the focus, the drawing has it.
      handleKey(event);
    }
  });
}
