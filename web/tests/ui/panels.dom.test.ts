import { beforeEach, expect, test } from "vitest";
import { route } from "../../src/data/route";
import * as store from "../../src/data/store";
import {
  classOf,
  openByDefault,
  panels,
  panelWidth,
  resizePanel,
  setPanel,
  startPanels,
} from "../../src/ui/panels";
import { FakeRuns } from "../run-listings";

function pageOf(width: number): void {
  Object.defineProperty(globalThis, "innerWidth", { value: width, configurable: true });
  dispatchEvent(new Event("resize"));
}

startPanels();
beforeEach(() => {
  pageOf(700);
  pageOf(1440);
});

test("panels fold away below 1100 px and are sheets below 800 px", () => {
  expect([1440, 1100, 1099, 800, 799].map(classOf)).toEqual(["wide", "wide", "middle", "middle", "narrow"]);
  expect(openByDefault("left", "wide", "graph")).toBe(true);
  expect(openByDefault("left", "middle", "graph")).toBe(false);
  expect(openByDefault("right", "narrow", "graph")).toBe(false);
});

test("a panel that was opened by hand stays so until the page changes its class", () => {
  pageOf(1000);
  setPanel("left", true);
  expect(panels.value.left).toBe(true);
  pageOf(1050);
  expect(panels.value.left).toBe(true);
  pageOf(1440);
  pageOf(1000);
  expect(panels.value.left).toBe(false);
});

test("one sheet makes way for the other", () => {
  pageOf(700);
  setPanel("left", true);
  setPanel("right", true);
  expect(panels.value).toMatchObject({ left: false, right: true });
});

test("widths stay within their limits and leave the drawing its room", () => {
  resizePanel("left", 10);
  expect(panelWidth.value.left).toBe(232);
  resizePanel("left", 9999);
  resizePanel("right", 428);
  pageOf(1440);
  expect(panelWidth.value).toEqual({ left: 428, right: 428 });
  pageOf(1100);
  const { left, right } = panelWidth.value;
  expect(1100 - left - right).toBeGreaterThanOrEqual(480);
});

test("each part of the page keeps its own panels", () => {
  store.source.value = new FakeRuns();
  route.value = { view: "training", params: new Map() };
  expect(panelWidth.value.left).toBe(248);
  setPanel("left", false);
  route.value = { view: "graph", params: new Map() };
  expect(panels.value.left).toBe(true);
  route.value = { view: "tensors", params: new Map() };
  expect(panels.value.left).toBe(false);
  store.source.value = null;
});

test("the comparison leaves the table of runs its room, and folds away where there is none", () => {
  store.source.value = new FakeRuns();
  route.value = { view: "runs", params: new Map() };
  expect(panelWidth.value.right).toBe(428);
  pageOf(1280);
  expect(1280 - panelWidth.value.right).toBeGreaterThanOrEqual(900);
  pageOf(1000);
  expect(panels.value.right).toBe(false);
  store.source.value = null;
});
