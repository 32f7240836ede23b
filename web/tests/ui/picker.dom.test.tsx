import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Option, Picker } from "../../src/ui/Picker";

const OPTIONS: Option[] = [
  { id: null, name: "one run", detail: "2" },
  { id: "a", name: "First", detail: "1" },
  { id: "b", name: "Second", detail: "2", title: "The second" },
  { id: null, name: "another run", detail: "" },
  { id: "c", name: "Third", detail: "3", isMuted: true },
];

let box: HTMLElement;
const choose = vi.fn();
const onOpen = vi.fn();

beforeEach(async () => {
  vi.clearAllMocks();
  vi.stubGlobal("ResizeObserver", class { observe(): void { /* never */ } disconnect(): void { /* never */ } });
  box = document.body.appendChild(document.createElement("div"));
  await act(() =>
    render(
      <Picker label="Things" options={() => OPTIONS} chosen="b" choose={choose} onOpen={onOpen}>
        Second
      </Picker>,
      box,
    ),
  );
  await act(() => button().click());
});

afterEach(async () => {
  await act(() => render(null, box));
  box.remove();
  vi.unstubAllGlobals();
});

function button(): HTMLButtonElement {
  return box.querySelector("button")!;
}

function list(): HTMLElement | null {
  return box.querySelector("[role=listbox]");
}

function active(): string {
  return box.querySelector(`[id='${list()!.getAttribute("aria-activedescendant")!}'] .clip`)!.textContent;
}

async function press(key: string): Promise<void> {
  await act(() => void list()!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })));
}

test("opened, the list has a name and the focus, and begins at what is chosen", () => {
  expect([list()!.getAttribute("aria-label"), document.activeElement, active()]).toEqual(["Things", list(), "Second"]);
  expect(button().getAttribute("aria-expanded")).toBe("true");
  expect(onOpen).toHaveBeenCalledTimes(1);
  expect([...box.querySelectorAll("[role=option]")].map((one) => one.getAttribute("aria-selected"))).toEqual(["false", "true", "false"]);
  expect(box.querySelectorAll(".heading").length).toBe(2);
});

test("keys go over headings and no further than the ends, and Enter chooses", async () => {
  await press("ArrowDown");
  expect(active()).toBe("Third");
  await press("ArrowDown");
  expect(active()).toBe("Third");
  await press("Home");
  expect(active()).toBe("First");
  await press("ArrowUp");
  expect(active()).toBe("First");
  await press("End");
  await press("Enter");
  expect(choose.mock.calls).toEqual([["c"]]);
  expect([list(), document.activeElement]).toEqual([null, button()]);
});

test("Escape and a press elsewhere close it, and choose nothing", async () => {
  await press("Escape");
  expect([list(), document.activeElement]).toEqual([null, button()]);
  await act(() => button().click());
  expect(list()).not.toBeNull();
  await act(() => void document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })));
  expect(list()).toBeNull();
  expect(choose).not.toHaveBeenCalled();
});

test("a press on a row chooses it", async () => {
  await act(() => box.querySelector<HTMLElement>("[title='The second']")!.click());
  expect(choose.mock.calls).toEqual([["b"]]);
  expect(list()).toBeNull();
});
