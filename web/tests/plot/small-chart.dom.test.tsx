import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LineChart } from "../../src/plot/SmallChart";

beforeEach(() => {
  vi.stubGlobal("ResizeObserver", class { observe(): void { /* never */ } disconnect(): void { /* never */ } });
});
afterEach(() => {
  render(null, document.body);
  vi.unstubAllGlobals();
});

function shown(): { svg: SVGElement; press: (key: string) => Promise<void>; reading: () => string } {
  const line = { name: "loss", colour: "red", x: [0, 10, 20], y: [3, NaN, 1], end: "dot" as const };
  render(<LineChart lines={[line]} summary="loss over steps" height={120} />, document.body);
  const svg = document.querySelector("svg")!;
  return {
    svg,
    press: (key) => act(() => void svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }))),
    reading: () => document.querySelector("[role=status]")?.textContent ?? "",
  };
}

test("the arrow keys read a small chart point by point, from its end", async () => {
  const { press, reading } = shown();
  const heard: string[] = [];
  for (const key of ["ArrowLeft", "ArrowLeft", "Home", "End"]) {
    await press(key);
    heard.push(reading());
  }
  expect(heard).toEqual(["20: 1", "10: \u2013", "0: 3", "20: 1"]);
});

test("a chart says what it is, and where it has numbers on its axes", () => {
  const { svg } = shown();
  expect(svg.getAttribute("aria-label")).toBe("loss over steps");
  expect([...svg.querySelectorAll("text.e")].map((text) => text.textContent)).toContain("3");
  for (const path of svg.querySelectorAll("path")) expect(path.getAttribute("d")).not.toMatch(/NaN|undefined/);
});
