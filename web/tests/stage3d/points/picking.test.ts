import { describe, expect, it } from "vitest";
import { panned, turned, viewMatrix, zoomedTo } from "../../../src/stage3d/camera";
import { projectAll, REACH, startCamera } from "../../../src/stage3d/points/camera";
import { spread } from "../../../src/stage3d/points/cloud";
import { boxOf, ScreenIndex } from "../../../src/stage3d/points/picking";

const SIZE = { width: 800, height: 600 };

function indexOf(places: readonly (readonly [number, number, number])[]): ScreenIndex {
  const screen = Float32Array.from(places.flat());
  return new ScreenIndex(screen, Int32Array.from(places.keys()), SIZE.width, SIZE.height);
}

describe("ScreenIndex", () => {
  it("finds the nearest point within the radius, across the edges of cells", () => {
    const index = indexOf([
      [100, 100, 0],
      [119, 100, 0],
      [300, 300, 0],
    ]);
    expect(index.nearest(111, 100, 10)).toBe(1);
    expect(index.nearest(106, 100, 10)).toBe(0);
    expect(index.nearest(200, 200, 10)).toBe(-1);
  });

  it("finds what measuring all of them finds", () => {
    const places = Array.from({ length: 500 }, (_, at) => {
      const [x, y] = [Math.abs(Math.sin(at * 7.1)) * 800, Math.abs(Math.sin(at * 3.3)) * 600];
      return [x, y, 0] as const;
    });
    const index = indexOf(places);
    for (const [x, y] of [
      [10, 10],
      [400, 300],
      [790, 20],
      [333, 444],
    ] as const) {
      const away = places.map(([px, py]) => Math.hypot(px - x, py - y));
      const found = index.nearest(x, y, 60);
      expect(Math.floor(away[found]!)).toBe(Math.floor(Math.min(...away)));
    }
  });

  it("takes the point in front where two are in one place", () => {
    const index = indexOf([
      [100, 100, 0.9],
      [100, 100, 0.1],
    ]);
    expect(index.nearest(100, 100, 5)).toBe(1);
  });

  it("finds the points in a box, whichever corner came first", () => {
    const index = indexOf([
      [10, 10, 0],
      [50, 50, 0],
      [90, 10, 0],
    ]);
    expect([...index.inside(boxOf({ x: 60, y: 60 }, { x: 0, y: 0 }))]).toEqual([0, 1]);
  });

  it("finds the points inside a lasso and not those in its bay", () => {
    const lasso = [
      { x: 0, y: 0 },
      { x: 100, y: 0 },
      { x: 100, y: 100 },
      { x: 50, y: 20 },
      { x: 0, y: 100 },
    ];
    const index = indexOf([
      [10, 50, 0],
      [50, 60, 0],
      [90, 50, 0],
      [200, 50, 0],
    ]);
    expect([...index.inside(lasso)]).toEqual([0, 2]);
    expect(index.inside(lasso.slice(0, 2))).toHaveLength(0);
  });

  it("goes from point to point in the direction of an arrow", () => {
    const index = indexOf([
      [100, 100, 0],
      [150, 105, 0],
      [120, 300, 0],
      [90, 60, 0],
    ]);
    expect(index.towards(0, 1, 0)).toBe(1);
    expect(index.towards(0, 0, 1)).toBe(2);
    expect(index.towards(0, 0, -1)).toBe(3);
    expect(index.towards(0, -1, 0)).toBe(-1);
  });

  it("leaves out what is not in view or behind the eye", () => {
    const index = indexOf([
      [-5, 100, 0],
      [NaN, NaN, NaN],
      [10, 700, 0],
      [10, 10, 0],
    ]);
    expect([...index.inView]).toEqual([3]);
  });
});

describe("the camera", () => {
  function onScreen(camera = startCamera(true), place: readonly number[] = [0, 0, 0]): Float32Array {
    const out = new Float32Array(3);
    projectAll(Float32Array.from(place), viewMatrix(camera, SIZE, REACH), SIZE, out);
    return out;
  }

  it.each([2, 3] as const)("has the origin in the middle and all points in view: %dD", (dims) => {
    const camera = startCamera(dims === 2);
    expect(onScreen(camera)[0]).toBeCloseTo(400, 2);
    expect(onScreen(camera)[1]).toBeCloseTo(300, 2);
    for (const place of [
      [1, 0, 0],
      [0, -1, 0],
      [0, 0, dims === 3 ? 1 : 0],
      [-0.7, 0.7, 0],
    ]) {
      const [x, y] = onScreen(camera, place);
      expect(x! > 0 && x! < 800 && y! > 0 && y! < 600).toBe(true);
    }
  });

  it("puts up what is up, and right what is right", () => {
    const [x, y] = onScreen(startCamera(true), [0.5, 0.5, 0]);
    expect(x).toBeGreaterThan(400);
    expect(y).toBeLessThan(300);
  });

  it("keeps what is under the pointer there when it zooms", () => {
    const camera = startCamera(true);
    const [x, y] = onScreen(camera, [0.3, -0.2, 0]);
    const after = onScreen(zoomedTo(camera, 3, [0.3, -0.2, 0]), [0.3, -0.2, 0]);
    expect(after[0]).toBeCloseTo(x!, 1);
    expect(after[1]).toBeCloseTo(y!, 1);
  });

  it.each([2, 3] as const)("moves the target with the pointer: %dD", (dims) => {
    const after = onScreen(panned(startCamera(dims === 2), 40, -25, SIZE));
    expect(after[0]).toBeCloseTo(440, 1);
    expect(after[1]).toBeCloseTo(275, 1);
  });

  it("never turns over the pole", () => {
    expect(turned(startCamera(false), 0, 1e6).pitch).toBeLessThan(Math.PI / 2);
    expect(turned(startCamera(false), 0, -1e6).pitch).toBeGreaterThan(-Math.PI / 2);
  });

  it("knows near from far", () => {
    const camera = { ...startCamera(false), yaw: 0, pitch: 0 };
    expect(onScreen(camera, [0, 0, 1])[2]).toBeLessThan(onScreen(camera, [0, 0, -1])[2]!);
  });
});

describe("spread", () => {
  it.each([0, 1, 2, 10, 1000, 4181])("keeps every point once: %d", (count) => {
    const points = Int32Array.from({ length: count }, (_, at) => at * 3);
    expect([...spread(points)].sort((a, b) => a - b)).toEqual([...points]);
  });

  it("begins with an even sample", () => {
    const beginning = [...spread(Int32Array.from({ length: 1000 }, (_, at) => at))].slice(0, 100);
    for (let tenth = 0; tenth < 10; tenth++)
      expect(beginning.filter((point) => Math.floor(point / 100) === tenth).length).toBeGreaterThan(7);
  });
});
