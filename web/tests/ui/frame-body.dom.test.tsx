import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readRoute, route } from "../../src/data/route";
import * as runs from "../../src/data/runs";
import { FrameBody } from "../../src/ui/RunsFrame";
import type { RecordKind } from "../../src/wire";
import { FakeRuns, runsAnswer, runWith, seriesWith } from "../run-listings";

let box: HTMLElement;
let source: FakeRuns;

beforeEach(() => {
  box = document.body.appendChild(document.createElement("div"));
  runs.index.value = new Map();
  route.value = readRoute("#training?runs=a");
  source = new FakeRuns();
  runs.startRuns(source);
  source.say(runsAnswer([runWith({ id: "a" })]));
});

afterEach(async () => {
  await act(() => render(null, box));
  box.remove();
});

async function shownWith(kinds: RecordKind[], hash = "#training?runs=a"): Promise<HTMLElement> {
  const series = kinds.map((kind) => seriesWith({ kind, name: kind }));
  source.say({ type: "index", id: 1, runs: [{ run_id: "a", is_all: true, series }] });
  route.value = readRoute(hash);
  await act(() => render(<FrameBody isForAll={false}>charts</FrameBody>, box));
  return box;
}

test("a run that has layers and no charts leads to NetView", async () => {
  const shown = await shownWith(["netview", "moment", "tensor"]);
  expect(shown.querySelector("a")!.getAttribute("href")).toBe("#netview?runs=a&run=a");
});

test("a run with layers and charts shows its charts", async () => {
  expect((await shownWith(["netview", "scalar"])).textContent).toBe("charts");
});

test("the other tabs of such a run are shown as ever", async () => {
  expect((await shownWith(["netview", "tensor"], "#tensors?runs=a")).textContent).toBe("charts");
});

test("a run that holds nothing yet is no network", async () => {
  expect((await shownWith([])).textContent).toBe("charts");
});
