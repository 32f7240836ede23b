import { beforeEach, expect, test } from "vitest";
import { signal } from "@preact/signals";
import { keepSelection, openPass, startSession } from "../src/session";
import {
  Refusal,
  type Connection,
  type OpenedPass,
  type PassListing,
  type Source,
} from "../src/source/source";
import * as store from "../src/store";
import { documentWith, opWith, smallDocument } from "./samples";

class FakeSource implements Source {
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "connected" });
  readonly canMove = true;
  answers: Record<string, () => Promise<OpenedPass>> = {};

  openPass(passId: string): Promise<OpenedPass> {
    return this.answers[passId]!();
  }
  tensor() {
    return Promise.resolve({ missing: "" });
  }
  figures() {
    return Promise.resolve([]);
  }
  refreshPasses(): void {
    // Nothing new.
  }
  retryNow(): void {
    // Connected.
  }
}

const pass = (id: string): PassListing => ({ id, name: `pass ${id}`, detail: "" });
const opened = (model_name: string): Promise<OpenedPass> =>
  Promise.resolve({ document: { ...smallDocument(), model_name }, seed: "0" });
let source: FakeSource;

beforeEach(() => {
  store.passId.value = null;
  store.document.value = null;
  store.form.value = "unrolled";
  store.opening.value = { state: "waiting" };
  source = new FakeSource();
});

const settle = async (): Promise<void> => {
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
};

test("the first pass is opened by itself, also when it comes late", async () => {
  startSession(source);
  expect(store.opening.value.state).toBe("empty");
  source.answers = { a: () => opened("A") };
  source.passes.value = [pass("a"), pass("b")];
  await settle();
  expect(store.opening.value.state).toBe("shown");
  expect(store.document.value?.model_name).toBe("A");
});

test("a pass that cannot be read is named with the reason, and the one before stays", async () => {
  source.answers = { a: () => opened("A"), b: () => Promise.reject(new Refusal("the file is cut short")) };
  source.passes.value = [pass("a"), pass("b")];
  startSession(source);
  await settle();
  await openPass(pass("b"));
  expect(store.opening.value).toEqual({ state: "failed", name: "pass b", reason: "the file is cut short" });
  expect(store.document.value?.model_name).toBe("A");
  expect(store.passId.value).toBe("a");
});

test("the pass chosen last is shown, whichever comes last", async () => {
  let finishSlow: (pass: OpenedPass) => void = () => undefined;
  source.answers = {
    slow: () => new Promise((resolve) => (finishSlow = resolve)),
    fast: () => opened("Fast"),
  };
  source.passes.value = [pass("slow"), pass("fast")];
  startSession(source);
  await openPass(pass("fast"));
  finishSlow(await opened("Slow"));
  await settle();
  expect(store.document.value?.model_name).toBe("Fast");
});

test("another pass starts with nothing selected", async () => {
  source.answers = { a: () => opened("A"), b: () => opened("B") };
  source.passes.value = [pass("a"), pass("b")];
  startSession(source);
  await settle();
  store.select(store.hierarchy.value!.nodeOfOp[1]!);
  await openPass(pass("b"));
  expect(store.selected.value).toBeNull();
});

test("the selection goes with its op into the rolled form and back", () => {
  const passes = [1, 2, 3].map((pass_num) =>
    opWith({
      label: `relu_1_0:${pass_num}`,
      pass_num,
      num_passes: 3,
      parents: pass_num > 1 ? [[pass_num - 2, "0"]] : [],
    }),
  );
  keepSelection();
  store.showPass(documentWith({ ops: passes }), "0");
  store.select(store.hierarchy.value!.nodeOfOp[2]!);
  store.form.value = "rolled";
  expect(store.selected.value).toBe(store.hierarchy.value!.nodeOfOp[0]);
  expect(store.hierarchy.value!.nodes.has(store.selected.value!)).toBe(true);
  store.form.value = "unrolled";
  expect(store.hierarchy.value!.nodes.has(store.selected.value!)).toBe(true);
});
