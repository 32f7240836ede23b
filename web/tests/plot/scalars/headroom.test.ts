import { describe, expect, it } from "vitest";
import { fitting } from "../../../src/plot/scalars/ChartFigure";

const measure = (text: string): number => 6 * text.length;
const values = (count: number, smoothed = "") =>
  Array.from({ length: count }, () => ({ value: "0.0694", smoothed }));

describe("the head of a chart", () => {
  it("shows three values beside a short title in a chart of the usual width", () => {
    expect(fitting(258, 28, values(3), measure)).toEqual({ count: 3, withSmoothed: true });
  });

  it("shows as many as there is room for, and at least one", () => {
    expect(fitting(258, 28, values(9), measure).count).toBe(2);
    expect(fitting(60, 200, values(9), measure).count).toBe(1);
    expect(fitting(258, 28, [], measure).count).toBe(0);
  });

  it("leaves out smoothed values before logged ones", () => {
    expect(fitting(258, 28, values(3, "0.0701"), measure)).toEqual({ count: 3, withSmoothed: false });
    expect(fitting(258, 28, values(1, "0.0701"), measure)).toEqual({ count: 1, withSmoothed: true });
  });

  it("lets a long title give way", () => {
    expect(fitting(320, 900, values(3), measure).count).toBeGreaterThan(1);
  });
});
