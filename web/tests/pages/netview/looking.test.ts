import { beforeEach, expect, test } from "vitest";
import { blocksOf, rasterPlan } from "../../../src/data/network/feeds";
import * as store from "../../../src/data/network/store";
import { unitsOf } from "../../../src/data/network/unit-readings";
import {
  choiceOf,
  choices,
  choose,
  colouringOf,
  setCentred,
  setLimit,
  UNCHOSEN,
} from "../../../src/data/network/value-ranges";
import { counterText, exactText, indexOf, unitName, weightVariable } from "../../../src/data/network/words";
import { factorOf, stripOf, tableOf } from "../../../src/pages/netview/UnitStrip";
import { lastUpTo } from "../../../src/plot/lines";
import { axisOf } from "../../../src/plot/scale";
import { pageOf, paintThumbnail, pictureLayer } from "../../../src/stage3d/network/item-pictures";
import { blockWith, framed, gridWith, layerWith } from "../../network-samples";

beforeEach(() => {
  choices.value = new Map();
});

// --- colours -------------------------------------------------------------------------------------

test("values of both signs have zero in the middle, those of one sign begin at zero", () => {
  expect(colouringOf({ low: -1, high: 3 }, UNCHOSEN)).toMatchObject({ min: -3, max: 3, map: "diverging", isCentred: true });
  expect(colouringOf({ low: 0, high: 3 }, UNCHOSEN)).toMatchObject({ min: 0, max: 3, map: "sequential", isCentred: false });
  expect(colouringOf({ low: -4, high: -1 }, UNCHOSEN)).toMatchObject({ min: -4, max: 4, isCentred: true });
  // Crowded together far from zero they would all have one colour.
  expect(colouringOf({ low: 9, high: 10 }, UNCHOSEN)).toMatchObject({ min: 9, max: 10 });
});

test("limits have an extent, whatever the values are", () => {
  for (const [low, high] of [[0, 0], [2, 2], [-2, -2]] as const) {
    for (const isCentred of [null, true, false]) {
      const { min, max } = colouringOf({ low, high }, { ...UNCHOSEN, isCentred });
      expect(max).toBeGreaterThan(min);
      expect(low).toBeGreaterThanOrEqual(min);
      expect(high).toBeLessThanOrEqual(max);
    }
  }
  expect(colouringOf(null, UNCHOSEN).max).toBeGreaterThan(colouringOf(null, UNCHOSEN).min);
});

test("what somebody chose holds", () => {
  const chosen = { fixed: { min: -2, max: 5 }, isCentred: null, map: "grey" } as const;
  expect(colouringOf({ low: -1, high: 1 }, chosen)).toEqual({ min: -2, max: 5, isAuto: false, isCentred: false, map: "grey" });
  expect(colouringOf({ low: 2, high: 3 }, { ...UNCHOSEN, isCentred: false })).toMatchObject({ min: 2, max: 3 });
});

test("a limit by hand brings the other along where zero is in the middle, and nonsense is turned down", () => {
  choose("Act", { fixed: { min: -1, max: 1 }, isCentred: true });
  expect(setLimit("Act", "max", 4)).toBe("");
  expect(choiceOf("Act").fixed).toEqual({ min: -4, max: 4 });
  store.variable.value = "Net";
  choose("Net", { isCentred: false });
  expect(setLimit("Net", "min", 2)).not.toBe("");
  expect(setLimit("Net", "min", Number.NaN)).not.toBe("");
  expect(choiceOf("Net").fixed).toBeNull();
  setLimit("Net", "min", -3);
  setCentred("Net", true);
  expect(choiceOf("Net").fixed).toEqual({ min: -3, max: 3 });
});

// --- words ---------------------------------------------------------------------------------------

test("the index of a unit is that of the tensor of one item", () => {
  expect(indexOf([4, 5, 6], 2 * 30 + 3 * 6 + 1)).toEqual([2, 3, 1]);
  expect(indexOf([], 0)).toEqual([]);
  expect(unitName(layerWith("conv", { shape: [4, 5, 6] }), 79)).toBe("conv [2, 3, 1]");
  const picture = layerWith("Image", { shape: [3, 2, 2], grid: gridWith({ is_colour: true, rows: 2, columns: 2 }) });
  expect(unitName(picture, 3)).toBe("Image [:, 1, 1]");
  expect(unitsOf(picture, 3)).toEqual([3, 7, 11]);
});

test("numbers are exact, and what is no number has its sign", () => {
  expect(exactText(Math.fround(0.1))).toBe("0.1");
  expect(exactText(0.1 + 0.2)).toBe("0.30000000000000004");
  expect(exactText("-Infinity")).toBe("−∞");
  expect(exactText("NaN")).toBe("NaN");
  expect(counterText("11553")).toBe("11\u202f553");
  expect(counterText("digit 3")).toBe("digit 3");
});

test("r. and s. are weights, anything else is a variable of units", () => {
  expect(weightVariable("r.Wt")).toEqual({ direction: "received", name: "Wt" });
  expect(weightVariable("s.exp_avg")).toEqual({ direction: "sent", name: "exp_avg" });
  expect(weightVariable("Act")).toBeNull();
});

// --- what comes ----------------------------------------------------------------------------------

test("blocks are taken apart, each with bytes of its own", () => {
  const blocks = [blockWith("x", { num_units: 2 }), blockWith("none", { num_units: 0, why: "not there" }), blockWith("y", { num_units: 1 })];
  const found = blocksOf(framed({ type: "net_values", id: 1, step: 0, blocks }, [7, 8, 9]), blocks);
  expect([...found.get("x")!.levels]).toEqual([7, 8]);
  expect([...found.get("y")!.levels]).toEqual([9]);
  expect(found.get("none")).toMatchObject({ why: "not there" });
  expect(found.get("y")!.levels.buffer.byteLength).toBe(2);
  expect(() => blocksOf(framed({ type: "net_values", id: 1, step: 0, blocks }, [7, 8]), blocks)).toThrow("damaged");
});

test("the raster takes small layers first and never asks for more than it may", () => {
  const sized = (name: string, numUnits: number) => layerWith(name, { grid: gridWith({ num_units: numUnits }) });
  const plan = rasterPlan([sized("huge", 193_600), sized("fc", 4096), sized("out", 10)]);
  expect(plan.layers).toEqual(["out", "fc"]);
  expect(plan.numMoments).toBe(256);
  const wide = rasterPlan(Array.from({ length: 20 }, (_, at) => sized(`l${at}`, 4096)));
  expect(wide.numMoments * wide.layers.length * 4096).toBeLessThanOrEqual(4_000_000);
  expect(rasterPlan([sized("huge", 1e9)]).layers).toEqual([]);
});

// --- over time -----------------------------------------------------------------------------------

function lineOf(variable: string, values: number[]) {
  return { variable, steps: Float64Array.from(values.map((_, at) => 10 * at)), values: Float64Array.from(values) };
}

test("small lines are drawn larger by a power of ten, never above the largest", () => {
  expect(factorOf(0.0127, 0.422)).toBe(10);
  expect(factorOf(0.3, 0.5)).toBe(1);
  expect(factorOf(0, 1)).toBe(1);
  const strip = stripOf([lineOf("Act", [-1, 1]), lineOf("Grad", [0.001, Number.NaN])], () => false)!;
  expect(strip.lines.map(({ factor }) => factor)).toEqual([1, 1000]);
  expect(strip.values.low).toBeLessThanOrEqual(-1);
  expect(strip.steps).toEqual({ low: 0, high: 10 });
  expect(stripOf([lineOf("Act", [1])], () => true)).toBeNull();
  const flat = stripOf([lineOf("Act", [Number.NaN])], () => false)!;
  expect(flat.values.high).toBeGreaterThan(flat.values.low);
});

test("the numbers of the axis have the digits that tell them apart, and few of them", () => {
  const texts = (...values: number[]) => axisOf(stripOf([lineOf("Act", values)], () => false)!.values, 4).ticks.map(({ label }) => label);
  for (const values of [[0.33350153, 0.33350156], [-0.0172825, -0.01728250001], [12345.678, 12345.6781], [0.3335, 0.3341]]) {
    const written = texts(...values);
    expect(new Set(written).size, written.join(" ")).toBe(written.length);
    expect(written.length).toBeGreaterThan(1);
    for (const text of written) expect(text.length, text).toBeLessThanOrEqual(11);
  }
  expect(texts(0, 1)).toEqual(["0", "0.5", "1.0"]);
  expect(axisOf({ low: 7, high: 7 }, 4).ticks.map(({ label }) => label)).toEqual(["7"]);
});

test("the value at a moment is that of the last record up to it", () => {
  const steps = Float64Array.of(0, 10, 20);
  expect([-1, 0, 9, 10, 99].map((step) => lastUpTo(steps, step))).toEqual([-1, 0, 0, 1, 2]);
});

test("the table has a row for every step of any variable, the newest first", () => {
  const other = { variable: "Grad", steps: Float64Array.of(5), values: Float64Array.of(7) };
  const { rows, numAll } = tableOf([lineOf("Act", [1, 2]), other], 2);
  expect(numAll).toBe(3);
  expect(rows).toEqual([[10, 2, null], [5, null, 7]]);
});

// --- items ---------------------------------------------------------------------------------------

test("a picture is an input with rows and columns; a folded vector is none", () => {
  const picture = layerWith("Image", { is_input: true, shape: [1, 8, 8], grid: gridWith({ rows: 8, columns: 8 }) });
  const vector = layerWith("x", { is_input: true, shape: [64], grid: gridWith({ rows: 8, columns: 8 }) });
  expect(pictureLayer([picture, layerWith("fc")])?.name).toBe("Image");
  expect(pictureLayer([vector, layerWith("fc")])).toBeNull();
  expect(pictureLayer([])).toBeNull();
});

test("a small picture in colour has its colours, and is never larger than it may be", () => {
  const palette = { ramp: new Uint8ClampedArray(1024), danger: [0, 0, 0], surface: [0, 0, 0], none: [0, 0, 0] } as const;
  const grid = gridWith({ rows: 2, columns: 2, is_colour: true, num_units: 12 });
  const levels = Uint16Array.from([store.LEVELS, 0, 0, 0, 0, store.LEVELS, 0, 0, 0, 0, store.LEVELS, 0]);
  const { pixels } = paintThumbnail(grid, { levels, low: 0, high: 1, step: 0, why: "" }, palette);
  expect([...pixels.subarray(0, 12)]).toEqual([255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255]);
  const large = gridWith({ rows: 200, columns: 300, num_units: 60_000 });
  const small = paintThumbnail(large, { levels: new Uint16Array(60_000), low: 0, high: 1, step: 0, why: "" }, palette);
  expect(Math.max(small.width, small.height)).toBeLessThanOrEqual(64);
});

test("the page of items has the chosen one on it", () => {
  expect(pageOf(9, 12, 8)).toEqual([8, 9, 10, 11]);
  expect(pageOf(0, 3, 8)).toEqual([0, 1, 2]);
});
