/** How values become heights, colours and rays, and how plates are drawn. */
import { expect, test } from "vitest";
import * as store from "../../../src/data/network/store";
import { heightOfLevel, highestOf, LEAST_HEIGHT, type Scaling, scalingOf, tintOfLevel } from "../../../src/data/network/value-ranges";
import { handlePageKey, neighbour } from "../../../src/stage3d/network/NetStage";
import { arrange } from "../../../src/stage3d/network/arrangement";
import { startCamera } from "../../../src/stage3d/network/camera";
import { formsOf, MOST_BARS, SEGMENT_FLOATS, Segments, sightOf, strongest } from "../../../src/stage3d/network/frame";
import { placeLabels } from "../../../src/stage3d/network/plate-labels";
import type { Stage } from "../../../src/stage3d/network/stage";
import { dice, layerOf } from "./scenes";

const { LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY } = store;

function levelOf(value: number, low: number, high: number): number {
  return Math.round(((value - low) / (high - low)) * LEVELS);
}

/** From 0 to 1, before the least height. */
function riseOfLevel(scaling: Scaling, level: number): number {
  return (heightOfLevel(scaling, level) - LEAST_HEIGHT) / (1 - LEAST_HEIGHT);
}

test("where both signs are shown, the farther from zero the higher", () => {
  const scaling = scalingOf({ min: -1, max: 1 }, { low: -2, high: 3 });
  const rise = (value: number): number => riseOfLevel(scaling, levelOf(value, -2, 3));
  expect(rise(0)).toBeCloseTo(0, 3);
  expect(rise(-0.5)).toBeCloseTo(0.5, 3);
  expect(rise(0.5)).toBeCloseTo(0.5, 3);
  expect(rise(-2)).toBe(1);
  expect(tintOfLevel(scaling, levelOf(0, -2, 3))).toBeCloseTo(0.5, 3);
  expect(tintOfLevel(scaling, levelOf(3, -2, 3))).toBe(1);
});

test("of one sign, the limit nearer to zero is the quiet one", () => {
  const above = scalingOf({ min: 1, max: 3 }, { low: 0, high: 4 });
  expect(riseOfLevel(above, levelOf(1, 0, 4))).toBeCloseTo(0, 3);
  expect(riseOfLevel(above, levelOf(2, 0, 4))).toBeCloseTo(0.5, 3);
  const below = scalingOf({ min: -3, max: -1 }, { low: -4, high: 0 });
  expect(riseOfLevel(below, levelOf(-3, -4, 0))).toBeCloseTo(1, 3);
  expect(riseOfLevel(below, levelOf(-1, -4, 0))).toBeCloseTo(0, 3);
  expect(tintOfLevel(below, levelOf(-3, -4, 0))).toBeCloseTo(0, 3);
});

test("what is no number has a height of its own and no colour of the map", () => {
  const scaling = scalingOf({ min: -1, max: 1 }, { low: -1, high: 1 });
  expect(heightOfLevel(scaling, NOT_THERE)).toBe(0);
  expect(heightOfLevel(scaling, PLUS_INFINITY)).toBe(1);
  expect(heightOfLevel(scaling, MINUS_INFINITY)).toBe(1);
  for (const code of [NOT_THERE, NOT_A_NUMBER, PLUS_INFINITY]) expect(tintOfLevel(scaling, code)).toBeNull();
});

test.each([
  [-3e38, 3e38],
  [0, 0],
  [5, 5],
  [-1e-40, 1e-40],
])("from %d to %d all heights and colours are numbers", (low, high) => {
  for (const [min, max] of [[-1, 1], [0, 0], [2, 2], [-3e38, 3e38]] as const) {
    const scaling = scalingOf({ min, max }, { low, high });
    for (const level of [0, 1000, LEVELS]) {
      expect(heightOfLevel(scaling, level)).toBeGreaterThan(0);
      expect(heightOfLevel(scaling, level)).toBeLessThanOrEqual(highestOf(scaling, false) + 1e-9);
      expect(tintOfLevel(scaling, level)).toBeGreaterThanOrEqual(0);
    }
  }
});

test("rays go to the strongest weights of all layers, whatever is no number left out", () => {
  const roll = dice(31);
  const blocks = new Map(
    ["a", "b", "hidden"].map((name) => {
      const levels = Uint16Array.from({ length: 3000 }, () => Math.floor(roll() * 65_536));
      return [name, { levels, low: -2 * roll() - 0.1, high: 1 + roll(), step: 0, why: "" }];
    }),
  );
  const all = ["a", "b"].flatMap((name) =>
    Array.from({ length: 3000 }, (_, unit) => store.valueOf(blocks.get(name)!, unit)),
  );
  const sizes = all.filter((value) => value !== null && Number.isFinite(value)).map((value) => Math.abs(value!));
  const wanted = sizes.sort((x, y) => y - x).slice(0, 50);
  const rays = strongest(blocks, (name) => name !== "hidden", 50);
  // The strongest come last: they are drawn above the others.
  const found = rays.map((ray) => Math.abs(ray.value)).reverse();
  expect(found).toHaveLength(50);
  for (const [at, size] of wanted.entries()) expect(found[at]).toBeCloseTo(size, 6);
});

test("bars are drawn while they are few, fields where they are many, and nothing rises that is too small to see", () => {
  const size = { width: 800, height: 600 };
  const layers = [layerOf("few", { columns: 20, rows: 20 }), layerOf("many", { columns: 300, rows: 300 })];
  const plates = arrange(layers, [], false);
  const sights = plates.map((plate) => ({ ...sightOf(plate, { ...startCamera(false), distance: 7 }, size), isRaised: true }));
  expect(300 * 300).toBeGreaterThan(MOST_BARS);
  expect(formsOf(sights, false)).toEqual(["bars", "field"]);
  expect(formsOf(sights, true)).toEqual(["flat", "flat"]);
  const far = plates.map((plate) => ({ ...sightOf(plate, { ...startCamera(false), distance: 30 }, size), isRaised: true }));
  expect(formsOf(far, false)[1]).toBe("flat");
});

test("no name stands over another, and a plate that matters keeps its own", () => {
  const size = { width: 400, height: 300 };
  const corner = (x: number, y: number) => [{ x, y }, { x: x + 60, y: y + 20 }];
  const labels = Array.from({ length: 30 }, (_, at) => ({
    name: `layer${at}`,
    about: "3×3",
    corners: corner(200 + (at % 5), 20 + at * 6),
    rank: at === 7 ? 100 : 1,
  }));
  const placed = placeLabels(labels, (text) => text.length * 6, false, size);
  expect(placed.map(({ name }) => name)).toContain("layer7");
  expect(placed.length).toBeGreaterThan(3);
  expect(placed.length).toBeLessThan(30);
  const boxes = placed.map(({ x, y, name, about, isStart }) => {
    const width = Math.max(name.length, about.length) * 6;
    const left = isStart ? x : x - width;
    return { left, right: left + width, top: y - 10, bottom: about === "" ? y + 2 : y + 16 };
  });
  for (const [at, a] of boxes.entries()) {
    for (const b of boxes.slice(at + 1)) {
      expect(a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom).toBe(true);
    }
  }
});

test("a name lies on no plate but its own, and a long one keeps its end", () => {
  const plate = (x: number, y: number) => [
    { x: x + 20, y },
    { x: x + 100, y: y + 4 },
    { x: x + 80, y: y + 44 },
    { x, y: y + 40 },
  ];
  const of = (name: string, x: number) => ({ name, about: "", corners: plate(x, 100), rank: x });
  const widthOf = (text: string): number => text.length * 6;
  const size = { width: 900, height: 400 };
  const [far] = placeLabels([of("right", 400), of("left", 100)], widthOf, false, size);
  expect(far).toMatchObject({ name: "right", isStart: false, x: 390 });
  // Its neighbour is where the name would be.
  const near = placeLabels([of("right", 210), of("left", 100)], widthOf, false, size).find(({ name }) => name === "right")!;
  expect(near.isStart).toBe(true);
  expect(near.x).toBeGreaterThan(210);
  const [long] = placeLabels([of("features.denseblock1.denselayer1.conv1", 400)], widthOf, false, size);
  expect(long!.name).toMatch(/^….*layer1\.conv1$/);
  expect(widthOf(long!.name)).toBeLessThanOrEqual(150);
});

test("lines keep their colours however many there are", () => {
  const segments = new Segments();
  for (let at = 0; at < 500; at++) {
    segments.add([at, 0, 0], [0, at, 0], { colour: [255, at % 256, 7], alpha: 1, width: 2 });
  }
  const { numbers } = segments;
  expect(segments.count).toBe(500);
  for (let at = 0; at < 500; at++) {
    const from = at * SEGMENT_FLOATS + 6;
    expect(numbers.slice(from, from + 4)).toEqual([1, (at % 256) / 255, 7 / 255, 1]);
    expect(numbers[at * SEGMENT_FLOATS + 4]).toBe(at);
  }
});

test("keys go from unit to unit, over the gap between tiles", () => {
  const layer = layerOf("a", { tiles_across: 2, columns: 3, rows: 2, gap: 1 });
  store.scene.value = { layers: [layer], connections: [] };
  expect(neighbour({ layer: "a", unit: 2 }, 1, 0)).toEqual({ layer: "a", unit: 6 });
  expect(neighbour({ layer: "a", unit: 0 }, -1, 0)).toEqual({ layer: "a", unit: 0 });
  expect(neighbour({ layer: "a", unit: 0 }, 0, 1)).toEqual({ layer: "a", unit: 3 });
  store.scene.value = null;
});

test("digits use cameras, with Shift they save them, and Escape lets go of one thing at a time", () => {
  const calls: string[] = [];
  const control = {
    fit: () => calls.push("fit"),
    zoomBy: (factor: number) => calls.push(`zoom ${factor}`),
    useCamera: (slot: number) => calls.push(`use ${slot}`),
    saveCamera: (slot: number) => calls.push(`save ${slot}`),
  } as unknown as Stage;
  const press = (key: string, code: string, shiftKey = false): boolean => handlePageKey(control, { key, code, shiftKey });
  expect(press("2", "Digit2")).toBe(true);
  expect(press("@", "Digit2", true)).toBe(true);
  expect(press("5", "Digit5")).toBe(false);
  expect(press("0", "Digit0")).toBe(true);
  expect(calls).toEqual(["use 2", "save 2", "fit"]);
  store.selected.value = { layer: "a", unit: 1 };
  store.isolated.value = "a";
  expect(press("Escape", "Escape")).toBe(true);
  expect([store.selected.value, store.isolated.value]).toEqual([null, "a"]);
  expect(press("Escape", "Escape")).toBe(true);
  expect(store.isolated.value).toBeNull();
  expect(press("Escape", "Escape")).toBe(false);
});
