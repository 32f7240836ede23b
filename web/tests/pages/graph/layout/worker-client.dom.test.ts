import { afterEach, expect, test, vi } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { startLayoutWorker } from "../../../../src/pages/graph/drawing/layout-flow";
import type { LayoutQuestion, LayoutReply } from "../../../../src/ui/graph-layout/layout";
import { toLayoutGraph } from "../../../../src/ui/graph-layout/layout-graph";
import { residual } from "../../../pass-documents";

const graph = toLayoutGraph(buildHierarchy(residual(), "unrolled"), false);
const question: LayoutQuestion = { id: 7, open: [], graph };

afterEach(() => {
  vi.unstubAllGlobals();
  document.head.replaceChildren();
  document.body.replaceChildren();
});

function firstReply(): Promise<LayoutReply> {
  return new Promise((resolve) => {
    const worker = startLayoutWorker(resolve);
    worker.ask(question);
  });
}

function meta(): void {
  const element = document.createElement("meta");
  element.name = "torcheer-worker";
  element.content = "/static/worker.js";
  document.head.append(element);
}

test("without a worker the page lays out by itself", async () => {
  expect(await firstReply()).toMatchObject({ type: "laid-out", id: 7 });
});

test("a worker that may not be made is done without", async () => {
  meta();
  vi.stubGlobal("Worker", () => {
    throw new Error("forbidden");
  });
  expect(await firstReply()).toMatchObject({ type: "laid-out", id: 7 });
});

test("a worker that does not start hands over what it was asked", async () => {
  meta();
  vi.stubGlobal("Worker", class {
    onerror: ((event: Event) => void) | null = null;
    readonly terminate = vi.fn();
    postMessage(): void {
      queueMicrotask(() => this.onerror?.(new Event("error", { cancelable: true })));
    }
  });
  expect(await firstReply()).toMatchObject({ type: "laid-out", id: 7 });
});

test("a worker gets the questions, from the address that the page names", async () => {
  meta();
  const asked: LayoutQuestion[] = [];
  const addresses: string[] = [];
  vi.stubGlobal("Worker", class {
    onmessage: ((event: { data: LayoutReply }) => void) | null = null;
    constructor(address: URL) {
      addresses.push(address.pathname);
    }
    postMessage(one: LayoutQuestion): void {
      asked.push(one);
      queueMicrotask(() => this.onmessage?.({ data: { type: "failed", id: 7, reason: "so it came from here" } }));
    }
  });
  expect(await firstReply()).toMatchObject({ type: "failed" });
  expect(addresses).toEqual(["/static/worker.js"]);
  expect(asked).toEqual([question]);
});
