/** Keys that parts of the page share: whose they are while somebody types, the search field, steps through items. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { shownArea } from "../data/views";
import { setPanel } from "./panels";

export const keysShown = signal(false);

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

export function stepItems(by: number): void {
  for (const step of itemSteppers) step(by);
}

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

/** Do what a key stands for, and let nobody else hear of it; false where it stands for nothing here. */
export function actOn(event: KeyboardEvent, actions: Readonly<Record<string, (() => void) | undefined>>): boolean {
  const action = actions[event.key];
  if (action === undefined) return false;
  event.preventDefault();
  event.stopPropagation();
  action();
  return true;
}

/** Keys of the page, for as long as the part that has them is there: what nobody else has taken, and is not typed. */
export function usePageKeys(handle: (event: KeyboardEvent) => boolean, isFirst = false): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isOther = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey;
      if (!isOther && !isForField(event) && latest.current(event)) event.preventDefault();
    };
    addEventListener("keydown", onKeyDown, isFirst);
    return () => removeEventListener("keydown", onKeyDown, isFirst);
  }, []);
}
