import { describe, expect, it } from "vitest";
import { buildModel, type Lookup, type Model } from "../../src/training/model";
import { describeReading, readingsAt, summarize } from "../../src/training/readings";
import type { SeriesData } from "../../src/training/seriesdata";
import { bucketData, chartOf, dataOf, runOf, sourcesOf, wish } from "./samples";

function lookupIn(all: Record<string, SeriesData>): Lookup {
  return (runId, name) => {
    const data = all[`${runId} ${name}`];
    return data === undefined ? null : sourcesOf(data);
  };
}

function modelOf(all: Record<string, SeriesData>, changes: Parameters<typeof wish>[0] = {}): Model {
  const ids = [...new Set(Object.keys(all).map((key) => key.split(" ")[0]!))];
  return buildModel(chartOf("loss"), ids.map((id) => runOf(id)), lookupIn(all), wish(changes));
}

describe("a chart", () => {
  it("has a line for each run that has the scalar", () => {
    const model = modelOf({ "a loss": dataOf([0, 1], [3, 2]), "b acc": dataOf([0], [1]) });
    expect(model.lines.map(({ run }) => run.id)).toEqual(["a"]);
    expect(model.x).toMatchObject({ low: 0, high: 1 });
  });

  it("dashes lines from the fifth on", () => {
    const all = Object.fromEntries(Array.from({ length: 9 }, (_, at) => `r${at}`).map((id) => [`${id} loss`, dataOf([0], [1])]));
    const dashes = modelOf(all).lines.map(({ dash }) => dash.join(" "));
    expect(new Set(dashes.slice(0, 4))).toEqual(new Set([""]));
    expect(dashes[4]).not.toBe("");
    expect(dashes[8]).not.toBe(dashes[4]);
  });

  it("tells the lines of one run apart by dashes", () => {
    const lookup = lookupIn({ "a sin": dataOf([0], [1]), "a cos": dataOf([0], [1]) });
    const { lines } = buildModel(chartOf("sin", "cos"), [runOf("a")], lookup, wish());
    expect(lines.map(({ label }) => label)).toEqual(["sin · run a", "cos · run a"]);
    expect(lines[0]!.dash).not.toEqual(lines[1]!.dash);
  });

  it("has a margin between its lower and upper end", () => {
    const chart = { ...chartOf("mid", "low", "high"), form: "margin" as const };
    const lookup = lookupIn({ "a mid": dataOf([0], [5]), "a low": dataOf([0], [1]), "a high": dataOf([0], [9]) });
    const { lines, y } = buildModel(chart, [runOf("a")], lookup, wish());
    expect(lines).toHaveLength(1);
    expect(lines[0]!.margin?.map((curve) => curve.mean[0])).toEqual([1, 9]);
    expect(y!.low).toBeLessThanOrEqual(1);
    expect(y!.high).toBeGreaterThanOrEqual(9);
  });

  it("shows the part of the axis that is zoomed", () => {
    const model = modelOf({ "a loss": dataOf([0, 50, 100], [1, 2, 3]) }, { zoom: { low: 40, high: 60 } });
    expect(model.x).toMatchObject({ low: 40, high: 60 });
    expect(model.extent).toEqual({ low: 0, high: 100 });
  });

  it("says why there is nothing to see", () => {
    expect(modelOf({ "a loss": dataOf([0], [NaN]) }).note).toContain("NaN");
    expect(modelOf({ "a loss": dataOf([1], [-1]) }, { isLogY: true }).note).toContain("above 0");
    expect(modelOf({ "a loss": dataOf([0], [1]) }, { isLogX: true }).note).toContain("above 0");
    expect(modelOf({ "a loss": dataOf([0, 9], [1, 1]) }, { zoom: { low: 20, high: 30 } }).note).toContain("range");
    expect(modelOf({ "a loss": dataOf([], []) })).toMatchObject({ x: null, note: "" });
  });

  it("knows which lines are still to come, and which never will", () => {
    const lookup: Lookup = (runId) =>
      runId === "a"
        ? { whole: null, finer: null, isAnswered: false, refusal: "", lastValue: null }
        : { whole: null, finer: null, isAnswered: false, refusal: "It is damaged.", lastValue: null };
    const model = buildModel(chartOf("loss"), [runOf("a"), runOf("b")], lookup, wish());
    expect(model).toMatchObject({ numAwaited: 1, refusal: "It is damaged." });
  });
});

describe("the values of a chart", () => {
  const model = modelOf({ "a loss": dataOf([0, 10, 20], [3, 2, NaN]), "b loss": dataOf([0, 100], [7, 8]) });

  it("are the last finite ones where there is no cursor", () => {
    expect(readingsAt(model, null).map(({ value }) => value)).toEqual([2, 8]);
  });

  it("are the nearest at the cursor, and none where a run has ended", () => {
    expect(readingsAt(model, 9).map(({ value }) => value)).toEqual([2, 7]);
    expect(readingsAt(model, 60).map(({ line, value }) => [line.run.id, value])).toEqual([["b", 8]]);
  });

  it("are the very last ones, also where a bucket hides them", () => {
    const data = bucketData([{ step: 0, mean: 5, low: 1, high: 9, count: 12 }]);
    const lookup: Lookup = () => ({ ...sourcesOf(data), lastValue: 9 });
    const build = (smoothing: number) => buildModel(chartOf("loss"), [runOf("a")], lookup, wish({ smoothing }));
    expect(readingsAt(build(0), null)[0]).toMatchObject({ value: 9, logged: 9 });
    expect(readingsAt(build(0), 0)[0]).toMatchObject({ value: 5, logged: 5 });
    expect(readingsAt(build(0.5), null)[0]).toMatchObject({ value: 5, logged: 9 });
  });

  it("say what was logged where they are smoothed, and what a bucket holds", () => {
    const data = bucketData([{ step: 0, mean: 5, low: 1, high: 9, count: 12, bad: 2 }]);
    const [reading] = readingsAt(modelOf({ "a loss": data }, { smoothing: 0.5 }), null);
    const text = describeReading(reading!, true);
    expect(text).toBe("run a: 5, smoothed; logged 5, 12 points from 1 to 9, 2 of them NaN or infinite");
  });

  it("make one sentence for those who do not see the chart", () => {
    expect(summarize(model)).toBe(
      "loss, 2 lines over step 0 to step 100; last values: run a 2, run b 8; 1 value is NaN or infinite.",
    );
    expect(summarize(modelOf({ "a loss": dataOf([], []) }))).toBe("loss: no values.");
  });
});
