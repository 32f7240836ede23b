import { describe, expect, it } from "vitest";
import { searchTest } from "../../../src/data/globs";
import { columnsFor } from "../../../src/pages/charts/ChartsPage";
import { filtered, type Group, groupsOf } from "../../../src/plot/scalars/state";
import type { ShownLayoutChart } from "../../../src/wire";

function named(...names: string[]): Group[] {
  return groupsOf(names.map((name) => ({ name, description: "" })));
}

function outline(groups: readonly Group[]): Record<string, string[]> {
  return Object.fromEntries(groups.map(({ title, charts }) => [title, charts.map((chart) => chart.title)]));
}

describe("groups of charts", () => {
  it("are by the first part of a name, in the order in which they come", () => {
    const groups = named("train/loss", "lr", "val/loss", "train/acc/top-1", "epoch");
    expect(outline(groups)).toEqual({
      train: ["loss", "acc/top-1"],
      scalars: ["lr", "epoch"],
      val: ["loss"],
    });
    expect(groups.map(({ title }) => title)).toEqual(["train", "scalars", "val"]);
  });

  it("stand before what a watcher says of itself, which is no value to compare runs by", () => {
    const groups = named("watch/cost", "watcher/a", "lr", "watch/records a second");
    expect(groups.map(({ title }) => title)).toEqual(["watcher", "scalars", "watch"]);
    expect(columnsFor(groups, "").map(({ key }) => key)).toEqual(["watcher/a", "lr"]);
    expect(columnsFor(groups, "watch/cost").map(({ key }) => key)).toContain("watch/cost");
    expect(columnsFor(named("watch/cost"), "")).toEqual([]);
  });

  it("take a name apart only where both parts are there", () => {
    expect(outline(named("/loss", "loss/", "/"))).toEqual({ scalars: ["/loss", "loss/", "/"] });
  });

  it("have one chart for what several runs logged under one name", () => {
    expect(outline(named("a/x", "a/y", "a/x"))).toEqual({ a: ["x", "y"] });
  });

  it("have one chart for what was logged together", () => {
    const groups = groupsOf([
      { name: "curves/waves/sin", description: "of curves/waves" },
      { name: "curves/waves/cos", description: "of curves/waves" },
      { name: "curves/other", description: "of interest" },
    ]);
    const [waves, other] = groups[0]!.charts;
    expect(waves).toMatchObject({
      key: "curves/waves",
      title: "waves",
      members: [
        { name: "curves/waves/sin", label: "sin" },
        { name: "curves/waves/cos", label: "cos" },
      ],
    });
    expect(other?.members).toEqual([{ name: "curves/other", label: "curves/other" }]);
  });
});

describe("charts that a run asks for", () => {
  const scalars = ["train/loss", "val/loss", "low", "mid", "high"].map((name) => ({ name, description: "" }));
  const chart = (given: Partial<ShownLayoutChart>): ShownLayoutChart => ({
    title: "x",
    form: "lines",
    names: [],
    globs: [],
    not_supported: [],
    ...given,
  });
  const layout = (given: Partial<ShownLayoutChart>): Group[] =>
    groupsOf(scalars, [{ title: "Mine", charts: [chart(given)] }]);
  const members = (groups: Group[]): string[] => groups[0]!.charts[0]!.members.map(({ name }) => name);

  it("come first, with the lines that their globs and names say", () => {
    const groups = layout({ title: "losses", names: ["low"], globs: ["*/loss"] });
    expect(groups[0]).toMatchObject({ title: "Mine", charts: [{ title: "losses", isAsked: true }] });
    expect(members(groups)).toEqual(["low", "train/loss", "val/loss"]);
    expect(groups.slice(1).map(({ title }) => title)).toEqual(["train", "val", "scalars"]);
  });

  it("match whole names", () => {
    expect(layout({ globs: ["loss"] }).map(({ title }) => title)).not.toContain("Mine");
  });

  it("are margins of three", () => {
    expect(members(layout({ form: "margin", names: ["mid", "low", "high"] }))).toEqual(["mid", "low", "high"]);
    expect(layout({ form: "margin", names: ["mid", "low"] })[0]?.title).toBe("train");
  });

  it("name the patterns that are not supported, unless they are names", () => {
    const [group] = layout({ title: "odd", names: ["(a|a)*b", "mid"], not_supported: ["(a|a)*b", "mid"] });
    expect(group).toMatchObject({ title: "Mine", notSupported: [{ chart: "odd", pattern: "(a|a)*b" }] });
    expect(members([group!])).toEqual(["mid"]);
    expect(layout({ names: ["\\w+"], not_supported: ["\\w+"] })[0]).toMatchObject({ title: "Mine", charts: [] });
  });
});

describe("a scalar without a name", () => {
  it("has a chart whose key can stand in the address", () => {
    const [group] = named("");
    expect(group!.charts[0]).toMatchObject({ title: "(no name)", members: [{ name: "" }] });
    expect(group!.charts[0]!.key).not.toBe("");
  });
});

describe("the filter of charts", () => {
  it("leaves the charts whose names pass, in groups that have some left", () => {
    const groups = named("train/loss", "train/acc", "val/loss");
    const found = (text: string): Record<string, string[]> => outline(filtered(groups, searchTest(text)));
    expect(found("^train/l|val")).toEqual({ train: ["loss"], val: ["loss"] });
    expect(found("ACC$")).toEqual({ train: ["acc"] });
    expect(found("nothing")).toEqual({});
  });
});

describe("the table at the cursor", () => {
  const groups = named("train/loss", "train/acc", "val/loss", "val/acc", "lr");
  const titles = (cursor: string): string[] => columnsFor(groups, cursor).map(({ fullTitle }) => fullTitle);

  it("has the first chart, its like in other groups, then others", () => {
    expect(titles("")).toEqual(["train/loss", "val/loss", "train/acc"]);
  });

  it("keeps its columns, but for the last, where the cursor is on another chart", () => {
    expect(titles("val/loss")).toEqual(titles(""));
    expect(titles("val/acc")).toEqual(["train/loss", "val/loss", "val/acc"]);
  });

  it("has no chart of several lines, where a run has several values", () => {
    const together = ["sin", "cos"].map((name) => ({ name: `waves/${name}`, description: "of waves" }));
    const all = groupsOf([...together, { name: "lr", description: "" }]);
    expect(columnsFor(all, "waves").map(({ key }) => key)).toEqual(["lr"]);
  });
});
