import { afterEach, beforeEach, expect, test } from "vitest";
import { control } from "../../../src/data/control";
import * as page from "../../../src/data/store";
import { type Act, reasonAgainst } from "../../../src/pages/control/commands";
import type { ControlState } from "../../../src/wire";
import { controlWith, FakeControl } from "./answers";

const ACTS: readonly Act[] = ["init", "run", "step", "stop", "test", "set"];
let source: FakeControl;

beforeEach(() => {
  source = new FakeControl();
  page.source.value = source;
});

afterEach(() => {
  control.value = null;
  page.source.value = null;
});

function is(state: ControlState, doing = "Run", numItems = 25): void {
  const answer = controlWith({}, { state, doing });
  control.value = { ...answer, about: { ...answer.about!, num_test_items: numItems } };
}

test.each<[ControlState, Act[]]>([
  ["starting", ["stop"]],
  ["new", ["init"]],
  ["ready", ["init", "run", "step", "test", "set"]],
  ["busy", ["stop", "set"]],
  ["stopping", ["stop", "set"]],
  ["done", ["init", "test", "set"]],
  ["failed", ["init"]],
  ["died", ["init"]],
])("a training that is %s can be told to %j, and every other act says why not", (state, possible) => {
  is(state);
  const reasons = ACTS.map((act) => [act, reasonAgainst(act)] as const);
  expect(reasons.filter(([, reason]) => reason === "").map(([act]) => act)).toEqual(possible);
  for (const [, reason] of reasons) expect(reason).toMatch(/^$|^[A-Z].+\.$/);
});

test("what is under way is named", () => {
  is("busy", "Step 3 epochs");
  expect(reasonAgainst("run")).toBe("Step 3 epochs is under way: Stop first.");
});

test("without a test set nothing is tested, and without a server nothing is done", () => {
  is("ready", "", 0);
  expect(reasonAgainst("test")).toBe("The training has no test set.");
  source.connection.value = { state: "lost", lastHeard: 0, retryAt: 0 };
  for (const act of ACTS) expect(reasonAgainst(act)).toBe("The connection to the server is lost.");
  source.connection.value = { state: "connected" };
  control.value = null;
  for (const act of ACTS) expect(reasonAgainst(act)).not.toBe("");
});
