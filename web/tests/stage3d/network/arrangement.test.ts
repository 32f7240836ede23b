/** Where plates stand. */
import { expect, test } from "vitest";
import { arrange, stepsOf } from "../../../src/stage3d/network/arrangement";
import { curveOf, gapsBetween } from "../../../src/stage3d/network/frame";
import {
  cellOf,
  cellOfUnit,
  cellsOf,
  cornersOf,
  levelAt,
  middleOf,
  type Plate,
  unitAt,
} from "../../../src/stage3d/network/plates";
import { connect, dice, KINDS, layerOf } from "./scenes";

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `layer${at}`);
}

interface Box {
  readonly low: readonly number[];
  readonly high: readonly number[];
}

function boxOf(plate: Plate): Box {
  const corners = cornersOf(plate);
  const axes = [0, 1, 2];
  return {
    low: axes.map((axis) => Math.min(...corners.map((corner) => corner[axis]!))),
    high: axes.map((axis) => Math.max(...corners.map((corner) => corner[axis]!))),
  };
}

function placeOf(plates: readonly Plate[], name: string): Plate {
  return plates.find((plate) => plate.layer.name === name)!;
}

test.each(Object.entries(KINDS))("cells of the kind %s are numbered as the grid says", (_, kind) => {
  const layer = layerOf("a", kind);
  const cells = cellsOf(layer.grid);
  const [plate] = arrange([layer], [], false) as [Plate];
  const { tiles_across: across, columns, rows, gap } = layer.grid;
  const found = new Map<string, number>();
  for (let unit = 0; unit < cells.count; unit++) {
    const [tile, inside] = [Math.floor(unit / (rows * columns)), unit % (rows * columns)];
    const column = (tile % across) * (columns + gap) + (inside % columns);
    const row = Math.floor(tile / across) * (rows + gap) + Math.floor(inside / columns);
    expect(cellOfUnit(plate, unit)).toEqual({ column, row });
    expect(cellOf(layer.grid, unit)).toEqual({ column, row });
    found.set(`${column} ${row}`, unit);
  }
  for (let column = -1; column <= cells.columns; column++) {
    for (let row = -1; row <= cells.rows; row++) {
      const unit = found.get(`${column} ${row}`);
      expect(levelAt(cells, column, row)).toBe(unit ?? -1);
      expect(unitAt(layer.grid, { column, row })).toBe(unit ?? null);
    }
  }
});

test("no layers are no plates, and two that stand each beside the other have a place", () => {
  expect(arrange([], [], false)).toEqual([]);
  const beside = (name: string, other: string) => {
    const layer = layerOf(name);
    return { ...layer, place: { ...layer.place, relation: "rightof" as const, other } };
  };
  expect(arrange([beside("a", "b"), beside("b", "a")], [], true).length).toBe(2);
});

test("a few layers stand in one stack, the input below", () => {
  const plates = arrange(namesOf(4).map((name) => layerOf(name)), [], false);
  const heights = plates.map((plate) => middleOf(plate)[1]);
  expect(heights).toEqual([...heights].sort((a, b) => a - b));
  expect(new Set(heights).size).toBe(4);
  for (const plate of plates) expect(middleOf(plate)[0]).toBeCloseTo(0);
});

test.each([false, true])("none of 150 plates is in another, and all are about as wide as high (flat: %s)", (isFlat) => {
  const plates = arrange(namesOf(150).map((name) => layerOf(name, { columns: 8, rows: 8 })), [], isFlat);
  const boxes = plates.map(boxOf);
  const isApart = (a: Box, b: Box): boolean =>
    [0, 1, 2].some((axis) => a.high[axis]! < b.low[axis]! || b.high[axis]! < a.low[axis]!);
  const meeting = boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) => !isApart(a, b)));
  expect(meeting).toEqual([]);
  const [low, high] = [0, 1].map((axis) => [
    Math.min(...boxes.map((box) => box.low[axis]!)),
    Math.max(...boxes.map((box) => box.high[axis]!)),
  ]) as [[number, number], [number, number]];
  const aspect = (low[1] - low[0]) / (high[1] - high[0]);
  expect(aspect).toBeGreaterThan(0.6);
  expect(aspect).toBeLessThan(3);
});

test("ten units and a large picture can both be read", () => {
  const plates = arrange([layerOf("image", { columns: 224, rows: 224 }), layerOf("out", { columns: 10, rows: 1 })], [], false);
  const [image, out] = plates.map((plate) => boxOf(plate).high[0]! - boxOf(plate).low[0]!);
  expect(image! / out!).toBeLessThan(3);
});

test("branches stand side by side", () => {
  const layers = ["x", "left", "right", "sum"].map((name) => layerOf(name));
  const connections = [connect("x", "left"), connect("x", "right"), connect("left", "sum"), connect("right", "sum")];
  const plates = arrange(layers, connections, false);
  const [left, right] = [placeOf(plates, "left"), placeOf(plates, "right")].map(boxOf);
  expect(left!.low[1]).toBe(right!.low[1]);
  expect(left!.high[0]).toBeLessThan(right!.low[0]!);
});

test("what goes back does not count, and what is unknown comes next", () => {
  const layers = ["x", "state", "out", "probe"].map((name) => layerOf(name));
  const steps = stepsOf(layers, [connect("x", "state"), connect("state", "state"), connect("out", "state"), connect("state", "out")]);
  expect(Object.fromEntries(steps)).toEqual({ x: 0, state: 1, out: 2, probe: 3 });
});

test("what receives from nobody stands before what it goes into", () => {
  const layers = ["x", "a", "b", "positions", "c"].map((name) => layerOf(name));
  const steps = stepsOf(layers, [connect("x", "a"), connect("a", "b"), connect("b", "c"), connect("positions", "c")]);
  expect(steps.get("positions")).toBe(2);
});

test.each([false, true])("places by hand hold (flat: %s)", (isFlat) => {
  const layers = [
    layerOf("a"),
    layerOf("b", {}, { relation: "rightof", other: "a" }),
    layerOf("c", {}, { relation: "above", other: "b", offset: [0.5, 0, 0] }),
    layerOf("d", {}, { relation: "leftof", other: "a", scale: 2 }),
  ];
  const plates = arrange(layers, [], isFlat);
  const box = Object.fromEntries(plates.map((plate) => [plate.layer.name, boxOf(plate)]));
  expect(box.b!.low[0]).toBeGreaterThan(box.a!.high[0]!);
  expect(middleOf(plates[1]!)[1]).toBeCloseTo(middleOf(plates[0]!)[1]);
  expect(middleOf(plates[2]!)[1]).toBeGreaterThan(middleOf(plates[1]!)[1]);
  const width = box.c!.high[0]! - box.c!.low[0]!;
  expect(middleOf(plates[2]!)[0] - middleOf(plates[1]!)[0]).toBeCloseTo(0.5 * width);
  expect(box.d!.high[0]).toBeLessThan(box.a!.low[0]!);
  expect(plates[3]!.across[0]).toBeCloseTo(2 * plates[0]!.across[0]);
});

test("two that want to stand beside each other, and one beside nobody, all have a place", () => {
  const layers = [
    layerOf("a", {}, { relation: "rightof", other: "b" }),
    layerOf("b", {}, { relation: "rightof", other: "a" }),
    layerOf("c", {}, { relation: "above", other: "gone" }),
  ];
  const plates = arrange(layers, [], false);
  expect(plates).toHaveLength(3);
  for (const plate of plates) expect(middleOf(plate).every(Number.isFinite)).toBe(true);
});

test("between columns there is room for names, and arrows go there beside the column they come from", () => {
  const layers = namesOf(60).map((name, at) => layerOf(name, { columns: 8 + (at % 3), rows: 8 }));
  const plates = arrange(layers, [], false);
  const gaps = gapsBetween(plates);
  expect(gaps.length).toBeGreaterThan(0);
  const longer = arrange(layers.map((layer) => ({ ...layer, name: `a.much.longer.name.${layer.name}` })), [], false);
  const size = ({ from, to }: { from: number; to: number }): number => to - from;
  expect(size(gapsBetween(longer)[0]!)).toBeGreaterThan(size(gaps[0]!));
  for (const [at, source] of plates.slice(0, -1).entries()) {
    const [from, to] = [boxOf(source), boxOf(plates[at + 1]!)];
    if (to.low[0]! < from.high[0]!) continue;
    const way = curveOf(source, plates[at + 1]!, false, gaps);
    const gap = gaps.find((one) => one.from >= from.high[0]! - 1e-6)!;
    const falling = way.slice(1).filter((place, nth) => Math.abs(place[1] - way[nth]![1]) > 1e-6);
    for (const [x] of falling) {
      expect(x).toBeGreaterThan(gap.from - 1e-6);
      expect(x).toBeLessThan((gap.from + gap.to) / 2);
    }
    expect(way.at(-1)).not.toEqual(way.at(-2));
  }
});

test.each([false, true])("a few layers stand in one stack whatever their sizes (flat: %s)", (isFlat) => {
  const roll = dice(11);
  for (let nth = 0; nth < 200; nth++) {
    const any = (): number => 1 + Math.floor(roll() * 60);
    const plates = arrange(namesOf(4).map((name) => layerOf(name, { columns: any(), rows: any() })), [], isFlat);
    for (const plate of plates) expect(middleOf(plate)[0]).toBeCloseTo(0);
  }
});
