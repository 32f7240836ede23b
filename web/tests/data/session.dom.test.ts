import { beforeEach, expect, test } from "vitest";
import { signal } from "@preact/signals";
import { route } from "../../src/data/route";
import { choosePass, dismissFailure, firstOf, keepSelection, openPass, startSession } from "../../src/data/session";
import {
  Refusal,
  type Connection,
  type OpenedPass,
  type PassListing,
  type Source,
} from "../../src/data/source";
import * as store from "../../src/data/store";
import { documentWith, opWith, smallDocument } from "../samples";

class FakeSource implements Source {
  readonly hasRuns = signal<boolean | null>(false);
  readonly hasLessons = signal<boolean | null>(false);
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
  ask() {
    return Promise.reject(new Refusal("nobody asks"));
  }
  follow() {
    return () => undefined;
  }
  refreshPasses(): void {
    // Nothing new.
  }
  retryNow(): void {
    // Connected.
  }
}

const pass = (id: string): PassListing => ({ id, name: `pass ${id}`, detail: "", run_id: "", step: null });
const opened = (model_name: string): Promise<OpenedPass> =>
  Promise.resolve({ document: { ...smallDocument(), model_name }, seed: "0" });
let source: FakeSource;

beforeEach(() => {
  route.value = { view: null, params: new Map() };
  store.passId.value = null;
  store.document.value = null;
  store.form.value = "unrolled";
  store.opening.value = { state: "waiting" };
  source = new FakeSource();
  // What an earlier test started listens no longer.
  startSession(source);
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

test("the pass that the address names is opened", async () => {
  source.answers = { a: () => opened("A"), b: () => opened("B") };
  source.passes.value = [pass("a"), pass("b")];
  route.value = { view: "graph", params: new Map([["pass", "b"]]) };
  startSession(source);
  await settle();
  expect(store.document.value?.model_name).toBe("B");
});

test("an old address says that its pass is not there, is not tried again and again, and leads on", async () => {
  let numTried = 0;
  source.answers = {
    gone: () => {
      numTried += 1;
      return Promise.reject(new Refusal("there is no such pass"));
    },
    a: () => opened("A"),
  };
  source.passes.value = [pass("a")];
  route.value = { view: "graph", params: new Map([["pass", "gone"]]) };
  startSession(source);
  await settle();
  expect(store.opening.value).toMatchObject({ state: "failed", reason: "there is no such pass" });
  source.passes.value = [pass("a")];
  await settle();
  expect(numTried).toBe(1);
  choosePass(pass("a"));
  await settle();
  expect(store.document.value?.model_name).toBe("A");
});

test("back to the pass that is still shown, the address names it again", async () => {
  source.answers = { a: () => opened("A"), b: () => Promise.reject(new Refusal("cut short")) };
  source.passes.value = [pass("a"), pass("b")];
  startSession(source);
  await settle();
  choosePass(pass("b"));
  await settle();
  expect(store.opening.value.state).toBe("failed");
  dismissFailure();
  expect(store.opening.value.state).toBe("shown");
  expect(route.value.params.get("pass")).toBe("a");
});

test("no pass is read before somebody looks at the graph", async () => {
  source.hasRuns.value = true;
  source.answers = { a: () => opened("A") };
  source.passes.value = [pass("a")];
  startSession(source);
  await settle();
  expect(store.document.value).toBeNull();
  route.value = { view: "graph", params: new Map() };
  await settle();
  expect(store.document.value?.model_name).toBe("A");
});

test("the first pass is the last one of the first chosen run that has some", () => {
  const pass = (id: string, runId: string, step: number): PassListing => ({ id, name: id, detail: "", run_id: runId, step });
  const passes = [pass("a", "one", 9), pass("b", "two", 3), pass("c", "two", 5), pass("d", "two", 4)];
  const firstOfChosen = (runs: string): string | undefined => {
    route.value = { view: "graph", params: new Map(runs === "" ? [] : [["runs", runs]]) };
    return firstOf(passes)?.id;
  };
  expect(firstOfChosen("none,two,one")).toBe("c");
  expect(firstOfChosen("none")).toBe("a");
  expect(firstOfChosen("")).toBe("a");
});
