import { afterEach, beforeEach, expect, test } from "vitest";
import { followNet } from "../../../src/data/network/feeds";
import * as moments from "../../../src/data/network/moments";
import { runId } from "../../../src/data/network/moments";
import * as state from "../../../src/data/network/network-state";
import * as store from "../../../src/data/network/store";
import { hoveredReading, selectedReading } from "../../../src/data/network/unit-readings";
import { look } from "../../../src/data/network/value-ranges";
import { readRoute, route, writeRoute } from "../../../src/data/route";
import * as runs from "../../../src/data/runs";
import * as page from "../../../src/data/store";
import { followAddress } from "../../../src/pages/netview/address";
import { blockWith, FakeNet, framed, momentsAnswer, sceneAnswer } from "../../network-samples";
import { replyOf, runsAnswer, runWith } from "../../run-listings";

let source: FakeNet;
let stops: (() => void)[];

function open(hash: string): void {
  route.value = readRoute(hash);
  stops.push(followAddress(), followNet(source));
}

beforeEach(() => {
  source = new FakeNet();
  stops = [];
  page.source.value = source;
  state.forget();
  moments.lastList.value = null;
  route.value = readRoute("#netview");
  runs.index.value = new Map();
  runs.startRuns(source);
  source.say(runsAnswer([runWith({ id: "a" }), runWith({ id: "b", started: 900 })]));
  source.say({ type: "index", id: 1, runs: ["a", "b"].map((run_id) => ({ run_id, is_all: true, series: [] })) });
});

afterEach(() => stops.forEach((stop) => stop()));

async function answer(at: number, level: number, steps: Record<string, number> = {}): Promise<void> {
  const { question, answer: reply } = source.of("net_values")[at]!;
  const blocks = question.layers.map((layer) => blockWith(layer, { step: steps[layer] ?? question.step }));
  const levels = blocks.flatMap(() => new Array<number>(6).fill(level));
  await reply(framed({ type: "net_values", id: 1, step: question.step, blocks }, levels));
}

test("the address says what is asked for", () => {
  open("#netview?run=b&var=Grad&item=2&step=20");
  source.say(sceneAnswer(["x", "y"]));
  source.say(momentsAnswer([10, 20, 30]));
  const [asked] = source.of("net_values");
  expect(asked!.question).toMatchObject({ run_id: "b", variable: "Grad", item: 2, step: 20, layers: ["x", "y"] });
});

test("without a step the last moment is shown, and the next as it comes", async () => {
  open("#netview?run=a");
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([1, 2], { is_running: true }));
  expect(source.of("net_values")[0]!.question.step).toBe(2);
  await answer(0, 5);
  expect([...store.values.value.get("x")!.levels]).toEqual(new Array(6).fill(5));
  expect(moments.isSettled.value).toBe(true);
  source.say(momentsAnswer([3], { is_all: false, is_running: true }));
  // The old values stay until the new ones have come.
  expect(store.values.value.get("x")!.step).toBe(2);
  expect(moments.isSettled.value).toBe(false);
  const next = source.of("net_values").findIndex(({ question }) => question.step === 3);
  await answer(next, 6);
  expect(store.values.value.get("x")!.step).toBe(3);
});

test("layers whose record is older, or that have none, are marked", async () => {
  open("#netview?run=a");
  source.say(sceneAnswer(["x", "y", "z"]));
  source.say(momentsAnswer([7]));
  const { question, answer: reply } = source.of("net_values")[0]!;
  const blocks = [blockWith("x", { step: 7 }), blockWith("y", { step: 4 }), blockWith("z", { num_units: 0, why: "cut" })];
  await reply(framed({ type: "net_values", id: 1, step: question.step, blocks }, new Array<number>(12).fill(0)));
  expect(state.markOf("x")).toBeNull();
  expect(state.markOf("y")).toEqual({ kind: "old", step: 4 });
  expect(state.markOf("z")).toEqual({ kind: "missing", why: "cut" });
});

test("weights need a unit; the layers that it is not connected with say so", async () => {
  open("#netview?run=a&var=r.Wt");
  source.say(sceneAnswer(["x", "y"]));
  source.say(momentsAnswer([7]));
  expect(source.asked.length).toBe(0);
  expect(store.values.value.get("x")!.why).not.toBe("");
  store.selected.value = { layer: "y", unit: 3 };
  expect(route.value.params.get("layer")).toBe("y");
  expect(route.value.params.get("unit")).toBe("3");
  const [asked] = source.of("net_weights");
  expect(asked!.question).toMatchObject({ layer: "y", unit: 3, step: 7, direction: "received", variable: "Wt" });
  const reply = { type: "net_weights", id: 1, blocks: [blockWith("x", { step: 2 })], bias: 0.25, num_weights: 6 } as const;
  await asked!.answer(framed({ ...reply, blocks: [...reply.blocks] }, [1, 2, 3, 4, 5, 6]));
  expect([...store.values.value.get("x")!.levels]).toEqual([1, 2, 3, 4, 5, 6]);
  expect(store.values.value.get("y")!.levels.length).toBe(0);
  expect(state.weightFacts.value).toEqual({ bias: 0.25, numWeights: 6, missing: [] });
  // Weights are recorded when they change: an earlier record is no old one.
  expect(state.markOf("x")).toBeNull();
});

test("a variable or item that the network has not gives way to one that it has", () => {
  open("#netview?run=a&var=Nonsense&item=99");
  source.say(sceneAnswer(["x"]));
  expect(store.variable.value).toBe("Act");
  expect(store.item.value).toBe(3);
  expect(route.value.params.get("item")).toBe("3");
});

test("another run begins anew, and what comes late of the first is not shown in it", async () => {
  open("#netview?run=a");
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([7]));
  route.value = readRoute("#netview?run=b");
  expect(store.scene.value).toBeNull();
  await answer(0, 5);
  expect(store.values.value.size).toBe(0);
  expect(state.phase.value).toBe("waiting");
  source.say(sceneAnswer([]));
  expect(state.phase.value).toBe("empty");
});

test("a run that cannot be read says why, and is asked for once more", () => {
  open("#netview?run=a");
  for (const { listener } of source.open("net_scene")) listener.refuse("damaged");
  expect(state.phase.value).toBe("failed");
  expect(state.sceneFailure.value).toBe("damaged");
  state.tryAgain();
  expect(state.phase.value).toBe("waiting");
  source.say(sceneAnswer(["x"]));
  expect(state.phase.value).toBe("shown");
});

test("the run that the page chose is named in the address once there is something to see, until others are chosen", () => {
  open("#netview");
  expect(route.value.params.has("run")).toBe(false);
  source.say(sceneAnswer(["x"]));
  expect(route.value.params.get("run")).toBe("a");
  // One that somebody named is no choice of the page's.
  route.value = readRoute("#netview?run=b&runs=a");
  expect(runId.value).toBe("b");
  route.value = readRoute("#netview?run=a&runs=b");
  expect(runId.value).toBe("b");
});

test("the address names the run that is shown, also where there is nothing to see in it", () => {
  open("#netview");
  source.say(sceneAnswer(["x"]));
  expect(route.value.params.get("run")).toBe("a");
  route.value = readRoute("#netview?run=a&runs=b");
  source.say(sceneAnswer([]));
  expect(state.phase.value).toBe("empty");
  expect([runId.value, route.value.params.get("run")]).toEqual(["b", "b"]);
  // And the next choice is followed as before.
  route.value = readRoute("#netview?run=b&runs=a");
  expect([runId.value, route.value.params.get("run")]).toEqual(["a", "a"]);
});

test("a selection stays in the next run where the unit is there, and is dropped where it is not", () => {
  open("#netview?run=a&layer=x&unit=5");
  source.say(sceneAnswer(["x"]));
  route.value = readRoute("#netview?run=b&layer=x&unit=5");
  source.say(sceneAnswer(["x", "y"]));
  expect(store.selected.value).toEqual({ layer: "x", unit: 5 });
  route.value = readRoute("#netview?run=a&layer=x&unit=5");
  source.say(sceneAnswer(["other"]));
  expect(store.selected.value).toBeNull();
  expect(route.value.params.has("unit")).toBe(false);
});

test("a unit that an address names and the network has not is kept, so that the page can say so", () => {
  open("#netview?run=a&layer=x&unit=99");
  source.say(sceneAnswer(["x"]));
  expect(store.selected.value).toEqual({ layer: "x", unit: 99 });
});

test("hidden layers, height, fading and colours stand in the address, and come from it", () => {
  open("#netview?run=a&hide=x,y%252Cz&height=no&fade=0.4&arrows=no&centre=no");
  source.say(sceneAnswer(["x", "y,z", "w"]));
  expect(store.shownLayers.value.map(({ name }) => name)).toEqual(["w"]);
  expect([store.hasHeight.value, store.fading.value, look.value.isCentred]).toEqual([false, 0.4, false]);
  expect(store.hasArrows.value).toBe(false);
  store.hidden.value = new Set(["y,z", "100%"]);
  store.hasHeight.value = true;
  store.fading.value = 0;
  const { params } = readRoute(writeRoute(route.value));
  expect(params.get("hide")).toBe("y%2Cz,100%25");
  expect([params.get("height"), params.get("fade")]).toEqual([undefined, undefined]);
  route.value = readRoute(writeRoute(route.value));
  expect([...store.hidden.value]).toEqual(["y,z", "100%"]);
});

test("a variable of which the network has nothing gives way also when the address changes later", () => {
  open("#netview?run=a");
  source.say(sceneAnswer(["x"]));
  route.value = readRoute("#netview?run=a&var=Nonsense&only=nothing");
  expect(store.variable.value).toBe("Act");
  expect(store.shownLayers.value.length).toBe(1);
});

test("values of a unit of another run are not shown as its own", async () => {
  open("#netview?run=a&layer=x&unit=2&step=7");
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([7]));
  await source.of("net_unit")[0]!.answer(replyOf({ type: "net_unit", id: 1, values: { Act: 0.5 }, steps: { Act: 7 } }));
  expect(selectedReading.value).not.toBeNull();
  route.value = readRoute("#netview?run=b&layer=x&unit=2&step=7");
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([7]));
  expect(selectedReading.value).toBeNull();
});

test("weights that were not recorded are not said to be none", async () => {
  open("#netview?run=a&var=r.Wt&layer=y&unit=3");
  source.say(sceneAnswer(["x", "y"]));
  source.say(momentsAnswer([7]));
  const why = "y.weight was not recorded";
  const reply = { type: "net_weights", id: 1, blocks: [blockWith("x", { num_units: 0, why })], bias: null, num_weights: 0 } as const;
  await source.of("net_weights")[0]!.answer(framed({ ...reply, blocks: [...reply.blocks] }, []));
  expect(state.weightFacts.value!.missing).toEqual([why]);
});

test("over time the value under the pointer is that of its column", async () => {
  open("#netview?run=a&raster=yes&step=8");
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([7, 8]));
  const answered = { type: "net_raster", id: 1, steps: [7, 8], blocks: [blockWith("x")] } as const;
  const levels = Array.from({ length: 12 }, (_, at) => at);
  await source.of("net_raster")[0]!.answer(framed({ ...answered, steps: [7, 8], blocks: [...answered.blocks] }, levels));
  store.hovered.value = { layer: "x", unit: 4, moment: 0 };
  expect(source.of("net_unit").at(-1)!.question).toMatchObject({ unit: 4, step: 7 });
  await source.of("net_unit").at(-1)!.answer(replyOf({ type: "net_unit", id: 1, values: { Act: 0.5 }, steps: { Act: 7 } }));
  expect(hoveredReading.value!.step).toBe(7);
  store.hovered.value = { layer: "x", unit: 4, moment: 1 };
  expect(hoveredReading.value).toBeNull();
});

test("a bias of before holds: it is not old", () => {
  expect(state.isOlder("Act", 3, 7)).toBe(true);
  expect(state.isOlder("Bias", 3, 7)).toBe(false);
});

test("the way to another view does not change what is shown here, nor its address", () => {
  open("#netview?run=a&var=Grad");
  source.say(sceneAnswer(["x"]));
  route.value = readRoute("#graph?pass=p");
  expect(route.value.params.has("var")).toBe(false);
  expect(store.variable.value).toBe("Grad");
  expect(store.scene.value).not.toBeNull();
});

test("a unit has its exact values, and under the pointer only those of the moment that is shown", async () => {
  open("#netview?run=a&layer=x&unit=2&step=7");
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([7, 8]));
  store.hovered.value = { layer: "x", unit: 4 };
  const [chosen, pointed] = source.of("net_unit");
  expect([chosen!.question.unit, pointed!.question.unit]).toEqual([2, 4]);
  const values = { type: "net_unit", id: 1, values: { Act: 0.5, Net: "NaN" }, steps: { Act: 7, Net: 3 } } as const;
  await chosen!.answer(replyOf(values));
  await pointed!.answer(replyOf(values));
  expect(selectedReading.value!.values).toEqual([["Act", "0.5"], ["Net", "NaN"]]);
  expect(hoveredReading.value!.step).toBe(7);
  moments.goTo(1);
  expect(selectedReading.value!.step).toBe(7);
  expect(hoveredReading.value).toBeNull();
});

test("a lost connection ends following, and what is here can be scrubbed", async () => {
  open("#netview?run=a");
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([1, 2]));
  expect(moments.isFollowing.value).toBe(true);
  await answer(0, 5);
  source.connection.value = { state: "lost", lastHeard: 0, retryAt: 0 };
  expect(moments.isFollowing.value).toBe(false);
  moments.goTo(0);
  moments.goTo(1);
  expect(moments.isSettled.value).toBe(true);
});
