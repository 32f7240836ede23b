/** Cameras as the address says them. */
import { expect, test } from "vitest";
import { panned, turned, zoomedTo } from "../../../src/stage3d/camera";
import { readCamera, startCamera, writeCamera, zoomOf } from "../../../src/stage3d/points/camera";

const SIZE = { width: 400, height: 300 };

test("a camera that was moved is the same again from its address", () => {
  for (const isFlat of [true, false]) {
    const camera = turned(zoomedTo(panned(startCamera(isFlat), 31, -12, SIZE), 1.7, [0.4, 0.2, 0]), 55, -20);
    const text = writeCamera(camera);
    expect(text).not.toBe("");
    const read = readCamera(text, isFlat);
    expect(writeCamera(read)).toBe(text);
    expect(zoomOf(read)).toBeCloseTo(zoomOf(camera), 3);
    read.target.forEach((part, at) => expect(part).toBeCloseTo(camera.target[at]!, 3));
  }
});

test("where it starts is no part of the address", () => {
  expect(writeCamera(startCamera(true))).toBe("");
  expect(writeCamera(startCamera(false))).toBe("");
});

test.each(["", "1,2", "1,x,0", "1,,0", "Infinity,0,0", "2,0,0,0,1,1"])("%j is no camera of two dimensions", (text) => {
  expect(readCamera(text, true)).toEqual(startCamera(true));
});

test("a zoom from nowhere is held within bounds", () => {
  expect(zoomOf(readCamera("1e9,0,0", true))).toBeCloseTo(400, 6);
  expect(readCamera("1,0,0,0,0,9", false).pitch).toBeLessThan(Math.PI / 2);
});
