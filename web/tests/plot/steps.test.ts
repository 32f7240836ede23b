import { expect, test } from "vitest";
import { pinKey, placeOf, readPins, recordAt, stepsOf, writePins } from "../../src/plot/useRecords";
import type { RecordListing } from "../../src/wire";

function at(step: number, time = 0): RecordListing {
  return {
    record: `rank-0:${step}:${time}`,
    step,
    time,
    num_bytes: 0,
    head: { kind: "text", num_characters: 0 },
  };
}

const byRun = new Map([
  ["a", { records: [at(0), at(10), at(20)], numAll: 3 }],
  ["b", { records: [at(5), at(10), at(10, 1)], numAll: 3 }],
]);

test("the slider has every step that any run has, once", () => {
  expect(stepsOf(byRun)).toEqual([0, 5, 10, 20]);
});

test("a step that is gone shows the last one before it; none follows the newest", () => {
  const steps = [0, 5, 10, 20];
  expect(placeOf(steps, null)).toBe(3);
  expect(placeOf(steps, 10)).toBe(2);
  expect(placeOf(steps, 12)).toBe(2);
  expect(placeOf(steps, -1)).toBe(0);
  expect(placeOf(steps, 99)).toBe(3);
});

test("a run shows the newest record that is not after the step; one that begins later shows none", () => {
  expect(recordAt(byRun.get("b")!.records, 10)?.time).toBe(1);
  expect(recordAt(byRun.get("b")!.records, 19)?.step).toBe(10);
  expect(recordAt(byRun.get("b")!.records, 4)).toBeNull();
});

test("pinned steps come back from the address, whatever the names are", () => {
  const pins = new Map([
    [pinKey("image", "val/samples"), 200],
    [pinKey("text", "a,b~c%2c<script>~"), 0],
    [pinKey("audio", "x"), -3],
  ]);
  expect(readPins(writePins(pins))).toEqual(pins);
});

test("an address that somebody broke pins nothing", () => {
  for (const text of ["", ",", "~", "image a~", "image a~x", "~5", "image a~1.5"])
    expect(readPins(text).size).toBe(0);
});
