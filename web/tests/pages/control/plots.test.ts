import { describe, expect, it } from "vitest";
import { control } from "../../../src/data/control";
import { runs as listed } from "../../../src/data/runs";
import { axisName, charts, MOST_BEHIND, subject, withWholeTicks } from "../../../src/pages/control/plots/PlotFigure";
import { chartSvg } from "../../../src/plot/scalars/downloads";
import type { Chart } from "../../../src/plot/scalars/state";
import { buildModel, describePlace, type Lookup, readingsAt, slotOf, summarize } from "../../../src/plot/scalars/model";
import { fromBelow, lineWidth } from "../../../src/plot/scalars/paint";
import type { SeriesData } from "../../../src/plot/scalars/series-feed";
import { chartOf, dataOf, INK, runOf, sourcesOf, wish } from "../../plot/scalars/samples";
import { runWith } from "../../run-listings";
import { controlWith } from "./answers";

const PLOT: Chart = { ...chartOf("train", "test", "trial"), form: "keyed" };
const steps = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

const EPOCHS = dataOf([25, 50, 75], [3, 2, 1]);
const TRIALS = dataOf(steps(75), steps(75).map((step) => 3 + (step % 2)));

function lookupIn(all: Record<string, SeriesData>): Lookup {
  return (runId, name) => {
    const data = all[`${runId} ${name}`];
    return data === undefined ? null : sourcesOf(data);
  };
}

const LOOKUP = lookupIn({ "a train": EPOCHS, "b train": EPOCHS, "b test": dataOf([50], [1.5]), "b trial": TRIALS });
const RUNS = [runOf("a", { isBehind: true }), runOf("b")];
const WISH = { ...wish({ smoothing: 0.6 }), perEpoch: 25 };
const model = buildModel(PLOT, RUNS, LOOKUP, WISH);

describe("a plot of a training", () => {
  it("has a colour for each of its lines, whatever the run, and the earlier runs behind", () => {
    expect(model.lines.map(({ label, run, isBehind }) => [label, run.slot, isBehind])).toEqual([
      ["train · run a", 1, true],
      ["train", 1, false],
      ["test", 2, false],
      ["trial", 3, false],
    ]);
    expect(slotOf(PLOT, PLOT.members[2]!)).toBe(3);
  });

  it("names its lower axis, and has whole ticks where all values are whole", () => {
    expect([axisName("step", 25), axisName("step", null), axisName("relative", 25)]).toEqual(["epochs", "trials", "time"]);
    const ticksOf = (...values: number[]): string[] => {
      const errors = buildModel(chartOf("errors"), [runOf("a")], lookupIn({ "a errors": dataOf([25, 50, 75], values) }), WISH);
      return withWholeTicks(errors)!.yTicks.map(({ label }) => label);
    };
    expect(ticksOf(2, 0, 1)).toEqual(["0", "1", "2"]);
    expect(ticksOf(2, 0.5, 1)).toContain("0.5");
  });

  it("is drawn with the earlier runs below, and the first of its legend above all", () => {
    expect(fromBelow(model).map(({ label }) => label)).toEqual(["train · run a", "trial", "test", "train"]);
    expect(model.lines.map((line) => lineWidth(line, model))).toEqual([1, 1.5, 1.5, 1]);
  });

  it("marks the points of lines that have few, and smooths only the others", () => {
    expect(model.lines.map(({ hasDots }) => hasDots)).toEqual([false, true, true, false]);
    expect([...model.lines[1]!.smoothed]).toEqual([3, 2, 1]);
    expect(model.lines[3]!.smoothed[5]).not.toBe(model.lines[3]!.curve.mean[5]);
  });

  it("reads out the run that is written now, and not those behind it", () => {
    const readings = readingsAt(model, 50);
    expect(readings.map(({ line, value }) => [line.label, value])).toEqual([["train", 2], ["test", 1.5], ["trial", 3]]);
    expect(readings[0]!.smoothed).toBeNull();
    expect(summarize(model)).toContain("3 lines over epoch 0 to epoch 3");
  });

  it("counts epochs along its axis, from nought on", () => {
    expect(model.extent).toEqual({ low: 0, high: 75 });
    expect(buildModel(PLOT, RUNS, lookupIn({ "b train": EPOCHS }), WISH).extent).toEqual({ low: 0, high: 75 });
    expect(model.xTicks.map(({ value, label }) => [value, label])).toEqual([[0, "0"], [25, "1"], [50, "2"], [75, "3"]]);
    expect([25, 30].map((step) => describePlace(step, "step", 25))).toEqual(["epoch 1", "epoch 1.20"]);
  });

  it("counts trials where nobody knows how many make an epoch", () => {
    const { xTicks } = buildModel(PLOT, RUNS, LOOKUP, { ...WISH, perEpoch: null });
    expect(xTicks.map(({ label }) => label)).toContain("25");
  });

  it("names in its file the lines that its legend has", () => {
    const svg = chartSvg(model, { width: 400, height: 200 }, INK);
    expect(svg).toContain(">trial</text>");
    expect(svg).not.toContain("run a");
    expect(svg.match(/<circle/g)).toHaveLength(4);
  });
});

describe("what plots are of", () => {
  it("is the run that is written now, and the last of those before it since Init", () => {
    const ids = Array.from({ length: 40 }, (_, at) => `r${at}`);
    listed.value = [runWith({ id: "r39", name: "etra25-1/run-39" })];
    control.value = controlWith({ run_id: "r39", run_ids: ids, all_run_ids: ["old", ...ids] });
    const shown = subject.runs.value;
    expect(shown).toHaveLength(MOST_BEHIND + 1);
    expect(shown.at(-1)).toMatchObject({ id: "r39", name: "etra25-1/run-39", isBehind: false });
    expect(shown[0]).toMatchObject({ id: `r${39 - MOST_BEHIND}`, isBehind: true });
    expect(subject.perEpoch.value).toBe(25);
    const before = subject.runs.value;
    control.value = { ...control.value, listing: { ...control.value.listing, doing: "Run" } };
    expect(subject.runs.value).toBe(before);
  });

  it("is what the training wants to see, two plots of one title told apart", () => {
    const plots = [0, 1].map(() => ({ title: "loss", lines: [{ name: "train/loss", label: "" }] }));
    const answer = controlWith();
    control.value = { ...answer, about: { ...answer.about!, plots } };
    expect(new Set(charts.value.map(({ key }) => key)).size).toBe(2);
    expect(charts.value[0]!.members).toEqual([{ name: "train/loss", label: "train/loss" }]);
  });
});
