/** The keys of the page as a whole. Keys of one part are handled by that part. */
import { go } from "../data/route";
import * as store from "../data/store";
import { type Area, areas, shownArea } from "../data/views";
import { handleKey } from "../pages/graph/drawing/pointer";
import { askForSearch, isForField, keysShown, stepItems } from "../ui/keys";

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

function toggleSelected(): void {
  const key = store.selected.value;
  if (key !== null && store.hierarchy.value?.nodes.get(key)?.kind === "group") store.toggle(key);
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

export function letterOf(area: Area): string {
  return Object.keys(PLACES).find((letter) => PLACES[letter] === area)!;
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
