import { beforeEach, expect, test } from "vitest";
import { route, setParams } from "../../src/data/route";
import * as runs from "../../src/data/runs";
import { FakeRuns, runsAnswer, runWith, seriesWith } from "../run-listings";

let source: FakeRuns;

/** Ten runs; the one with the highest number is the newest. */
const ten = Array.from({ length: 10 }, (_, at) => runWith({ id: `r${at}`, started: 1000 + at }));

beforeEach(() => {
  localStorage.clear();
  route.value = { view: "runs", params: new Map() };
  runs.runs.value = [];
  runs.index.value = new Map();
  runs.listing.value = { state: "waiting" };
  source = new FakeRuns();
  runs.startRuns(source);
});

const chosenIds = (): string[] => runs.chosen.value.map(({ id }) => id);

test("where nobody chose, the newest few are chosen, and a run that starts is among them", () => {
  source.say(runsAnswer(ten));
  expect(chosenIds()).toEqual(["r9", "r8", "r7", "r6", "r5", "r4"]);
  source.say(runsAnswer([runWith({ id: "new", started: 5000 })], { is_all: false }));
  expect(chosenIds()[0]).toBe("new");
});

test("points that come in do not change which runs are chosen, nor ask for their series again", () => {
  source.say(runsAnswer(ten));
  const asked = source.followed.length;
  source.say(runsAnswer([runWith({ id: "r0", started: 1000, updated: 1e9 })], { is_all: false }));
  expect(chosenIds()).toEqual(["r9", "r8", "r7", "r6", "r5", "r4"]);
  expect(source.followed.length).toBe(asked);
});

test("a run that has not changed stays the same object", () => {
  source.say(runsAnswer(ten));
  const before = runs.runsById.value.get("r3");
  source.say(runsAnswer([runWith({ id: "r4", started: 1004, last_step: 99 })], { is_all: false }));
  expect(runs.runsById.value.get("r3")).toBe(before);
  expect(runs.runsById.value.get("r4")?.last_step).toBe(99);
});

test("a run that is gone leaves the list; after a lost connection the first answer is all there is", () => {
  source.say(runsAnswer(ten));
  source.say(runsAnswer([], { is_all: false, gone: ["r9"] }));
  expect(runs.runs.value.length).toBe(9);
  source.say(runsAnswer(ten.slice(0, 2)));
  expect(runs.runs.value.map(({ id }) => id)).toEqual(["r1", "r0"]);
});

test("a choice stands in the address, and none is a choice, too", () => {
  source.say(runsAnswer(ten));
  runs.choose("r0", true);
  expect(chosenIds()).toContain("r0");
  expect(runs.isChosen("r0")).toBe(true);
  runs.chooseAll(["r1"]);
  expect(route.value.params.get("runs")).toBe("r1");
  runs.choose("r1", false);
  expect(chosenIds()).toEqual([]);
  expect(runs.isChosen("")).toBe(false);
});

test("runs of an old address that are not there are passed over, and come back when they do", () => {
  setParams({ runs: "gone,r2" });
  source.say(runsAnswer(ten));
  expect(chosenIds()).toEqual(["r2"]);
  runs.choose("r3", true);
  source.say(runsAnswer([runWith({ id: "gone", started: 1 })], { is_all: false }));
  expect(chosenIds()).toEqual(["r3", "r2", "gone"]);
});

test("no more runs are chosen than the server answers for", () => {
  const many = Array.from({ length: 400 }, (_, at) => runWith({ id: `m${at}`, started: at }));
  source.say(runsAnswer(many));
  runs.chooseAll(many.map(({ id }) => id));
  expect(chosenIds().length).toBe(runs.MAX_CHOSEN);
  const question = source.open("index").at(-1)!.question;
  expect(question.type === "index" && question.run_ids.length).toBe(runs.MAX_CHOSEN);
});

test("the series of the chosen runs are followed, one question at a time", () => {
  source.say(runsAnswer(ten));
  runs.chooseAll(["r1", "r2"]);
  runs.chooseAll(["r2"]);
  expect(source.open("index").map(({ question }) => question)).toEqual([{ type: "index", run_ids: ["r2"] }]);
  runs.chooseAll([]);
  expect(source.open("index")).toEqual([]);
});

test("series come in part, and names sort as people count", () => {
  source.say(runsAnswer(ten));
  runs.chooseAll(["r1"]);
  expect(runs.isIndexed.value).toBe(false);
  const named = (name: string) => seriesWith({ name });
  source.say({
    type: "index",
    id: 2,
    runs: [{ run_id: "r1", is_all: true, series: [named("layer10"), named("layer9")] }],
  });
  expect(runs.isIndexed.value).toBe(true);
  const names = runs.namesOf("scalar");
  expect(names).toEqual(["layer9", "layer10"]);
  source.say({
    type: "index",
    id: 2,
    runs: [{ run_id: "r1", is_all: false, series: [seriesWith({ name: "layer9", count: 5 })] }],
  });
  expect(runs.seriesOf("r1", "scalar", "layer9")?.count).toBe(5);
  expect(runs.seriesOf("r1", "scalar", "layer10")).toBeDefined();
  // Only a count has changed: whoever hangs on the names has nothing to do.
  expect(runs.namesOf("scalar")).toBe(names);
  expect(runs.namesOf("image")).toEqual([]);
});

test("a folder that cannot be read says why, and can be tried again", () => {
  source.open("runs")[0]!.listener.refuse("permission denied");
  expect(runs.listing.value).toEqual({ state: "failed", reason: "permission denied" });
  runs.retry();
  expect(runs.listing.value.state).toBe("waiting");
  expect(source.open("runs").length).toBe(1);
  source.say(runsAnswer(ten));
  expect(runs.listing.value.state).toBe("shown");
});

test("what was known stays when the folder cannot be read any more", () => {
  source.say(runsAnswer(ten));
  source.open("runs")[0]!.listener.refuse("it was deleted");
  expect(runs.runs.value.length).toBe(10);
});

test("a source without runs is not asked for any", () => {
  const other = new FakeRuns();
  other.hasRuns.value = null;
  runs.startRuns(other);
  expect(other.followed).toEqual([]);
  expect(source.open("runs")).toEqual([]);
  other.hasRuns.value = true;
  expect(other.open("runs").length).toBe(1);
});

test("colours are those of the theme, one after the other, and stay when runs come and go", () => {
  source.say(runsAnswer(ten.slice(0, 3)));
  const before = ["r0", "r1", "r2"].map(runs.colourOf);
  expect(before).toEqual(["var(--cat-1)", "var(--cat-2)", "var(--cat-3)"]);
  source.say(runsAnswer(ten.slice(1)));
  expect(["r1", "r2"].map(runs.colourOf)).toEqual(before.slice(1));
  source.say(runsAnswer(ten));
  expect(["r0", "r1", "r2"].map(runs.colourOf)).toEqual(before);
});
