import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { control, controlId, followControl, startControls } from "../../../src/data/control";
import { readRoute, route } from "../../../src/data/route";
import * as page from "../../../src/data/store";
import {
  ControlNews,
  FaultPanel,
  NoteStrip,
  RefusalStrip,
  actOnKey,
} from "../../../src/pages/control/ControlPage";
import { Toolbar } from "../../../src/pages/control/Toolbar";
import { usePageKeys } from "../../../src/ui/keys";
import {
  complaint,
  itemText,
  setStepLevel,
  stepText,
  whyNoNetwork,
} from "../../../src/pages/control/commands";
import { edit, revertAll } from "../../../src/pages/control/drafts";
import { chosenTable } from "../../../src/pages/control/tables/table-data";
import type { ControlAnswer, ControlListing } from "../../../src/wire";
import { controlWith, FakeControl, listingWith } from "./answers";

let box: HTMLElement;
let source: FakeControl;
let stopFollowing = (): void => undefined;

function Parts() {
  usePageKeys(actOnKey);
  return (
    <>
      <Toolbar />
      <RefusalStrip />
      <NoteStrip />
      <FaultPanel />
      <ControlNews />
    </>
  );
}

beforeEach(async () => {
  box = document.body.appendChild(document.createElement("div"));
  source = new FakeControl();
  page.source.value = source;
  route.value = readRoute("#control");
  complaint.value = "";
  stepText.value = "1";
  setStepLevel("trial");
  startControls(source);
  source.say({ type: "controls", id: 1, controls: [listingWith()] });
  stopFollowing = followControl(source);
  await says();
  await act(() => render(<Parts />, box));
});

afterEach(async () => {
  revertAll();
  stopFollowing();
  control.value = null;
  await act(() => render(null, box));
  box.remove();
});

async function says(listing: Partial<ControlListing> = {}, parts: Partial<ControlAnswer> = {}): Promise<void> {
  await act(() => source.say(controlWith(parts, listing)));
}

async function sets(change: () => unknown): Promise<void> {
  await act(() => void change());
}

function button(name: string): HTMLButtonElement {
  return [...box.querySelectorAll("button")].find((one) => one.textContent === name)!;
}

function enabled(): string[] {
  const acts = ["Init", "Run", "Stop", "Step", "Test item", "Test all"];
  return acts.filter((name) => button(name).getAttribute("aria-disabled") !== "true");
}

function alert(): Element | null {
  return box.querySelector("[role=alert]");
}

/** What was sent, once all of it was. */
async function tells(actions: unknown[]): Promise<void> {
  await vi.waitFor(() => expect(source.told).toEqual(actions));
}

async function key(name: string, parts: KeyboardEventInit = {}): Promise<void> {
  await act(() => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...parts }));
  });
}

test("buttons follow the state; Init is the primary one where there is nothing else to do", async () => {
  expect(enabled()).toEqual(["Init", "Run", "Step", "Test item", "Test all"]);
  expect(box.querySelectorAll(".primary")).toHaveLength(0);
  await says({ state: "busy", doing: "Step 3 epochs" });
  expect(enabled()).toEqual(["Stop"]);
  expect(box.querySelector(".control-badge")!.textContent).toBe("stepping");
  expect(box.querySelector<HTMLElement>(".control-badge")!.title).toBe("Step 3 epochs");
  expect(button("Run").title).toBe("Step 3 epochs is under way: Stop first.");
  await says({ state: "new" });
  expect(enabled()).toEqual(["Init"]);
  expect(button("Init").className).toContain("primary");
});

test("without a server all buttons are off, with the reason, and the counters stay", async () => {
  await sets(() => (source.connection.value = { state: "lost", lastHeard: 0, retryAt: 0 }));
  expect(enabled()).toEqual([]);
  expect(button("Run").title).toBe("The connection to the server is lost.");
  expect(box.textContent).toContain("last seen");
  expect(box.querySelector(".counters")!.textContent).toBe("Run0 / 2Epoch1 / 10Trial3 / 25");
  await act(() => button("Run").click());
  expect(source.told).toEqual([]);
});

test("steps are so many of a level; a number that is none steps nowhere", async () => {
  stepText.value = "3";
  setStepLevel("epoch");
  await act(() => button("Step").click());
  await key(".");
  await key("."); // one may wait for its turn, and no more
  await tells(new Array(2).fill({ type: "step", level: "epoch", count: 3 }));
  await sets(() => (stepText.value = "0"));
  await act(() => button("Step").click());
  await key(".");
  expect(source.told).toHaveLength(2);
  expect(button("Step").title).toContain("whole number");
});

test("an item is tested by its number, and only where there is such an item", async () => {
  await sets(() => (itemText.value = "24"));
  await act(() => button("Test item").click());
  expect(chosenTable.value).toBe("test items"); // where its result will be
  await sets(() => (itemText.value = "25"));
  await act(() => button("Test item").click());
  await act(() => button("Test all").click());
  await tells([{ type: "test_item", item: 24 }, { type: "test_all" }]);
  expect(button("Test item").title).toBe("The items are numbered from 0 to 24.");
});

test.each(["abc", "-5", "1.5", ""])("a seed that cannot be, %j, is refused at its field, and Init waits", async (text) => {
  const seed = box.querySelector<HTMLInputElement>("[aria-label=Seed]")!;
  await sets(() => edit("", text));
  expect(seed.value).toBe(text);
  expect(box.querySelector(`#${CSS.escape(seed.getAttribute("aria-describedby")!)}`)!.textContent).toBe("must be a whole number, 0 or more");
  await act(() => button("Init").click());
  expect(alert()!.textContent).toBe("Init waits for the seed that is marked in red.");
  expect(document.activeElement).toBe(seed);
  await sets(() => {
    seed.value = "7";
    seed.dispatchEvent(new Event("input", { bubbles: true }));
  });
  expect(seed.getAttribute("aria-invalid")).toBe("false");
  expect(alert()).toBeNull();
  await act(() => button("Init").click());
  await tells([expect.objectContaining({ type: "init", seed: 7 })]);
});

test("a second stop ends the process; the second half of a double click and a key held down do not", async () => {
  await says({ state: "busy", doing: "Run" });
  await act(() => button("Stop").click());
  await tells([{ type: "stop" }]);
  await says({ state: "stopping", doing: "Run" });
  await sets(() => button("Stop").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 })));
  await key("s", { repeat: true });
  expect(source.told).toHaveLength(1);
  await key("s");
  await tells([{ type: "stop" }, { type: "abort" }]);
});

test("keys are for the training, but not while somebody types, nor with Control", async () => {
  await key("r");
  await key("r", { ctrlKey: true });
  await act(() => {
    box.querySelector("input")!.dispatchEvent(new KeyboardEvent("keydown", { key: "r", bubbles: true }));
  });
  await tells([{ type: "run" }]);
});

test("what the server or the training turns down is said until the next thing is asked for", async () => {
  source.refusals.push("Run is under way: stop it first.");
  button("Run").click();
  await vi.waitFor(() => expect(alert()?.textContent).toBe("Run is under way: stop it first."));
  button("Run").click();
  await vi.waitFor(() => expect(alert()).toBeNull());
  await says({}, { refusal: "is no parameter of this training", refused_field: "gone" });
  expect(alert()?.textContent).toBe("gone is no parameter of this training");
  await act(() => box.querySelector<HTMLElement>("[aria-label=Dismiss]")!.click());
  expect(alert()).toBeNull();
});

test("a crash is shown with its place and its traceback, and said aloud", async () => {
  const fault = { error: "ZeroDivisionError", message: "division by zero", place: "a.py, line 3, in loss", trace: "Traceback: <b>x</b>" };
  await says({ state: "failed" }, { fault });
  const panel = box.querySelector<HTMLElement>("[aria-label='What went wrong']")!;
  expect(panel.textContent).toContain("Training stopped: ZeroDivisionError");
  expect(panel.textContent).toContain("a.py, line 3, in loss");
  expect(panel.querySelector("pre")!.textContent).toBe(fault.trace);
  await vi.waitFor(() =>
    expect(box.querySelector("[role=status]")!.textContent).toBe("Training stopped: ZeroDivisionError: division by zero"),
  );
  await says({ state: "ready" }, { fault });
  expect(box.querySelector("[aria-label='What went wrong']")).toBeNull();
});

test("the output of a process that died begins where the user's own code did", async () => {
  const trace = 'Fatal error\n  File "/t/torch/a.py", line 4 in call\n  File "/u/a.py", line 40 in forward\n  File "/u/a.py", line 4 in go\n';
  await says({ state: "died" }, { fault: { error: "", message: "it crashed", place: "a.py, line 40, in forward", trace } });
  expect(box.querySelector("pre")!.textContent).toBe(trace);
  expect(box.querySelector("pre b")!.textContent).toBe('  File "/u/a.py", line 40 in forward');
  await says({ state: "died" }, { fault: { error: "", message: "it was killed", place: "", trace } });
  expect(box.querySelector("pre b")).toBeNull();
});

test("notes of the training are shown until they are read, and again after the next Init", async () => {
  const why = "the network cannot be shown in NetView: it has no layers. The training goes on.";
  const note = (runId: string): Partial<ControlAnswer> => ({ note: `${why}\nthe loss is NaN`, run_ids: [runId] });
  await says({}, note("a"));
  const strip = (): string | undefined => box.querySelector("[aria-label='Notes of the training']")?.textContent;
  expect(strip()).toBe("The loss is NaN.");
  expect(whyNoNetwork.value).toBe("it has no layers. The training goes on.");
  await act(() => box.querySelector<HTMLElement>("[aria-label='Dismiss the notes']")!.click());
  expect(strip()).toBeUndefined();
  await says({}, note("b"));
  expect(strip()).toBe("The loss is NaN.");
});

test("one of several trainings is chosen by the address; what is the same in an answer is the same object", async () => {
  const before = control.value;
  await says({ state: "busy" });
  expect(control.value!.about).toBe(before!.about);
  expect(control.value!.values).toBe(before!.values);
  await sets(() => (route.value = readRoute("#control?c=other")));
  expect(controlId.value).toBe("other");
  expect(control.value).toBeNull();
  expect(source.open("control").map(({ question }) => question)).toEqual([{ type: "control", control_id: "other" }]);
});
