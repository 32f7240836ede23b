/** Which unit is under the pointer, held against looking at every single bar. */
import { describe, expect, test } from "vitest";
import { NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY } from "../../../src/data/network/store";
import { heightOfLevel, highestOf, scalingOf } from "../../../src/data/network/value-ranges";
import { arrange } from "../../../src/stage3d/network/arrangement";
import { project, type Ray, rayThrough } from "../../../src/stage3d/camera";
import { type DrawnPlate, pick, through } from "../../../src/stage3d/network/picking";
import {
  cellOf,
  cellOfUnit,
  inSpace,
  marginsOf,
  middleOf,
  type Plate,
  rasterCells,
  rayOnPlate,
} from "../../../src/stage3d/network/plates";
import { anyCamera, dice, KINDS, layerOf } from "./scenes";

const SIZE = { width: 500, height: 400 };
const SCALING = scalingOf({ min: -1, max: 1 }, { low: -1, high: 1 });
const CODES = [NOT_THERE, NOT_A_NUMBER, PLUS_INFINITY];

function drawnOf(plate: Plate, roll: () => number, isRaised: boolean, inset: number): DrawnPlate {
  const levels = Uint16Array.from({ length: plate.layer.grid.num_units }, () =>
    roll() < 0.1 ? CODES[Math.floor(roll() * 3)]! : Math.floor(roll() * 65_532),
  );
  return { plate, levels, scaling: SCALING, isRaised, highest: highestOf(SCALING, true), inset };
}

interface Found {
  readonly unit: number | null;
  readonly at: number;
}

/** Every bar and every cell of the floor, one after the other. */
function slowly({ plate, levels, isRaised, inset }: DrawnPlate, ray: Ray): Found | null {
  const { origin, direction } = rayOnPlate(plate, ray);
  const { grid } = plate.layer;
  const floor = -origin[2] / direction[2];
  const [x, y] = [origin[0] + floor * direction[0], origin[1] + floor * direction[1]];
  const units = Array.from({ length: grid.is_colour ? grid.num_units / 3 : grid.num_units }, (_, unit) => unit);
  const isUnder = (unit: number): boolean => {
    const { column, row } = cellOf(grid, unit);
    return Math.floor(x) === column && Math.floor(y) === row;
  };
  const found: Found[] = units.map((unit) => {
    const { column, row } = cellOf(grid, unit);
    const top = [column + 1 - inset, row + 1 - inset, heightOfLevel(SCALING, levels![unit]!)] as const;
    const [near, far] = through(origin, direction, [column + inset, row + inset, 0], top);
    return { unit, at: isRaised && far >= near && far >= 0 ? Math.max(1e-12, near) : Infinity };
  });
  const [byColumns, byRows] = marginsOf(plate);
  const { columns, rows } = plate.cells;
  const isOn = Math.abs(x - columns / 2) <= columns / 2 + byColumns && Math.abs(y - rows / 2) <= rows / 2 + byRows;
  // A little later: what stands on the floor is met first.
  found.push({ unit: units.find(isUnder) ?? null, at: isOn && floor > 0 ? floor * (1 + 1e-12) : Infinity });
  const best = found.reduce((one, other) => (other.at < one.at ? other : one));
  return best.at === Infinity ? null : best;
}

describe.each(Object.entries(KINDS))("a plate of the kind %s", (_, kind) => {
  test.each([
    [true, 0],
    [true, 0.08],
    [false, 0.08],
  ])("is picked as it is seen, from anywhere (raised: %s, room between bars: %d)", (isRaised, inset) => {
    const roll = dice(17);
    const [plate] = arrange([layerOf("a", kind)], [], false) as [Plate];
    let numHits = 0;
    for (let nth = 0; nth < 40; nth++) {
      const drawn = drawnOf(plate, roll, isRaised && kind.is_colour !== true, inset);
      const camera = anyCamera(roll, [0, 0, 0]);
      for (let pixel = 0; pixel < 25; pixel++) {
        const ray = rayThrough(camera, SIZE, roll() * SIZE.width, roll() * SIZE.height);
        const hit = pick([drawn], ray);
        const slow = slowly(drawn, ray);
        expect(hit?.unit ?? null).toBe(slow?.unit ?? null);
        expect(hit === null).toBe(slow === null);
        if (hit?.unit != null) numHits += 1;
      }
    }
    expect(numHits).toBeGreaterThan(10);
  });

  test.each([false, true])("gives back each unit at the middle of its top (flat view: %s)", (isFlat) => {
    const roll = dice(19);
    const [plate] = arrange([layerOf("a", kind)], [], isFlat) as [Plate];
    const drawn = { ...drawnOf(plate, roll, !isFlat && kind.is_colour !== true, 0.05) };
    // From straight above nothing hides anything.
    const camera = { ...anyCamera(roll, [0, 0, 0], isFlat), pitch: Math.PI / 2 - 0.005, yaw: 0, distance: 200 };
    const numPlaces = kind.is_colour === true ? plate.layer.grid.num_units / 3 : plate.layer.grid.num_units;
    for (let unit = 0; unit < numPlaces; unit++) {
      const { column, row } = cellOf(plate.layer.grid, unit);
      const height = drawn.isRaised ? heightOfLevel(SCALING, drawn.levels![unit]!) : 0;
      const { x, y } = project(camera, SIZE, inSpace(plate, column + 0.5, row + 0.5, height))!;
      expect(pick([drawn], rayThrough(camera, SIZE, x, y))?.unit).toBe(unit);
    }
  });
});

test("of several plates the nearest is picked", () => {
  const roll = dice(23);
  const layers = ["a", "b", "c"].map((name) => layerOf(name, KINDS.tiles));
  const plates = arrange(layers, [], false);
  const drawn = plates.map((plate) => drawnOf(plate, roll, true, 0.05));
  for (let nth = 0; nth < 300; nth++) {
    const camera = { ...anyCamera(roll, middleOf(plates[1]!)), distance: 4 };
    const ray = rayThrough(camera, SIZE, roll() * SIZE.width, roll() * SIZE.height);
    const all = drawn.map((one) => pick([one], ray)).filter((hit) => hit !== null);
    const nearest = all.sort((one, other) => one.at - other.at)[0];
    expect(pick(drawn, ray)).toEqual(nearest ?? null);
  }
});

test("over time a row is a unit, and a column a moment", () => {
  const [plain] = arrange([layerOf("a", { columns: 5, rows: 1 })], [], false) as [Plate];
  const [plate] = arrange([layerOf("a", { columns: 5, rows: 1 })], [], false, new Map([["a", 8]])) as [Plate];
  expect(plate.cells).toEqual(rasterCells(5, 8));
  expect(plain.isRaster).toBe(false);
  const drawn = { plate, levels: new Uint16Array(40), scaling: SCALING, isRaised: false, highest: 0, inset: 0 };
  const camera = { ...anyCamera(dice(1), [0, 0, 0]), pitch: 1.5, yaw: 0, distance: 50 };
  for (let unit = 0; unit < 5; unit++) {
    const { x, y } = project(camera, SIZE, inSpace(plate, 3.5, unit + 0.5, 0))!;
    expect(pick([drawn], rayThrough(camera, SIZE, x, y))).toMatchObject({ unit, moment: 3 });
    expect(cellOfUnit(plate, unit, 3)).toEqual({ column: 3, row: unit });
    expect(cellOfUnit(plate, unit)).toEqual({ column: 7, row: unit });
  }
});
