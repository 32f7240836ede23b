import { describe, expect, it } from "vitest";
import { filtered } from "../../../src/pages/analysis/FeaturesPage";
import { evenly, openingScale, scaleOfLayers } from "../../../src/pages/analysis/Similarity";
import { spanOf } from "../../../src/pages/analysis/ProbesView";
import { busiest, numberOf } from "../../../src/pages/analysis/ValuesView";
import { basisText, placeText, sampleName, samplesText, shapeText } from "../../../src/pages/analysis/features";
import { hundredths } from "../../../src/plot/CellTable";
import type { FeatureLayer, FeatureProbe, FeatureRows, FeatureSetListing } from "../../../src/wire";

const PROBE: FeatureProbe = {
  layer: 0,
  why: "",
  scores: [0.9, 0.92, 0.95],
  mean: 0.923,
  std: 0.02,
  metric: "accuracy",
  kind: "ridge",
  chance: 0.1,
  num_samples: 100,
  num_units: 10,
  labels: [],
  confusion: [],
};

describe("the scale of similarity", () => {
  it("is for what there is where no pair is unlike", () => {
    expect(openingScale("correlation", { min: 0.93, max: 0.99 })).toEqual({ map: "seq", low: 0.9, high: 1 });
    expect(openingScale("cosine", { min: 0.31, max: 0.8 })).toEqual({ map: "seq", low: 0.3, high: 1 });
    expect(openingScale("cosine", { min: 1, max: 1 })).toEqual({ map: "seq", low: 0.9, high: 1 });
  });

  it("is from one end to the other else", () => {
    expect(openingScale("correlation", { min: -0.1, max: 0.9 })).toEqual({ map: "div", low: -1, high: 1 });
    expect(openingScale("correlation", null)).toEqual({ map: "div", low: -1, high: 1 });
    expect(openingScale("euclidean", { min: 1, max: 5 })).toEqual({ map: "seq", low: 0, high: 5 });
  });
});

describe("the scale of layers compared", () => {
  it("has two sides where there are two", () => {
    expect(scaleOfLayers(new Float32Array([1, 0.3, Number.NaN, 1]))).toEqual({ map: "seq", low: 0, high: 1 });
    expect(scaleOfLayers(new Float32Array([1, -0.3, -0.3, 1]))).toEqual({ map: "div", low: -1, high: 1 });
  });
});

describe("the scale of scores", () => {
  it("begins at nought and ends at one, so that chance can be seen", () => {
    expect(spanOf([PROBE], false)).toEqual({ low: 0, high: 1 });
  });

  it("is that of the scores alone where these are looked at", () => {
    const { low, high } = spanOf([PROBE], true);
    expect(low).toBeGreaterThan(0.8);
    expect(high).toBeLessThanOrEqual(1);
  });

  it("does not follow a score that is far below nought", () => {
    expect(spanOf([{ ...PROBE, metric: "r2", scores: [-400, 0.2], chance: 0 }], false).low).toBeGreaterThanOrEqual(-1);
  });

  it("is there before any score is", () => {
    expect(spanOf([], true)).toEqual({ low: 0, high: 1 });
  });
});

describe("what is chosen", () => {
  it("is the column that varies most", () => {
    expect(busiest(Float32Array.from([1, 0, 5, 1, 9, 5, 1, 0, 5]), 3)).toBe(1);
    expect(busiest(Float32Array.from([NaN, 1, NaN, 2]), 2)).toBe(1);
  });

  it("is no unit that the layer has not", () => {
    expect(numberOf("12", 13)).toBe(12);
    for (const text of ["13", "-1", "x", "", "1e3", "9".repeat(40)]) expect(numberOf(text, 13)).toBeNull();
  });

  it("is evenly chosen with both ends, where layers are many", () => {
    expect(evenly(3, 64)).toEqual([0, 1, 2]);
    const some = evenly(1000, 64);
    expect(some).toHaveLength(64);
    expect([some[0], some.at(-1)]).toEqual([0, 999]);
    expect(new Set(some).size).toBe(64);
  });

  it("is found by name, op and module", () => {
    const layer = (name: string, label: string): FeatureLayer => ({ name, label, address: "", shape: [1], dims: [], dtype: "float32", num_units: 1, num_bytes: 4, transforms: [] });
    const all = [layer("features.0", "conv2d_1_1"), layer("features.1", "relu_1_2")];
    expect(filtered(all, "RELU")).toEqual([1]);
    expect(filtered(all, "features conv")).toEqual([0]);
    expect(filtered(all, "")).toEqual([0, 1]);
  });
});

describe("the words", () => {
  const rows: FeatureRows = { samples: [4, 7], ids: ["4", "cat.png"], labels: ["cat"], label_of: [0, 0], num_done: 9 };

  it("names samples by their ids, and those without by their numbers", () => {
    expect(sampleName(rows, 0)).toBe("sample 4 (cat)");
    expect(sampleName(rows, 1)).toBe("cat.png (cat)");
    expect(sampleName({ ...rows, labels: [], label_of: [] }, 1)).toBe("cat.png");
  });

  it("says on how many samples something is based", () => {
    expect(basisText(500, 1797)).toBe("500 of 1797 samples");
    expect(basisText(60, 60)).toBe("all 60 samples");
  });

  it("says how far an extraction is", () => {
    const listing = { num_done: 5, num_samples: 9, is_complete: false } as FeatureSetListing;
    expect(samplesText(listing)).toBe("5 of 9");
    expect(samplesText({ ...listing, num_samples: null })).toBe("5 so far");
    expect(samplesText({ ...listing, is_complete: true })).toBe("5");
  });

  it("writes shapes that vary, places and hundredths", () => {
    expect(shapeText([-1, 768])).toBe("?×768");
    expect(placeText([3, 0, 7])).toBe("[3, 0, 7]");
    expect(placeText([3])).toBe("");
    expect([hundredths(1), hundredths(-0.25), hundredths(-0.001)]).toEqual(["1.00", "−0.25", "0.00"]);
  });
});
