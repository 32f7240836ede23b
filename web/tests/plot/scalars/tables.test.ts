import { describe, expect, it } from "vitest";
import { alarmsOf, describeMark, marksOf } from "../../../src/pages/charts/ChartsPage";
import { tableRows } from "../../../src/plot/scalars/ChartTable";
import { curveOf } from "../../../src/plot/scalars/model";
import { csvOf } from "../../../src/plot/scalars/downloads";
import { rounded } from "../../../src/plot/scalars/plot-keys";
import type { SeriesListing } from "../../../src/wire";
import { bucketData, dataOf, STARTED } from "./samples";

describe("a chart as CSV", () => {
  it("has a row for each point, exact", () => {
    const curve = curveOf(dataOf([0, 3], [0.1 + 0.2, NaN]), null, "step");
    const text = csvOf([{ run: 'a,"b"', name: "loss", curve, started: STARTED }]);
    expect(text.split("\r\n")).toEqual([
      "run,name,step,time,relative_seconds,value,min,max,points,not_finite",
      '"a,""b""",loss,0,1000,0,0.30000000000000004,0.30000000000000004,0.30000000000000004,1,0',
      '"a,""b""",loss,3,1003,3,nan,nan,nan,1,1',
      "",
    ]);
  });

  it("has a row for each bucket, with what it holds", () => {
    const curve = curveOf(bucketData([{ step: 4.5, mean: 2, low: -1, high: 7, count: 10, bad: 1 }]), null, "step");
    expect(csvOf([{ run: "a", name: "x", curve, started: STARTED }])).toContain("a,x,4.5,1004.5,4.5,2,-1,7,10,1");
  });
});

describe("a chart as a table", () => {
  it("has a row for each place, and gaps where a line has none", () => {
    const rows = tableRows([{ x: Float64Array.from([0, 2, 4]) }, { x: Float64Array.from([2, 3]) }]);
    expect(rows).toEqual([
      { x: 0, items: [0, -1] },
      { x: 2, items: [1, 0] },
      { x: 3, items: [-1, 1] },
      { x: 4, items: [2, -1] },
    ]);
  });

  it("loses no item where several stand at one place", () => {
    const rows = tableRows([{ x: Float64Array.from([1, 1, 1]) }, { x: Float64Array.from([1]) }]);
    expect(rows.map(({ items }) => items)).toEqual([
      [0, 0],
      [1, -1],
      [2, -1],
    ]);
  });
});

describe("alarms", () => {
  const series = (name: string, step: number | null, numBad: number): SeriesListing => ({
    kind: "scalar",
    name,
    count: 100,
    last_step: 99,
    last_time: 0,
    last_value: null,
    num_bad: numBad,
    first_bad_step: step,
    description: "",
  });

  it("are the scalars that became NaN, the first ones first", () => {
    const found = alarmsOf([series("b", 70, 3), series("fine", null, 0), series("a", 70, 1), series("c", 5, 2)]);
    expect(found.map(({ name, step }) => [name, step])).toEqual([
      ["c", 5],
      ["a", 70],
      ["b", 70],
    ]);
  });

  it("share a mark where they are near each other", () => {
    const alarms = alarmsOf([5, 6, 50].map((step, at) => series(`s${at}`, step, 1)));
    const marks = marksOf(alarms, 3);
    expect(marks.map(({ step, alarms: all }) => [step, all.length])).toEqual([
      [5, 2],
      [50, 1],
    ]);
    expect(describeMark(marks[0]!, "first")).toBe("s0, s1 of first became NaN or infinite at step 5 (2 values).");
  });

  it("name the first few of many", () => {
    const [mark] = marksOf(alarmsOf(Array.from({ length: 9 }, (_, at) => series(`s${at}`, 5, 1))), 0);
    expect(describeMark(mark!, "r")).toContain("s0, s1, s2 and 6 more of r");
  });
});

describe("a zoom", () => {
  it("is written with as many digits as can be seen", () => {
    expect(rounded({ low: 2157.1234567, high: 5541.98765 })).toEqual({ low: 2157, high: 5542 });
    expect(rounded({ low: 0.123456, high: 0.223456 })).toEqual({ low: 0.1235, high: 0.2235 });
    expect(rounded({ low: 1_794_808_112.25055, high: 1_794_808_119.75055 })).toEqual({
      low: 1_794_808_112.251,
      high: 1_794_808_119.751,
    });
    expect(rounded({ low: 12_345_678, high: 98_765_432 })).toEqual({ low: 12_350_000, high: 98_770_000 });
  });
});
