import { afterEach, describe, expect, it } from "vitest";
import { runs } from "../../../src/data/runs";
import { metricNames, shownMetrics } from "../../../src/pages/runs/run-table";
import { runWith } from "../../run-listings";

describe("metrics of the table", () => {
  afterEach(() => {
    runs.value = [];
  });

  const withMetrics = (...names: string[]): void => {
    runs.value = [runWith({ id: "a", metrics: names.map((name) => ({ name, value: 1 })) })];
  };

  it("are loss and score at first, or the first there are", () => {
    withMetrics("lr", "val/loss", "top1");
    expect(shownMetrics.value).toEqual(["val/loss", "top1"]);
    withMetrics("lr", "norm", "time");
    expect(shownMetrics.value).toEqual(["lr", "norm"]);
  });

  it("are never those of a watcher at first, though they can be chosen", () => {
    withMetrics("watch/top loss", "lr", "watch/cost");
    expect(shownMetrics.value).toEqual(["lr"]);
    expect(metricNames.value).toContain("watch/cost");
  });
});
