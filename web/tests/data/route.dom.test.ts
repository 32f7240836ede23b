import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  addressOf,
  go,
  nameView,
  param,
  readRoute,
  route,
  setParams,
  startRoute,
  writeRoute,
} from "../../src/data/route";

startRoute();

beforeEach(() => {
  vi.useFakeTimers();
  route.value = { view: "runs", params: new Map() };
  history.replaceState(null, "", "#runs");
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

/** A link with an element in it. */
function placeLink(href: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.append(document.createElement("b"));
  document.body.replaceChildren(link);
}

const names = ["a b", "ä/ß", "100%", "?&=#+", 'say "hi"', "<b>x</b>", "emoji 🔥", "layers.0:1,2"];

test.each(names)("whatever a parameter holds comes back from the address: %s", (text) => {
  const there = { view: "training" as const, params: new Map([["q", text]]) };
  expect(readRoute(writeRoute(there))).toEqual(there);
});

test.each([
  "#nowhere?x=1",
  "#",
  "",
  "#?%",
  "#%E0%A4%A",
  "#runs?&&==%",
  "##runs",
  "#__proto__",
  "#constructor",
])("an address that nobody wrote breaks nothing: %s", (hash) => {
  expect(["runs", null]).toContain(readRoute(hash).view);
});

test("lists of runs can be read in the address", () => {
  expect(addressOf("training", { runs: "a1,b2" })).toBe("#training?runs=a1,b2");
});

test("the chosen runs stay when the view changes, its own options do not go along", () => {
  setParams({ runs: "a,b", q: "resnet" });
  expect(addressOf("training")).toBe("#training?runs=a,b");
});

test("a view comes back as it was left, with the runs that are chosen now", () => {
  setParams({ runs: "a", q: "resnet" });
  go("training");
  setParams({ smooth: "0.9", runs: "a,b" });
  go("runs");
  expect(param("q")).toBe("resnet");
  expect(param("runs")).toBe("a,b");
  expect(addressOf("training")).toBe("#training?runs=a,b&smooth=0.9");
});

test("a link to a thing shows that thing, and nothing of an earlier visit", () => {
  go("graph", { pass: "p1", sel: "o3" });
  go("runs");
  expect(addressOf("graph", { pass: "p2" })).toBe("#graph?pass=p2");
});

test("another choice of runs leaves the options of the view", () => {
  go("training", { smooth: "0.5" });
  go("runs");
  expect(addressOf("training", { runs: "z" })).toBe("#training?smooth=0.5&runs=z");
});

test("what changes quickly is shown at once and written now and then, and nothing is lost", () => {
  const write = vi.spyOn(history, "replaceState");
  for (let step = 0; step < 50; step++) {
    setParams({ smooth: String(step) });
    expect(param("smooth")).toBe(String(step));
    vi.advanceTimersByTime(16);
  }
  vi.runAllTimers();
  expect(write.mock.calls.length).toBeLessThan(10);
  expect(location.hash).toBe("#runs?smooth=49");
  write.mockRestore();
});

test("what was not written yet is written before the page goes on to another view", () => {
  const write = vi.spyOn(history, "replaceState");
  setParams({ q: "a" });
  setParams({ q: "ab" });
  go("training");
  expect(write.mock.calls.at(-1)?.[2]).toBe("#runs?q=ab");
  expect(location.hash).toMatch(/^#training/);
  write.mockRestore();
});

test("an address typed by hand is followed", () => {
  history.replaceState(null, "", "#graph?pass=p9");
  dispatchEvent(new Event("hashchange"));
  expect(route.value.view).toBe("graph");
  expect(param("pass")).toBe("p9");
});

test("a link of the page is followed without leaving it, also where there is no address to write", () => {
  const write = vi.spyOn(history, "pushState").mockImplementation(() => {
    throw new DOMException("no", "SecurityError");
  });
  placeLink("#training?runs=x");
  const event = new MouseEvent("click", { bubbles: true, cancelable: true });
  document.querySelector("b")!.dispatchEvent(event);
  expect(event.defaultPrevented).toBe(true);
  expect(route.value.view).toBe("training");
  expect(param("runs")).toBe("x");
  write.mockRestore();
});

test("a click that opens a new tab is left to the browser", () => {
  placeLink("#training");
  const event = new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true });
  document.querySelector("a")!.dispatchEvent(event);
  expect(event.defaultPrevented).toBe(false);
});

test("a view is named only where the address names none", () => {
  nameView("training");
  expect(route.value.view).toBe("runs");
  route.value = { view: null, params: new Map([["q", "x"]]) };
  nameView("runs");
  expect(writeRoute(route.value)).toBe("#runs?q=x");
});
