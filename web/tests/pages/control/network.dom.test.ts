import { afterEach, beforeEach, expect, test } from "vitest";
import { control } from "../../../src/data/control";
import * as moments from "../../../src/data/network/moments";
import { givenRun, runId } from "../../../src/data/network/moments";
import * as state from "../../../src/data/network/network-state";
import * as view from "../../../src/data/network/store";
import { readRoute, route } from "../../../src/data/route";
import * as page from "../../../src/data/store";
import { chooseVariable, followNetwork } from "../../../src/pages/control/network/NetworkPanel";
import { blockWith, FakeNet, framed, momentsAnswer, sceneAnswer } from "../../network-samples";
import { controlWith } from "./answers";

let source: FakeNet;
let stop: () => void;

beforeEach(() => {
  source = new FakeNet();
  page.source.value = source;
  state.forget();
  moments.lastList.value = null;
  // The address of this page says other things by the same names.
  route.value = readRoute("#control?c=c&step=1&run=other&rank=2");
  control.value = controlWith({ run_id: "r0", run_ids: ["r0"], all_run_ids: ["r0"] });
  chooseVariable("Act");
  stop = followNetwork(source);
});

afterEach(() => stop());

async function show(step: number): Promise<void> {
  const { question, answer } = source.of("net_values").findLast((one) => one.question.step === step)!;
  const blocks = question.layers.map((layer) => blockWith(layer, { step }));
  await answer(framed({ type: "net_values", id: 1, step, blocks }, blocks.flatMap(() => new Array<number>(6).fill(step))));
}

test("the network is that of the run that is written now, at its newest moment", async () => {
  expect(source.open("net_scene")[0]!.question).toMatchObject({ run_id: "r0", rank: 0 });
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([1, 2], { is_running: true }));
  await show(2);
  source.say(momentsAnswer([3], { is_all: false, is_running: true }));
  expect(source.of("net_values").some(({ question }) => question.step === 3)).toBe(true);
  expect(view.values.value.get("x")!.step).toBe(2);
  await show(3);
  expect(view.values.value.get("x")!.step).toBe(3);
});

test("with the next run what is seen stays until there is something of it", async () => {
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([8]));
  await show(8);
  control.value = controlWith({ run_id: "r1", run_ids: ["r0", "r1"], all_run_ids: ["r0", "r1"] });
  expect(runId.value).toBe("r1");
  expect(state.isKnown.value).toBe(false);
  expect(view.values.value.get("x")!.step).toBe(8);
  // A run of which nothing was recorded yet.
  source.say(sceneAnswer([]));
  expect(view.scene.value?.layers).toHaveLength(1);
  source.say(sceneAnswer(["x"]));
  expect(state.isKnown.value).toBe(true);
  expect(view.values.value.get("x")!.step).toBe(8);
  source.say(momentsAnswer([0]));
  await show(0);
  expect(view.values.value.get("x")!.step).toBe(0);
});

test("of a layer that became larger the old values go", async () => {
  source.say(sceneAnswer(["x"]));
  source.say(momentsAnswer([8]));
  await show(8);
  control.value = controlWith({ run_id: "r1", run_ids: ["r1"], all_run_ids: ["r0", "r1"] });
  const answer = sceneAnswer(["x"]);
  answer.scene.layers[0]!.grid.num_units = 12;
  source.say(answer);
  expect(view.values.value.size).toBe(0);
});

test("what was seen of another training is not shown", () => {
  source.say(sceneAnswer(["x"]));
  control.value = controlWith({ run_id: "q", run_ids: ["q"], all_run_ids: ["q"] }, { id: "d" });
  expect(view.scene.value).toBeNull();
});

test("a variable that the next run has not yet comes back when it has it", () => {
  source.say(sceneAnswer(["x"]));
  const [first] = view.variables.value;
  view.variables.value = [first!, { ...first!, name: "Grad" }];
  chooseVariable("Grad");
  expect(view.variable.value).toBe("Grad");
  view.variables.value = [first!];
  expect(view.variable.value).toBe("Act");
  view.variables.value = [first!, { ...first!, name: "Grad" }];
  expect(view.variable.value).toBe("Grad");
});

test("the page NetView is as it was afterwards", () => {
  stop();
  expect(givenRun.value).toBeNull();
  expect(moments.wantedStep.value).toBe(1);
});
