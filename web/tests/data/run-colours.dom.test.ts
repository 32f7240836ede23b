import { beforeEach, expect, test } from "vitest";
import { recall, remember } from "../../src/data/remembered";
import { colourSlots, NUM_COLOURS } from "../../src/data/run-colours";
import { runWith } from "../run-listings";

const runs = Array.from({ length: 20 }, (_, at) => runWith({ id: `r${at}`, started: at }));

beforeEach(() => localStorage.clear());

test("colours are used evenly, in the order in which runs began", () => {
  const slots = colourSlots([...runs].reverse());
  expect(runs.slice(0, NUM_COLOURS).map(({ id }) => slots.get(id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const uses = new Map<number, number>();
  for (const slot of slots.values()) uses.set(slot, (uses.get(slot) ?? 0) + 1);
  expect(Math.max(...uses.values()) - Math.min(...uses.values())).toBeLessThanOrEqual(1);
});

test("a run keeps its colour on the next visit, whatever other runs there are then", () => {
  const before = colourSlots(runs.slice(0, 5)).get("r3");
  const later = [...runs, runWith({ id: "older", started: -5 })];
  expect(colourSlots(later).get("r3")).toBe(before);
});

test.each(["{", "null", "5", '{"a": 1}', '[["r0", 99], ["r1"], [3, 4], "x", ["r2", "1"], ["r3", 1.5]]'])(
  "whatever stands in the memory, every run has a colour: %s",
  (text) => {
    remember("run-colours", text);
    for (const slot of colourSlots(runs).values()) {
      expect(slot).toBeGreaterThanOrEqual(1);
      expect(slot).toBeLessThanOrEqual(NUM_COLOURS);
    }
  },
);

test("what is remembered has an end", () => {
  colourSlots(Array.from({ length: 2500 }, (_, at) => runWith({ id: `m${at}`, started: at })));
  const known = JSON.parse(recall("run-colours")!) as unknown[];
  expect(known.length).toBe(2000);
  expect(known.at(-1)).toEqual(["m2499", expect.any(Number)]);
});

test("chosen runs are told apart as long as there are colours for them, and keep what they were given", () => {
  const all = runs.slice(0, 12);
  const before = colourSlots(all);
  expect(before.get("r0")).toBe(before.get("r8"));

  const chosen = colourSlots(all, new Set(["r0", "r8", "r3"]));

  expect(new Set(["r0", "r8", "r3"].map((id) => chosen.get(id))).size).toBe(3);
  expect(chosen.get("r0")).toBe(before.get("r0"));
  expect(colourSlots(all).get("r8")).toBe(chosen.get("r8"));
});
