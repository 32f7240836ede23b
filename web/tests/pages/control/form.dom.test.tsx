import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { control, followControl, startControls } from "../../../src/data/control";
import { readRoute, route } from "../../../src/data/route";
import * as page from "../../../src/data/store";
import { FormPanel } from "../../../src/pages/control/FormPanel";
import { init } from "../../../src/pages/control/commands";
import { edit, revertAll, settleDrafts, shownSeed } from "../../../src/pages/control/drafts";
import type { ControlAnswer, ControlListing } from "../../../src/wire";
import { controlWith, FakeControl, FIELDS, listingWith } from "./answers";

let box: HTMLElement;
let source: FakeControl;
let stops: (() => void)[] = [];

beforeEach(async () => {
  box = document.body.appendChild(document.createElement("div"));
  source = new FakeControl();
  page.source.value = source;
  route.value = readRoute("#control?c=c");
  startControls(source);
  source.say({ type: "controls", id: 1, controls: [listingWith()] });
  stops = [followControl(source), settleDrafts()];
  await says();
  await act(() => render(<FormPanel />, box));
});

afterEach(async () => {
  revertAll();
  stops.forEach((stop) => stop());
  control.value = null;
  await act(() => render(null, box));
  box.remove();
});

const CODE = Object.fromEntries(FIELDS.map(({ name, value }) => [name, value]));

async function says(parts: Partial<ControlAnswer> = {}, listing: Partial<ControlListing> = {}): Promise<void> {
  await act(() => source.say(controlWith(parts, listing)));
}

function input(label: string): HTMLInputElement {
  const found = [...box.querySelectorAll("label")].find((one) => one.textContent === label);
  return box.querySelector<HTMLInputElement>(`#${CSS.escape(found!.htmlFor)}`)!;
}

function rowOf(label: string): HTMLElement {
  return input(label).closest<HTMLElement>(".field")!;
}

async function type(label: string, text: string): Promise<void> {
  const field = input(label);
  await act(() => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

async function press(label: string, key: string): Promise<void> {
  await act(() => {
    input(label).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
}

function button(name: string): HTMLButtonElement {
  const all = [...box.querySelectorAll("button")];
  return all.find((one) => (one.getAttribute("aria-label") ?? one.textContent) === name)!;
}

/** What was sent, once all of it was. */
async function tells(actions: unknown[]): Promise<void> {
  await vi.waitFor(() => expect(source.told).toEqual(actions));
}

async function click(name: string): Promise<void> {
  await act(() => button(name).click());
}

test("fields stand under their sections, in their order, with the values in force", () => {
  expect([...box.querySelectorAll("h3")].map((one) => one.textContent)).toEqual(["Network", "Optimizer", "View"]);
  expect(input("Learning rate").value).toBe("0.1");
  expect(input("Clip").value).toBe("");
  expect(button("Apply").getAttribute("aria-disabled")).toBe("true");
});

test("Enter applies a live parameter and no other; it is in force when the training says so", async () => {
  await type("Momentum", "0.8");
  await type("Learning rate", "5e-2");
  expect(rowOf("Learning rate").className).toContain("changed");
  await press("Learning rate", "Enter");
  await tells([{ type: "set_live", values: { rate: 0.05 } }]);
  await says({ values: { ...CODE, rate: 0.05 } });
  expect(rowOf("Learning rate").className).not.toContain("changed");
  // As it was typed, and no draft any more: what is changed elsewhere shows.
  expect(input("Learning rate").value).toBe("5e-2");
  await says({ values: { ...CODE, rate: 0.01 } });
  expect(input("Learning rate").value).toBe("0.01");
  expect(input("Momentum").value).toBe("0.8");
});

test("Apply takes all live ones that were changed; the others wait for Init, and say so", async () => {
  await type("Hidden", "40");
  expect(rowOf("Hidden").textContent).toContain("at the next Init");
  expect(button("Apply").title).toBe("What was changed takes effect at the next Init.");
  await press("Hidden", "Enter");
  await type("Momentum", "0.8");
  await type("Learning rate", "0.05");
  expect(box.textContent).toContain("3 changed");
  await click("Apply");
  await tells([{ type: "set_live", values: { rate: 0.05, momentum: 0.8 } }]);
});

test("Init takes all that stands in the form, and the seed that is shown", async () => {
  await type("Hidden", "40");
  await type("Clip", "2");
  edit("", "17");
  init();
  await tells([{ type: "init", values: { ...CODE, hidden: 40, clip: 2 }, seed: 17 }]);
  await says({ values: { ...CODE, hidden: 40, clip: 2 }, seed: 17 });
  expect(box.querySelectorAll(".changed")).toHaveLength(0);
  await says({ values: { ...CODE, hidden: 40, clip: 2 }, seed: 99 });
  expect(shownSeed.value).toBe(99);
});

test("what cannot be is said under its field, and nothing is sent", async () => {
  await type("Clip", "\u22121");
  expect(rowOf("Clip").querySelector(".hint")!.textContent).toBe("must be 0 or more, or empty");
  expect(input("Clip").getAttribute("aria-invalid")).toBe("true");
  await act(() => init());
  expect(source.told).toEqual([]);
  expect(document.activeElement).toBe(input("Clip"));
  await type("Momentum", "7");
  await press("Momentum", "Enter");
  await click("Apply");
  await type("Momentum", "0.7");
  await press("Momentum", "Enter");
  // This one, and none before it.
  await tells([{ type: "set_live", values: { momentum: 0.7 } }]);
});

test("what was typed outlives answers and a crash, and is taken back one by one or all at once", async () => {
  await type("Hidden", "40");
  await type("Learning rate", "0.05");
  await says({}, { state: "busy", doing: "Run" });
  await says({ fault: { error: "", message: "killed", place: "", trace: "" } }, { state: "died" });
  expect([input("Hidden").value, input("Learning rate").value]).toEqual(["40", "0.05"]);
  // There is nothing any more that it could take effect in.
  expect(rowOf("Learning rate").textContent).toContain("at the next Init");
  await press("Learning rate", "Enter");
  expect(source.told).toEqual([]);
  await press("Learning rate", "Escape");
  expect(input("Learning rate").value).toBe("0.1");
  expect(input("Hidden").value).toBe("40");
  await type("Momentum", "0.8");
  await click("Revert to 0.9");
  expect(input("Momentum").value).toBe("0.9");
  await click("Revert all");
  expect(input("Hidden").value).toBe("35");
});

test("what the training refuses stands under its field until that is changed", async () => {
  await type("Hidden", "4000");
  await says({ refusal: "must be 512 or less", refused_field: "hidden" });
  expect(rowOf("Hidden").querySelector(".hint")!.textContent).toBe("must be 512 or less");
  await type("Hidden", "400");
  expect(rowOf("Hidden").querySelector(".hint")).toBeNull();
});

test("a choice is made at once", async () => {
  const choice = input("Every") as unknown as HTMLSelectElement;
  await act(() => {
    choice.value = "never";
    choice.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await tells([{ type: "set_live", values: { every: "never" } }]);
});
