import { describe, expect, it } from "vitest";
import { frequencyText } from "../../../src/pages/layers/LayersPage";
import { exactLine, IS_ESTIMATE, isEstimate, readingOf, rowFiguresOf, sampleText } from "../../../src/pages/layers/watched";
import { gridWith, rowWith } from "./samples";

describe("figures of a sample", () => {
  const answer = {
    ...{ type: "watched_row" as const, id: 1, row: rowWith("a"), columns: ["max", "norm"], num_values: 512 },
    ...{ first_steps: [0, 1, 2], last_steps: [0, 1, 2], tensor_name: "", histogram_name: "" },
  };

  function figuresWith(marks: readonly number[]) {
    const buffer = new ArrayBuffer(24 + 6);
    new Float32Array(buffer, 0, 6).set([9, 3, 8, 1, 1, 1]);
    new Uint8Array(buffer, 24).set(marks);
    return rowFiguresOf({ answer, buffer, offset: 0 })!;
  }

  it("are known as such, with the number of values", () => {
    const figures = figuresWith([0, 1, 0, 0, 0, 0]);
    expect([0, 1, 2].map((at) => isEstimate(figures, "max", at))).toEqual([false, true, false]);
    expect(sampleText(figures, "max", 1)).toBe("from 512 values");
    expect(sampleText(figures, "norm", 1)).toBe("");
  });

  it("are left out of the line of extremes where others are known", () => {
    const line = exactLine(figuresWith([0, 1, 0, 0, 0, 0]), "max");
    expect([line.x, [...line.y]]).toEqual([
      [0, 2],
      [9, 8],
    ]);
    expect(exactLine(figuresWith([1, 1, 1, 0, 0, 0]), "max").x).toEqual([0, 1, 2]);
  });

  it("an answer without its marks is none", () => {
    expect(rowFiguresOf({ answer, buffer: new ArrayBuffer(24), offset: 0 })).toBeNull();
  });

  it("have a sign in the map", () => {
    const grid = gridWith([[2, 3]], { marks: new Uint8Array([0, IS_ESTIMATE]) });
    expect(readingOf(grid, 0, 0)!.value).toBe("norm 2");
    expect(readingOf(grid, 0, 1)!.value).toBe("norm \u2248 3 (from a sample)");
  });
});

describe("how often", () => {
  it("is said as it was wanted and as it was got", () => {
    expect([frequencyText("20/s", "wanted"), frequencyText("1.2/s", "got")]).toEqual(["20 a second wanted", "1.2 a second got"]);
    expect([frequencyText("10 steps", "wanted"), frequencyText("37.5 steps", "got")]).toEqual(["every 10 steps wanted", "every 38 steps got"]);
    expect(frequencyText("", "got")).toBe("");
  });
});
