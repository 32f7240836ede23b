import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keyTable } from "../../../src/app/App";
import { startKeys } from "../../../src/app/keys";
import { controls, startControls } from "../../../src/data/control";
import { readRoute, route } from "../../../src/data/route";
import * as runs from "../../../src/data/runs";
import * as page from "../../../src/data/store";
import { shownArea, shownView } from "../../../src/data/views";
import { ControlPicker, ControlsPart } from "../../../src/pages/control/listings";
import { runsAnswer } from "../../run-listings";
import { FakeControl, listingWith } from "./answers";

startKeys();

let box: HTMLElement;
let source: FakeControl;

beforeEach(() => {
  box = document.body.appendChild(document.createElement("div"));
  source = new FakeControl();
  page.source.value = source;
  route.value = { view: null, params: new Map() };
  controls.value = null;
  runs.startRuns(source);
  startControls(source);
});

afterEach(async () => {
  await act(() => render(null, box));
  box.remove();
});

function says(...listings: Parameters<typeof listingWith>): void {
  source.say({ type: "controls", id: 1, controls: listings.map((one) => listingWith(one)) });
}

test("the start page lists the trainings with state and counters, each one click away", async () => {
  says({ state: "busy", doing: "Run" });
  await act(() => render(<ControlsPart />, box));
  const link = box.querySelector("a")!;
  expect(link.getAttribute("href")).toBe("#control?c=c");
  expect(link.textContent).toContain("etra25");
  expect(link.textContent).toContain("running");
  expect(link.textContent).toContain("run 0 / 2 · epoch 1 / 10 · trial 3 / 25");
  await act(() => source.say({ type: "controls", id: 1, controls: [] }));
  expect(box.textContent).toBe("");
});

test("a folder of passes with a training to control begins with the start page, where both are offered", () => {
  source.passes.value = [{ id: "p", name: "Net", detail: "", run_id: "", step: null }];
  source.say(runsAnswer([]));
  expect(shownView.value).toBe("graph");
  says({});
  expect(shownView.value).toBe("runs");
});

test("g and c go to Control, which has its own keys and nothing to search", () => {
  says({});
  for (const key of ["g", "c"]) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }
  expect(route.value.view).toBe("control");
  expect(shownArea.value).toBe("control");
  const keys = Object.values(keyTable()).flatMap((rows) => rows.map(([its]) => its.replaceAll(" ", "")));
  expect(keys).toEqual(expect.arrayContaining([".", "r", "s", "gc"]));
  expect(keys).not.toContain("/");
});

test("one of several trainings is chosen from a list in the top bar, by keys, too", async () => {
  source.say({ type: "controls", id: 1, controls: [listingWith(), listingWith({ id: "d", name: "digits" })] });
  route.value = readRoute("#control");
  await act(() => render(<ControlPicker />, box));
  await act(() => box.querySelector("button")!.click());
  const list = box.querySelector("[role=listbox]")!;
  for (const key of ["ArrowDown", "Enter"]) {
    await act(() => {
      list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    });
  }
  expect(route.value.params.get("c")).toBe("d");
  expect(box.querySelector("button")!.textContent).toContain("digits");
});
