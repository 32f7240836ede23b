/** The keys of the page as a whole. Keys of one part are handled by that part. */
import { signal } from "@preact/signals";
import { handleKey } from "../graph/pointer";
import { go } from "../route";
import * as store from "../store";
import { setPanel } from "./panels";
import { type Area, areas, shownArea } from "./views";

export const keysShown = signal(false);

/** The search field, while it is in the page. */
export const searchField: { current: HTMLInputElement | null } = { current: null };

/** When the search field was asked for before it was there: it takes the focus if it comes soon. */
let searchAsked = -Infinity;
const WAIT_FOR_SEARCH_MS = 1000;

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

const ACTIONS: Record<string, () => void> = {
  "/": askForSearch,
  "?": () => (keysShown.value = !keysShown.value),
};

/** Those of a pass: in the other views they mean something else, or nothing. */
const GRAPH_ACTIONS: Record<string, () => void> = {
  "[": () => stepItems(-1),
  "]": () => stepItems(1),
  e: toggleSelected,
  Escape: () => store.select(null),
};

/** After a `g`. */
const PLACES: Record<string, Area> = { r: "runs", g: "graph", n: "netview", c: "control", t: "training", f: "features", l: "learn" };
const WAIT_FOR_PLACE_MS = 1500;

/** When `g` was pressed; what is pressed soon after it names a view. */
let goPressed = -Infinity;

export function askForSearch(): void {
  // Their panels have nothing to search in.
  if (shownArea.value === "control" || shownArea.value === "learn") return;
  if (searchField.current === null) setPanel("left", true);
  // At once, so that what is typed next goes into it.
  if (searchField.current === null) searchAsked = Date.now();
  else focusSearch(searchField.current);
}

/** Tell that the field is there, or that it is gone. */
export function placeSearch(field: HTMLInputElement | null): void {
  searchField.current = field;
  if (field === null) return;
  if (Date.now() - searchAsked < WAIT_FOR_SEARCH_MS) focusSearch(field);
  searchAsked = -Infinity;
}

function focusSearch(field: HTMLInputElement): void {
  field.focus();
  field.select();
}

function toggleSelected(): void {
  const key = store.selected.value;
  if (key !== null && store.hierarchy.value?.nodes.get(key)?.kind === "group") store.toggle(key);
}

/** Fields into which nothing is typed, and the keys that they have for themselves. */
const FIELD_KEYS: Readonly<Record<string, readonly string[]>> = {
  checkbox: [" "],
  radio: [" ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
  range: [" ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"],
};

/** Does the key belong to the field that has the focus? All of them while somebody types, some where it is a slider or a box to tick. */
export function isForField({ target, key }: Pick<KeyboardEvent, "target" | "key">): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return FIELD_KEYS[target.type]?.includes(key) ?? true;
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Is it a shortcut of the browser? On many keyboards brackets take Alt or AltGr: those are still brackets. */
function isBrowserShortcut(event: KeyboardEvent): boolean {
  if (event.getModifierState("AltGraph")) return false;
  if (event.ctrlKey || event.metaKey) return true;
  return event.altKey && !["[", "]", "/", "?"].includes(event.key);
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isBrowserShortcut(event) || isForField(event)) return;
    const action = actionOf(event.key);
    if (action !== undefined) {
      event.preventDefault();
      action();
    } else if (event.target === document.body && shownArea.value === "graph") {
      // Where nothing has the focus, the drawing has it.
      handleKey(event);
    }
  });
}

/** Are there other views to go to? A page that is one file has one. */
export function hasPlaces(): boolean {
  return areas.value.length > 1;
}

function actionOf(key: string): (() => void) | undefined {
  const isPlace = Date.now() - goPressed < WAIT_FOR_PLACE_MS;
  goPressed = -Infinity;
  if (hasPlaces()) {
    const place = PLACES[key];
    if (isPlace && place !== undefined && areas.value.includes(place)) return () => go(place);
    if (key === "g") return () => (goPressed = Date.now());
  }
  if (key === "Escape" && keysShown.value) return () => (keysShown.value = false);
  return ACTIONS[key] ?? (shownArea.value === "graph" ? GRAPH_ACTIONS[key] : undefined);
}
