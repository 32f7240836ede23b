import { beforeEach, expect, test } from "vitest";
import { type Fetched, valueDesk, type Wanted } from "../../../src/data/network/feeds";
import { blockWith, FakeNet, framed, soon } from "../../network-samples";

let source: FakeNet;
let shown: { wanted: Wanted; fetched: Fetched }[];
let failures: string[];
let desk: ReturnType<typeof deskOf>;

function deskOf(maxBytes?: number) {
  const show = (wanted: Wanted, fetched: Fetched): unknown => shown.push({ wanted, fetched });
  return valueDesk(source, show, (reason) => failures.push(reason), maxBytes);
}

beforeEach(() => {
  source = new FakeNet();
  [shown, failures] = [[], []];
  desk = deskOf();
});

const PLACE = { run_id: "a", rank: 0, item: 0 };

function wantedAt(step: number, { variable = "Act", layers = ["x", "y"], isFinal = true } = {}): Wanted {
  return { asked: { ...PLACE, type: "net_values", step, variable, layers }, variable, isFinal };
}

/** Every layer that was asked for, all of its levels being the step. */
async function answer(at: number, steps: Record<string, number> = {}): Promise<void> {
  const { question, answer: reply } = source.of("net_values")[at]!;
  const blocks = question.layers.map((layer) => blockWith(layer, { step: steps[layer] ?? question.step }));
  const levels = blocks.flatMap(() => new Array<number>(6).fill(question.step));
  await reply(framed({ type: "net_values", id: 1, step: question.step, blocks }, levels));
}

const steps = (): number[] => source.of("net_values").map(({ question }) => question.step);

test("one question at a time, and of those that waited only the latest is asked", async () => {
  for (const step of [1, 2, 3, 4]) desk.want(wantedAt(step));
  expect(steps()).toEqual([1]);
  await answer(0);
  expect(steps()).toEqual([1, 4]);
  await answer(1);
  // What came on the way was shown: who scrubs sees something.
  expect(shown.map(({ wanted }) => wanted.asked.step)).toEqual([1, 4]);
  expect([...shown[1]!.fetched.blocks.get("y")!.levels]).toEqual(new Array(6).fill(4));
});

test("what was seen is shown again without asking, also while another answer is awaited", async () => {
  desk.want(wantedAt(1));
  await answer(0);
  desk.want(wantedAt(2));
  desk.want(wantedAt(1));
  expect(steps()).toEqual([1, 2]);
  expect(shown.at(-1)!.wanted.asked.step).toBe(1);
  // What comes too late is not shown over it.
  await answer(1);
  expect(shown.at(-1)!.wanted.asked.step).toBe(1);
});

test("an answer of another variable or item is not shown over what is wanted now", async () => {
  desk.want(wantedAt(1));
  desk.want(wantedAt(1, { variable: "Grad" }));
  await answer(0);
  expect(shown).toEqual([]);
  await answer(1);
  expect(shown.map(({ wanted }) => wanted.variable)).toEqual(["Grad"]);
});

test("only layers that are not here are asked for, and all are shown together", async () => {
  desk.want(wantedAt(1, { layers: ["x"] }));
  await answer(0);
  desk.want(wantedAt(1));
  expect(source.of("net_values")[1]!.question.layers).toEqual(["y"]);
  await answer(1);
  expect([...shown[1]!.fetched.blocks.keys()]).toEqual(["x", "y"]);
});

test("moments ahead are asked for when nothing else is, in their order, and not shown", async () => {
  desk.want(wantedAt(1), [wantedAt(2), wantedAt(3)]);
  await answer(0);
  await answer(1);
  await answer(2);
  expect(steps()).toEqual([1, 2, 3]);
  expect(shown.length).toBe(1);
  desk.want(wantedAt(3));
  expect(steps().length).toBe(3);
  expect(shown.at(-1)!.wanted.asked.step).toBe(3);
});

test("a record that may still come is asked for again, one that is there is kept", async () => {
  const running = { isFinal: false };
  desk.want(wantedAt(5, running));
  await answer(0, { y: 4 });
  desk.want(wantedAt(5, running));
  expect(source.of("net_values")[1]!.question.layers).toEqual(["y"]);
  await answer(1);
  expect(shown.at(-1)!.fetched.blocks.get("y")!.step).toBe(5);
  desk.want(wantedAt(5, running));
  expect(steps().length).toBe(2);
});

test("what is kept stays below its bytes", async () => {
  desk = deskOf(1000);
  for (const [at, step] of [1, 2, 3, 4].entries()) {
    desk.want(wantedAt(step));
    await answer(at);
  }
  desk.want(wantedAt(4));
  expect(steps().length).toBe(4);
  desk.want(wantedAt(1));
  expect(steps().length).toBe(5);
});

test("a failure is said once, is not asked again by itself, and the next wish is", async () => {
  desk.want(wantedAt(1), [wantedAt(2)]);
  await source.of("net_values")[0]!.refuse("gone");
  expect(failures).toEqual(["gone"]);
  expect(steps()).toEqual([1]);
  desk.want(wantedAt(3));
  expect(steps()).toEqual([1, 3]);
});

test("an answer with too few bytes is a failure, not a picture", async () => {
  desk.want(wantedAt(1));
  const blocks = [blockWith("x"), blockWith("y")];
  await source.of("net_values")[0]!.answer(framed({ type: "net_values", id: 1, step: 1, blocks }, [1, 2, 3]));
  expect(failures[0]).toContain("damaged");
  expect(shown).toEqual([]);
});

test("what was thinned or written anew is asked for again", async () => {
  desk.want(wantedAt(1));
  await answer(0);
  desk.forget();
  desk.want(wantedAt(1));
  expect(steps()).toEqual([1, 1]);
});

test("weights are those of the unit, and are kept for each unit", async () => {
  const wanted = (unit: number): Wanted => ({
    asked: { ...PLACE, type: "net_weights", step: 1, layer: "y", unit, direction: "received", variable: "Grad" },
    variable: "r.Grad",
    isFinal: true,
  });
  desk.want(wanted(3));
  const [first] = source.of("net_weights");
  expect(first!.question).toMatchObject({ layer: "y", unit: 3, direction: "received", variable: "Grad", step: 1 });
  const blocks = [blockWith("x", { step: 0 })];
  await first!.answer(framed({ type: "net_weights", id: 1, blocks, bias: 0.5, num_weights: 4 }, [1, 2, 3, 4, 5, 6]));
  expect(shown[0]!.fetched).toMatchObject({ bias: 0.5, numWeights: 4 });
  desk.want(wanted(3));
  expect(source.asked.length).toBe(1);
  desk.want(wanted(4));
  expect(source.asked.length).toBe(2);
});

test("after the end nothing is shown", async () => {
  desk.want(wantedAt(1));
  desk.stop();
  await answer(0);
  await soon();
  expect(shown).toEqual([]);
});
