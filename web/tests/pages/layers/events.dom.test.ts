import { describe, expect, it } from "vitest";
import { alarmKind, describeGap, inOrder, placeOfAlarm, withEvents } from "../../../src/data/run-events";
import { alarmsOf, countsOf, describeMark, marksOf as stripMarks } from "../../../src/pages/charts/ChartsPage";
import { describeAlarms, marksOf } from "../../../src/pages/layers/Events";
import { runWith } from "../../run-listings";
import { alarmWith, gapWith } from "./samples";

describe("events", () => {
  it("that are new come after those that are known, each to its run", () => {
    const first = withEvents(new Map(), { is_all: true, alarms: [alarmWith()], gaps: [] });
    const news = { is_all: false, alarms: [alarmWith({ run_id: "b" }), alarmWith({ step: 9 })], gaps: [gapWith()] };
    const all = withEvents(first, news);
    expect(all.get("a")!.alarms.map(({ step }) => step)).toEqual([5, 9]);
    expect(all.get("a")!.gaps).toHaveLength(1);
    expect(all.get("b")!.alarms).toHaveLength(1);
    expect(first.get("a")!.alarms).toHaveLength(1);
  });

  it("take the place of all others where they are the whole", () => {
    const known = withEvents(new Map(), { is_all: true, alarms: [alarmWith()], gaps: [gapWith()] });
    expect(withEvents(known, { is_all: true, alarms: [], gaps: [] }).size).toBe(0);
  });

  it("say what is missing", () => {
    expect(describeGap(gapWith())).toBe("312 records were dropped (ring full), steps 20 to 23");
    expect(describeGap(gapWith({ num_missing: 1, reason: "killed", last_step: 20 }))).toBe(
      "1 record was lost (the watching process ended), step 20",
    );
  });

  it("lead to their row, step, rank and figure", () => {
    expect(placeOfAlarm(alarmWith({ alarm: "dead_units", rank: 1 }))).toEqual({
      ...{ run: "a", rank: "1", step: "5", fig: "dead", limits: null, row: "fc.Act" },
    });
    // A loss is no row, and no figure shows it.
    expect(placeOfAlarm(alarmWith({ alarm: "loss_spike", layer: "", row: "loss" }))).toEqual({ run: "a", rank: null, step: "5" });
  });
});

describe("marks", () => {
  const axis = { low: 0, high: 100, width: 100 };

  it("gather what would be covered, and leave out what is not on the axis", () => {
    const steps = [90, 10, 12, 50, 200];
    const marks = marksOf(
      steps.map((step) => alarmWith({ step })),
      axis,
      11,
    );
    expect(marks.map(({ first, last, alarms }) => [first, last, alarms.length])).toEqual([
      [10, 12, 2],
      [50, 50, 1],
      [90, 90, 1],
    ]);
    expect(describeAlarms(marks[0]!)).toContain("2 × NaN or Inf of fc.Act, steps 10 to 12");
  });

  it("of unknown kinds come last and are called by their name", () => {
    expect(inOrder(["z_new", "loss_spike", "nan"])).toEqual(["nan", "loss_spike", "z_new"]);
    expect(alarmKind("z_new")).toMatchObject({ title: "z new", severity: "warn" });
  });
});

describe("the strip of the charts", () => {
  it("tells alarms of layers from those of scalars, and the worse ones from the others", () => {
    const watched = [alarmWith({ alarm: "dead_units", message: "half is dead" }), alarmWith({ step: 6 })];
    const marks = stripMarks(alarmsOf([], watched), 10);
    expect(marks).toHaveLength(2);
    expect(describeMark(marks[0]!, "first")).toBe("first: half is dead.");
    const counts = countsOf([{ run: runWith({ id: "a" }), lastStep: 10, marks }]);
    expect(counts.map(({ title, count }) => `${title} ${count}`)).toEqual(["NaN or Inf 1", "dead units 1"]);
  });
});
