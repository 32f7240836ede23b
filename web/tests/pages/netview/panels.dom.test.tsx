import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keyTable } from "../../../src/app/App";
import * as moments from "../../../src/data/network/moments";
import * as state from "../../../src/data/network/network-state";
import * as store from "../../../src/data/network/store";
import { readRoute, route } from "../../../src/data/route";
import * as runs from "../../../src/data/runs";
import * as page from "../../../src/data/store";
import { shownArea, shownView } from "../../../src/data/views";
import { ItemPanel, NetTimeBar } from "../../../src/pages/netview/NetViewPage";
import { LayersPanel, legendTexts, useVariableKey, VariablePanel } from "../../../src/pages/netview/SidePanels";
import { StageNotes } from "../../../src/stage3d/network/StageNotes";
import { askForSearch } from "../../../src/ui/keys";
import type { NetVariable } from "../../../src/wire";
import { layerWith, momentsAnswer } from "../../network-samples";
import { FakeRuns, runsAnswer, runWith } from "../../run-listings";

let box: HTMLElement;

beforeEach(() => {
  box = document.body.appendChild(document.createElement("div"));
  const source = new FakeRuns();
  page.source.value = source;
  runs.startRuns(source);
  source.say(runsAnswer([runWith({ id: "a" })]));
  route.value = readRoute("#netview?run=a");
  state.forget();
  state.known.value = { runId: "a", rank: 0, source: "netview", num_items: 2, ranks: [0], note: "" };
  store.scene.value = { layers: ["in", "mid", "out"].map((name) => layerWith(name)), connections: [] };
  store.isolated.value = null;
  store.variable.value = "Act";
  store.variables.value = [variable("Act", "State"), variable("Net", "State"), variable("Grad", "Learn")];
});

afterEach(async () => {
  await act(() => render(null, box));
  box.remove();
});

function variable(name: string, group: string): NetVariable {
  return { name, group, about: `${name} in a sentence`, low: null, high: null };
}

function named(label: string): HTMLElement {
  return box.querySelector<HTMLElement>(`[aria-label="${label}"]`)!;
}

async function press(target: EventTarget, key: string): Promise<void> {
  await act(() => {
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
}

test("variables are one choice in groups; arrows go from one to the next, over groups and around", async () => {
  await act(() => render(<VariablePanel />, box));
  const radios = [...box.querySelectorAll<HTMLElement>("[role=radio]")];
  expect(radios.map((one) => one.textContent)).toEqual(["Act", "Net", "Grad"]);
  expect(radios.map((one) => one.tabIndex)).toEqual([0, -1, -1]);
  expect(radios[2]!.getAttribute("aria-description")).toBe("Grad in a sentence");
  await act(() => radios[1]!.click());
  expect(store.variable.value).toBe("Net");
  await press(radios[1]!, "ArrowRight");
  expect(store.variable.value).toBe("Grad");
  expect(document.activeElement).toBe(radios[2]);
  await press(radios[2]!, "ArrowDown");
  expect(store.variable.value).toBe("Act");
  const groups = [...box.querySelectorAll("[role=group]")].map((one) => [one.getAttribute("aria-label"), one.querySelectorAll("button").length]);
  expect(groups).toEqual([["State", 2], ["Learn", 1]]);
});

test("v leads to the variable that is shown", async () => {
  const WithKey = () => {
    useVariableKey();
    return <VariablePanel />;
  };
  await act(() => render(<WithKey />, box));
  await press(document.body, "v");
  expect(document.activeElement?.textContent).toBe("Act");
});

test("layers stand from output to input, are hidden, shown alone, and shown again", async () => {
  await act(() => render(<LayersPanel />, box));
  const names = () => store.shownLayers.value.map(({ name }) => name);
  expect([...box.querySelectorAll("li span.grow")].map((one) => one.textContent)).toEqual(["out", "mid", "in"]);
  await act(() => named("Hide mid").click());
  expect(names()).toEqual(["in", "out"]);
  await act(() => named("Isolate out").click());
  expect(names()).toEqual(["out"]);
  // From one alone, showing another leads back to all that were shown, and to it.
  await act(() => named("Show mid").click());
  expect(names()).toEqual(["in", "mid", "out"]);
  await act(() => named("Hide in").click());
  await act(() => [...box.querySelectorAll("button")].find((one) => one.textContent === "Show all")!.click());
  expect(names()).toEqual(["in", "mid", "out"]);
});

test("the slash leads to a filter of the layers, however few there are", async () => {
  await act(() => render(<LayersPanel />, box));
  askForSearch();
  expect(document.activeElement).toBe(named("Filter layers"));
});

test("the name of a layer has all of it as a tip, and is one piece that can be cut at its beginning", async () => {
  store.scene.value = { layers: [layerWith("enc.layers.1.norm1", { module: "LayerNorm" })], connections: [] };
  await act(() => render(<LayersPanel />, box));
  const name = box.querySelector<HTMLElement>(".layer-name")!;
  expect(name.title).toBe("enc.layers.1.norm1 · LayerNorm");
  expect(name.querySelector("bdi")!.textContent).toBe("enc.layers.1.norm1");
});

test("items are numbered as they were recorded, and counted beside that", async () => {
  store.item.value = 0;
  await act(() => render(<ItemPanel />, box));
  expect(box.querySelector(".panel-head .muted")!.textContent).toBe("item 0 · 2 items");
});

test("weights that were not recorded say how to record them; gradients and what a watcher kept do not", async () => {
  moments.lastList.value = moments.withNews(null, { runId: "a", rank: 0 }, momentsAnswer([7]));
  store.selected.value = { layer: "out", unit: 0 };
  const missing = { bias: null, numWeights: 0, missing: ["out.weight was not recorded"] };
  const said = async (variable: string, source: "netview" | "watch") => {
    store.variable.value = variable;
    state.known.value = { ...state.known.value!, source };
    state.weightFacts.value = missing;
    await act(() => render(<StageNotes />, box));
    return box.textContent;
  };
  expect(await said("r.Wt", "netview")).toContain('weights="all"');
  expect(await said("r.Grad", "netview")).not.toContain("weights=");
  expect(await said("r.Wt", "watch")).not.toContain("weights=");
  store.selected.value = null;
});

test("a layer whose values are older than the moment says of which step they are", async () => {
  const values = { levels: new Uint16Array(6), low: 0, high: 1, why: "" };
  store.values.value = new Map([["mid", { ...values, step: 40 }], ["out", { ...values, step: 50 }]]);
  state.shownStep.value = 50;
  await act(() => render(<LayersPanel />, box));
  expect([...box.querySelectorAll(".layer-mark")].map((one) => one.textContent)).toEqual(["step 40"]);
});

test("the time bar has the counters of its moment as text, and the step where none of them is it", async () => {
  const counters = { epoch: ["1", "2"], name: ["", "digit 3"] };
  moments.lastList.value = moments.withNews(null, { runId: "a", rank: 0 }, momentsAnswer([7, 8], { counters }));
  await act(() => render(<NetTimeBar />, box));
  const texts = () => [...box.querySelectorAll(".counters span")].map((one) => one.textContent);
  expect(texts()).toEqual(["Step 8", "Epoch 2", "Name digit 3"]);
  await act(() => moments.goTo(0));
  expect(texts()).toEqual(["Step 7", "Epoch 1"]);
  const trials = momentsAnswer([7, 8], { counters: { trial: ["7", "8"] } });
  await act(() => {
    moments.lastList.value = moments.withNews(null, { runId: "a", rank: 0 }, trials);
  });
  expect(texts()).toEqual(["Trial 7"]);
});

test("the numbers of the legend are written alike", () => {
  expect(legendTexts([1, 0.5, 0, -0.5, -1])).toEqual(["1.00", "0.50", "0", "−0.50", "−1.00"]);
  expect(legendTexts([10.76, 5.38, 0])).toEqual(["10.8", "5.4", "0"]);
  expect(legendTexts([0, 0])).toEqual(["0", "0"]);
  expect(legendTexts([2e-7, 1e-7, 0])[0]).toContain("e");
});

test("NetView is a view of its own, with keys of its own", () => {
  expect(shownView.value).toBe("netview");
  expect(shownArea.value).toBe("netview");
  const actions = Object.values(keyTable()).flatMap((rows) => rows.map(([, action]) => action));
  expect(actions).toContain("Go to NetView");
  expect(actions).toContain("Filter the layers");
});
