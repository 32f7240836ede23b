import { describe, expect, it } from "vitest";
import {
  buildModel,
  describeReading,
  type Lookup,
  type Model,
  readingsAt,
  summarize,
} from "../../../src/plot/scalars/model";
import type { SeriesData } from "../../../src/plot/scalars/series-feed";
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

  it("is not smoothed where its lines have few points, unless somebody wants it", () => {
    const few = dataOf([0, 1, 2], [6, 0, 3]);
    const steps = Array.from({ length: 50 }, (_, at) => at);
    const many = dataOf(steps, steps.map((step) => step % 2));
    expect(modelOf({ "a loss": few }, { smoothing: 0.6 })).toMatchObject({ isSmoothed: false });
    expect([...modelOf({ "a loss": few }, { smoothing: 0.6 }).lines[0]!.smoothed]).toEqual([6, 0, 3]);
    expect(modelOf({ "a loss": few }, { smoothing: 0.6, isSmoothingChosen: true }).isSmoothed).toBe(true);
    expect(modelOf({ "a loss": many }, { smoothing: 0.6 }).isSmoothed).toBe(true);
    // Lines that are compared are drawn alike.
    const both = modelOf({ "a loss": few, "b loss": many }, { smoothing: 0.6 });
    expect(both.lines[0]!.smoothed[1]).toBeGreaterThan(0);
  });

  it("goes as far as its points do where they came in buckets", () => {
    const steps = Array.from({ length: 100 }, (_, at) => 1000 + at * 10 + 4.5);
    const data = bucketData(steps.map((step) => ({ step, mean: 1, low: 0, high: 2, count: 10 })));
    data.last = { step: 1999, time: 1000 + 1999, value: 1 };
    const build = (axis: "step" | "relative" | "time") =>
      buildModel(chartOf("loss"), [runOf("a")], () => sourcesOf(data), wish({ axis }));
    expect(build("step").extent).toEqual({ low: 1000, high: 1999 });
    expect(summarize(build("step"))).toContain("over step 1000 to step 1999;");
    expect(build("relative").extent!.high).toBe(1999);
    expect(build("time").extent!.high).toBe(2999);
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
        ? { whole: null, finer: null, isAnswered: false, refusal: "" }
        : { whole: null, finer: null, isAnswered: false, refusal: "It is damaged." };
    const model = buildModel(chartOf("loss"), [runOf("a"), runOf("b")], lookup, wish());
    expect(model).toMatchObject({ numAwaited: 1, refusal: "It is damaged." });
  });
});

describe("the values of a chart", () => {
  const model = modelOf({ "a loss": dataOf([0, 10, 20], [3, 2, NaN]), "b loss": dataOf([0, 100], [7, 8]) });

  it("are the last ones where there is no cursor, finite or not", () => {
    expect(readingsAt(model, null).map(({ value }) => value)).toEqual([NaN, 8]);
  });

  it("are the nearest at the cursor, and none where a run has ended", () => {
    expect(readingsAt(model, 9).map(({ value }) => value)).toEqual([2, 7]);
    expect(readingsAt(model, 60).map(({ line, value }) => [line.run.id, value])).toEqual([["b", 8]]);
  });

  it("are the very last ones, also where a bucket hides them", () => {
    const data = bucketData([{ step: 0, mean: 5, low: 1, high: 9, count: 12 }]);
    const build = (value: number, smoothing = 0) => {
      data.last = { step: 5, time: 1005, value };
      const lookup: Lookup = () => sourcesOf(data);
      return buildModel(chartOf("loss"), [runOf("a")], lookup, wish({ smoothing, isSmoothingChosen: true }));
    };
    expect(readingsAt(build(9), null)[0]).toMatchObject({ value: 9, smoothed: null });
    expect(readingsAt(build(NaN), null)[0]).toMatchObject({ value: NaN });
    expect(readingsAt(build(9), 0)[0]).toMatchObject({ value: 5, smoothed: null });
    expect(readingsAt(build(9, 0.5), null)[0]).toMatchObject({ value: 9, smoothed: 5 });
  });

  it("are as they were logged, with the smoothed ones beside them", () => {
    const smoothed = modelOf({ "a loss": dataOf([0, 1], [4, 1]) }, { smoothing: 0.5, isSmoothingChosen: true });
    expect(readingsAt(smoothed, 1)[0]).toMatchObject({ value: 1, smoothed: 2 });
    expect(readingsAt(smoothed, null)[0]).toMatchObject({ value: 1, smoothed: 2 });
    expect(summarize(smoothed)).toContain("last values: run a 1.");
  });

  it("say where the line is and what a bucket holds", () => {
    const data = bucketData([{ step: 0, mean: 5, low: 1, high: 9, count: 12, bad: 2 }]);
    const wanted = { smoothing: 0.5, isSmoothingChosen: true };
    const [reading] = readingsAt(modelOf({ "a loss": data }, wanted), null);
    const text = describeReading(reading!);
    expect(text).toBe("run a: 5, smoothed 5, 12 points from 1 to 9, 2 of them NaN or infinite");
  });

  it("make one sentence for those who do not see the chart", () => {
    expect(summarize(model)).toBe(
      "loss, 2 lines over step 0 to step 100; last values: run a NaN, run b 8; 1 value is NaN or infinite.",
    );
    expect(summarize(modelOf({ "a loss": dataOf([3], [1]) }))).toBe("loss, 1 line at step 3; last values: run a 1.");
    expect(summarize(modelOf({ "a loss": dataOf([], []) }))).toBe("loss: no values.");
  });
});
