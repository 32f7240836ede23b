import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { returnFocus } from "../../src/ui/focus";

let box: HTMLElement;

beforeEach(() => {
  box = document.body.appendChild(document.createElement("div"));
});

afterEach(async () => {
  await act(() => render(null, box));
  box.remove();
});

async function show(hasDrawing: boolean, onVariable?: () => void): Promise<void> {
  const page = (
    <main onClick={returnFocus}>
      <button id="variable" role="radio" aria-checked={true} onClick={onVariable}>
        Act
      </button>
      <input id="box" type="checkbox" />
      <input id="slider" type="range" />
      <div class="picker">
        <button id="menu">More</button>
      </div>
      <div class="net-stage">{hasDrawing && <canvas id="drawing" class="above" tabIndex={0} />}</div>
    </main>
  );
  await act(() => render(page, box));
}

/** As the browser does it: the focus first, then the click. A key presses with a count of nought. */
function focusAfter(id: string, count: number): string {
  const pressed = document.getElementById(id)!;
  pressed.focus();
  pressed.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: count }));
  return document.activeElement!.id;
}

test("after a click of the mouse the drawing has the keys, after one of the keyboard the button keeps them", async () => {
  await show(true);
  expect(["variable", "box"].map((id) => focusAfter(id, 1))).toEqual(["drawing", "drawing"]);
  expect(["variable", "box"].map((id) => focusAfter(id, 0))).toEqual(["variable", "box"]);
});

test("sliders and menus keep the focus, and so does what a button led to", async () => {
  await show(true, () => document.getElementById("slider")!.focus());
  expect(["slider", "menu", "variable"].map((id) => focusAfter(id, 1))).toEqual(["slider", "menu", "slider"]);
});

test("without a drawing nothing keeps the focus", async () => {
  await show(false);
  focusAfter("variable", 1);
  expect(document.activeElement).toBe(document.body);
});
