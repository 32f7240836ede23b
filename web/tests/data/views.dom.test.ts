import { beforeEach, expect, test } from "vitest";
import { route } from "../../src/data/route";
import * as runs from "../../src/data/runs";
import * as store from "../../src/data/store";
import { areaOf, areas, shownArea, shownView, startViews } from "../../src/data/views";
import { FakeRuns, runsAnswer, runWith } from "../run-listings";

let source: FakeRuns;

startViews();

beforeEach(() => {
  runs.runs.value = [];
  runs.listing.value = { state: "waiting" };
  route.value = { view: null, params: new Map() };
  source = new FakeRuns();
  source.hasRuns.value = null;
  store.source.value = source;
  runs.startRuns(source);
});

const pass = { id: "p", name: "Net", detail: "", run_id: "", step: null };

test("nothing is shown before the server has said what there is, but for what the address names", () => {
  expect(shownView.value).toBeNull();
  route.value = { view: "training", params: new Map() };
  expect(shownView.value).toBe("training");
});

test("a folder of runs begins with its runs, and says so in the address", () => {
  source.hasRuns.value = true;
  source.say(runsAnswer([runWith({ id: "a" })]));
  expect(shownView.value).toBe("runs");
  expect(route.value.view).toBe("runs");
  expect(document.title).toBe("Runs · torcheer");
});

test("a folder with passes and no runs begins with the graph, and one with nothing with the runs to come", () => {
  source.hasRuns.value = true;
  source.passes.value = [pass];
  source.say(runsAnswer([]));
  expect(shownView.value).toBe("graph");
  source.passes.value = [];
  route.value = { view: null, params: new Map() };
  expect(shownView.value).toBe("runs");
});

test("where there are no runs, no address leads to them", () => {
  source.hasRuns.value = false;
  for (const view of ["runs", "training", "projector"] as const) {
    route.value = { view, params: new Map() };
    expect(shownView.value).toBe("graph");
    expect(shownArea.value).toBe("graph");
  }
});

test("a page whose data cannot be read shows where that is said", () => {
  store.source.value = null;
  expect(shownView.value).toBe("graph");
});

test("all views of chosen runs are under one tab", () => {
  expect((["training", "tensors", "projector", "parameters"] as const).map(areaOf)).toEqual(
    new Array(4).fill("training"),
  );
});

test("lessons have a tab of their own, last of all, and alone where there is nothing else", () => {
  source.hasRuns.value = true;
  source.hasLessons.value = true;
  expect(areas.value).toEqual(["runs", "graph", "netview", "control", "training", "learn"]);
  source.hasRuns.value = false;
  route.value = { view: "learn", params: new Map() };
  expect([shownView.value, areas.value]).toEqual(["learn", ["learn"]]);
  source.passes.value = [pass];
  expect(areas.value).toEqual(["graph", "learn"]);
  source.hasLessons.value = false;
  expect([shownView.value, areas.value]).toEqual(["graph", ["graph"]]);
});
