import { beforeEach, expect, test, vi } from "vitest";
import { startKeys } from "../../src/app/keys";
import { route } from "../../src/data/route";
import * as store from "../../src/data/store";
import { isForField, keysShown, onItemStep, placeSearch } from "../../src/ui/keys";
import { FakeRuns } from "../run-listings";
import { documentWith, opWith, scopeWith } from "../samples";

startKeys();

function press(key: string, parts: KeyboardEventInit = {}, target: EventTarget = document.body): void {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...parts }));
}

beforeEach(() => {
  route.value = { view: null, params: new Map() };
  document.body.replaceChildren();
  keysShown.value = false;
  store.showPass(
    documentWith({
      ops: [0, 1].map((layer) => opWith({ layer, label: `relu_${layer}`, scope: 1 })),
      scopes: [
        scopeWith({ num_ops: 2 }),
        scopeWith({ parent: 0, address: "block", name: "Block", num_ops: 2 }),
      ],
    }),
    "0",
  );
});

test("e opens and closes the selected module, and does nothing to an op", () => {
  const block = store.hierarchy.value!.nodeOfScope[1]!;
  store.select(block);
  press("e");
  expect(store.openGroups.value.has(block)).toBe(true);
  press("e");
  expect(store.openGroups.value.has(block)).toBe(false);
  const before = store.openGroups.value;
  store.select(store.hierarchy.value!.nodeOfOp[0]!);
  press("e");
  expect(store.openGroups.value).toBe(before);
});

test("escape closes the keys first, then clears the selection", () => {
  store.select(store.hierarchy.value!.nodeOfOp[0]!);
  press("?");
  expect(keysShown.value).toBe(true);
  press("Escape");
  expect(keysShown.value).toBe(false);
  expect(store.selected.value).not.toBeNull();
  press("Escape");
  expect(store.selected.value).toBeNull();
});

test("letters are off while somebody types", () => {
  const field = document.createElement("input");
  document.body.append(field);
  press("?", {}, field);
  expect(keysShown.value).toBe(false);
});

function fieldOf(type: string): HTMLInputElement {
  const field = document.createElement("input");
  field.type = type;
  document.body.append(field);
  return field;
}

test.each([
  ["checkbox", [" "], ["0", "f", "ArrowLeft", "Home"]],
  ["radio", [" ", "ArrowUp", "ArrowRight"], ["0", "f", "Home"]],
  ["range", [" ", "ArrowUp", "ArrowLeft", "Home", "PageDown"], ["0", "1", "f", "?"]],
  ["text", [" ", "0", "f", "Home", "?"], []],
  ["number", ["0", "-", "ArrowUp"], []],
])("of a field of the type %s some keys are its own, and no others", (type, own, others) => {
  const target = fieldOf(type);
  expect(own.filter((key) => isForField({ target, key }))).toEqual(own);
  expect(others.filter((key) => isForField({ target, key }))).toEqual([]);
});

test("a list to choose from has all keys: letters find its entries", () => {
  const target = document.body.appendChild(document.createElement("select"));
  expect(isForField({ target, key: "f" })).toBe(true);
  expect(isForField({ target: document.body, key: "f" })).toBe(false);
});

test("a search field that was asked for in vain does not take the focus long after", () => {
  vi.useFakeTimers();
  press("/");
  vi.advanceTimersByTime(500);
  const soon = fieldOf("text");
  placeSearch(soon);
  expect(document.activeElement).toBe(soon);
  placeSearch(null);
  soon.remove();
  press("/");
  vi.advanceTimersByTime(5000);
  const late = fieldOf("text");
  placeSearch(late);
  expect(document.activeElement).not.toBe(late);
  placeSearch(null);
  vi.useRealTimers();
});

test("shortcuts of the browser are left to it", () => {
  press("?", { ctrlKey: true });
  press("?", { metaKey: true });
  expect(keysShown.value).toBe(false);
});

test("brackets step through the items, also where they take Alt, and every step is told", () => {
  const steps: number[] = [];
  const stop = onItemStep((by) => steps.push(by));
  press("]");
  press("]");
  press("[", { altKey: true });
  expect(steps).toEqual([1, 1, -1]);
  stop();
  press("]");
  expect(steps.length).toBe(3);
});

test("g and a letter go to a view, where there are runs, and only soon after each other", () => {
  const source = new FakeRuns();
  store.source.value = source;
  route.value = { view: "runs", params: new Map() };
  press("g");
  press("t");
  expect(route.value.view).toBe("training");
  press("g");
  press("g");
  expect(route.value.view).toBe("graph");
  press("g");
  press("x");
  press("r");
  expect(route.value.view).toBe("graph");
  source.connection.value = { state: "one-file" };
  press("g");
  press("t");
  expect(route.value.view).toBe("graph");
  source.connection.value = { state: "connected" };
  source.hasRuns.value = false;
  press("g");
  press("t");
  expect(route.value.view).toBe("graph");
  store.source.value = null;
});

test("the keys of the graph mean nothing in other views", () => {
  store.source.value = new FakeRuns();
  const block = store.hierarchy.value!.nodeOfScope[1]!;
  store.select(block);
  route.value = { view: "training", params: new Map() };
  press("e");
  press("Escape");
  expect(store.openGroups.value.has(block)).toBe(false);
  expect(store.selected.value).toBe(block);
  store.source.value = null;
});

test("g and l go to the lessons, where there are some", () => {
  const source = new FakeRuns();
  store.source.value = source;
  route.value = { view: "runs", params: new Map() };
  press("g");
  press("l");
  expect(route.value.view).toBe("runs");
  source.hasLessons.value = true;
  press("g");
  press("l");
  expect(route.value.view).toBe("learn");
});
