import { describe, expect, test } from "vitest";
import { anchored, between, eased, firstView, fitted, revealed } from "../../../../src/pages/graph/drawing/camera";
import { type Camera, kept, panned, shownPart, toPicture, toScreen, zoomedAt } from "../../../../src/ui/pan-zoom";

const view = { width: 800, height: 600 };
const camera = { x: 100, y: -50, scale: 0.8 };

describe("the camera", () => {
  test("a place on screen and back is the same place", () => {
    const at = toPicture(camera, 321, 123);
    const back = toScreen(camera, at.x, at.y);
    expect(back.x).toBeCloseTo(321);
    expect(back.y).toBeCloseTo(123);
  });

  test("zooming keeps what is under the pointer there, also at the limits", () => {
    for (const factor of [1.3, 0.5, 100, 0.0001]) {
      const before = toPicture(camera, 200, 400);
      const after = toPicture(zoomedAt(camera, 200, 400, factor), 200, 400);
      expect(after.x).toBeCloseTo(before.x);
      expect(after.y).toBeCloseTo(before.y);
    }
    expect(zoomedAt(camera, 0, 0, 1e9).scale).toBe(4);
  });

  test("dragging moves the picture with the pointer", () => {
    const at = toPicture(camera, 10, 10);
    const moved = toScreen(panned(camera, 30, -20), at.x, at.y);
    expect([moved.x, moved.y]).toEqual([expect.closeTo(40), expect.closeTo(-10)]);
  });

  test("fitting shows all of a part, and nothing larger than life", () => {
    const large = { x: -500, y: 20, width: 4000, height: 900 };
    const shown = shownPart(fitted(large, view), view);
    expect(shown.x).toBeLessThanOrEqual(large.x);
    expect(shown.y).toBeLessThanOrEqual(large.y);
    expect(shown.x + shown.width).toBeGreaterThanOrEqual(large.x + large.width);
    expect(shown.y + shown.height).toBeGreaterThanOrEqual(large.y + large.height);
    expect(fitted({ x: 0, y: 0, width: 10, height: 10 }, view).scale).toBe(1);
  });

  test("a tall picture starts at its top, at a size that can be read", () => {
    const first = firstView({ x: 0, y: 0, width: 300, height: 90_000 }, view);
    expect(first.scale).toBeGreaterThanOrEqual(0.7);
    expect(toScreen(first, 0, 0).y).toBeGreaterThan(0);
    expect(toScreen(first, 0, 0).y).toBeLessThan(100);
  });

  test("a wide one has its first box in the middle", () => {
    const first = { x: 100, y: 0, width: 184, height: 34 };
    const start = firstView({ x: 0, y: 0, width: 9000, height: 900 }, view, first);
    expect(toScreen(start, 192, 0).x).toBeCloseTo(400);
  });

  test("revealing moves no more than it takes", () => {
    const near = { x: 400, y: 100, width: 184, height: 34 };
    expect(revealed(camera, near, view)).toEqual(camera);
    const far = revealed(camera, { ...near, x: 5000 }, view);
    const shown = shownPart(far, view);
    expect(shown.x + shown.width).toBeGreaterThan(5184);
    expect(far.y).toBe(camera.y);
  });

  test("what is anchored stays where it is on screen", () => {
    const [before, after] = [{ x: 40, y: 80, width: 1, height: 1 }, { x: 400, y: -7, width: 90, height: 90 }];
    const moved = toScreen(anchored(camera, before, after), after.x, after.y);
    const was = toScreen(camera, before.x, before.y);
    expect([moved.x, moved.y]).toEqual([expect.closeTo(was.x), expect.closeTo(was.y)]);
  });

  test("the picture cannot be pushed out of view", () => {
    const picture = { x: 0, y: 0, width: 500, height: 400 };
    for (const away of [{ x: 1e6, y: 0 }, { x: -1e6, y: 1e6 }, { x: 0, y: -1e6 }]) {
      const shown = shownPart(kept({ ...away, scale: 1 }, picture, view), view);
      expect(shown.x < 500 && shown.x + shown.width > 0 && shown.y < 400 && shown.y + shown.height > 0).toBe(true);
    }
  });

  test("a movement starts and ends where it should", () => {
    const to = { x: 900, y: 900, scale: 2 };
    for (const [share, wanted] of [[0, camera], [1, to]] as const) {
      const at = between(camera, to, view, eased(share));
      expect([at.x, at.y, at.scale]).toEqual([wanted.x, wanted.y, wanted.scale].map((value) => expect.closeTo(value) as number));
    }
  });
});

describe("what is revealed", () => {
  const view = { width: 1000, height: 800 };
  const box = { x: 0, y: 0, width: 184, height: 34 };
  const at = (left: number, top: number): Camera => ({ x: -left, y: -top, scale: 1 });

  test("stands clear of what floats in the corners", () => {
    const onScreen = (left: number, top: number): { x: number; y: number } => toScreen(revealed(at(left, top), box, view), 0, 0);
    expect(onScreen(400, 700)).toEqual({ x: 400, y: 700 });
    expect(onScreen(740, 700).y + box.height).toBeLessThanOrEqual(800 - 176 - 20);
    expect(onScreen(80, 720).y + box.height).toBeLessThanOrEqual(800 - 90);
    expect(onScreen(80, 70).y).toBeGreaterThanOrEqual(130);
  });

  test("brings the module around it to the middle where that was cut off or is new", () => {
    const around = { x: -100, y: -100, width: 600, height: 300 };
    const middle = (camera: Camera): number => toScreen(camera, around.x + around.width / 2, 0).x;
    expect(middle(revealed(at(700, 300), box, view, around))).toBe(500);
    expect(middle(revealed(at(150, 300), box, view, around))).toBe(350);
    expect(middle(revealed(at(150, 300), box, view, around, true))).toBe(500);
    expect(revealed(at(400, 300), box, view, { ...around, width: 2000 })).toEqual(at(400, 300));
  });
});
