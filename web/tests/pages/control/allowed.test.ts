import { expect, test } from "vitest";
import { type Act, whyNot } from "../../../src/pages/control/commands";
import type { ControlState } from "../../../src/wire";

const ACTS: readonly Act[] = ["init", "run", "step", "stop", "test", "set"];
const HERE = { isConnected: true, doing: "Run", hasTest: true };

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
  const reasons = ACTS.map((act) => [act, whyNot(act, { ...HERE, state })] as const);
  expect(reasons.filter(([, reason]) => reason === "").map(([act]) => act)).toEqual(possible);
  for (const [, reason] of reasons) expect(reason).toMatch(/^$|^[A-Z].+\.$/);
});

test("what is under way is named", () => {
  expect(whyNot("run", { ...HERE, state: "busy", doing: "Step 3 epochs" })).toBe("Step 3 epochs is under way: Stop first.");
});

test("without a test set nothing is tested, and without a server nothing is done", () => {
  expect(whyNot("test", { ...HERE, state: "ready", hasTest: false })).toBe("The training has no test set.");
  for (const act of ACTS) {
    expect(whyNot(act, { ...HERE, isConnected: false, state: "ready" })).toBe("The connection to the server is lost.");
    expect(whyNot(act, { ...HERE, state: null })).not.toBe("");
  }
});
