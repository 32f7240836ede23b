/** Cameras of the stage: what is projected, what a line of sight goes through, how all is fitted into a view. */
import { expect, test } from "vitest";
import {
  panned,
  plus,
  project,
  rayThrough,
  times,
  turned,
  type Vector,
  viewMatrix,
  zoomedTo,
} from "../../../src/stage3d/camera";
import { fitted, startCamera } from "../../../src/stage3d/network/camera";
import { readCamera, writeCamera } from "../../../src/stage3d/network/stage";
import { anyCamera, dice } from "./scenes";

const SIZE = { width: 640, height: 400 };

function anyPlace(roll: () => number): Vector {
  return [roll() - 0.5, roll() - 0.5, roll() - 0.5];
}

test.each([false, true])("a line of sight meets the place whose pixel it goes through (flat: %s)", (isFlat) => {
  const roll = dice(3);
  for (let nth = 0; nth < 200; nth++) {
    const camera = anyCamera(roll, [0, 0, 0], isFlat);
    const { x, y } = { x: roll() * SIZE.width, y: roll() * SIZE.height };
    const ray = rayThrough(camera, SIZE, x, y);
    const seen = project(camera, SIZE, plus(ray.origin, times(ray.direction, 0.2 + roll())))!;
    expect(seen.x).toBeCloseTo(x, 4);
    expect(seen.y).toBeCloseTo(y, 4);
  }
});

test.each([false, true])("the card and the page project alike (flat: %s)", (isFlat) => {
  const roll = dice(5);
  for (let nth = 0; nth < 100; nth++) {
    const camera = anyCamera(roll, [0, 0, 0], isFlat);
    const place = anyPlace(roll);
    const seen = project(camera, SIZE, place);
    const m = viewMatrix(camera, SIZE, 3);
    const [x, y, w] = [0, 1, 3].map(
      (line) => m[line]! * place[0] + m[4 + line]! * place[1] + m[8 + line]! * place[2] + m[12 + line]!,
    ) as [number, number, number];
    if (seen === null || w < 0.01) continue;
    expect(((x / w + 1) / 2) * SIZE.width).toBeCloseTo(seen.x, 1);
    expect(((1 - y / w) / 2) * SIZE.height).toBeCloseTo(seen.y, 1);
  }
});

test.each([false, true])("what is fitted is in view, and touches its edges (flat: %s)", (isFlat) => {
  const roll = dice(7);
  const margins = { left: 90, right: 20, top: 50, bottom: 10 };
  for (let nth = 0; nth < 50; nth++) {
    const places = Array.from({ length: 12 }, () => times(anyPlace(roll), 1 + 20 * roll()));
    const camera = fitted(anyCamera(roll, [0, 0, 0], isFlat), places, SIZE, margins);
    const seen = places.map((place) => project(camera, SIZE, place)!);
    const room = [
      Math.min(...seen.map(({ x }) => x)) - margins.left,
      SIZE.width - margins.right - Math.max(...seen.map(({ x }) => x)),
      Math.min(...seen.map(({ y }) => y)) - margins.top,
      SIZE.height - margins.bottom - Math.max(...seen.map(({ y }) => y)),
    ];
    for (const free of room) expect(free).toBeGreaterThan(-0.01);
    const isTight = Math.max(room[0]!, room[1]!) < 0.5 || Math.max(room[2]!, room[3]!) < 0.5;
    expect(isTight).toBe(true);
  }
});

test("a place that is zoomed to stays under the pointer", () => {
  const roll = dice(11);
  for (let nth = 0; nth < 50; nth++) {
    const camera = anyCamera(roll, [0, 0, 0], nth % 2 === 0);
    const place = anyPlace(roll);
    const before = project(camera, SIZE, place);
    if (before === null) continue;
    const after = project(zoomedTo(camera, 0.5 + roll() * 3, place), SIZE, place)!;
    expect(after.x).toBeCloseTo(before.x, 5);
    expect(after.y).toBeCloseTo(before.y, 5);
  }
});

test("what is panned goes with the pointer", () => {
  const camera = anyCamera(dice(2), [0, 0, 0]);
  const before = project(camera, SIZE, camera.target)!;
  const after = project(panned(camera, 30, -12, SIZE), SIZE, camera.target)!;
  expect([after.x - before.x, after.y - before.y]).toEqual([expect.closeTo(30, 6), expect.closeTo(-12, 6)]);
});

test("nobody comes below the plates", () => {
  expect(turned(startCamera(false), 0, -9999).pitch).toBeGreaterThan(0);
  expect(turned(startCamera(false), 0, 9999).pitch).toBeLessThan(Math.PI / 2);
});

test("a saved camera is the same again", () => {
  const roll = dice(13);
  for (let nth = 0; nth < 20; nth++) {
    const camera = anyCamera(roll, [0, 0, 0], nth % 2 === 0);
    const read = readCamera(JSON.parse(JSON.stringify(writeCamera(camera))))!;
    expect(read.isFlat).toBe(camera.isFlat);
    expect(read.distance).toBeCloseTo(camera.distance, 5);
    read.target.forEach((part, at) => expect(part).toBeCloseTo(camera.target[at]!, 5));
  }
});

test.each([null, "x", [], [0, 1, 2], [0, 0, 0, null, 0, 0, 0], [0, 0, 0, Infinity, 0, 0, 0]])(
  "%j is no camera",
  (text) => {
    expect(readCamera(text)).toBeNull();
  },
);
