/** Cameras as the address says them. */
import { expect, test } from "vitest";
import { panned, readCamera, startCamera, turned, writeCamera, zoomed } from "../../../src/stage3d/points/camera";

const SIZE = { width: 400, height: 300 };

test("a camera that was moved is the same again from its address", () => {
  for (const dims of [2, 3] as const) {
    let camera = zoomed(panned(startCamera(dims), 31, -12, SIZE), 1.7, 90, 40, SIZE);
    if (dims === 3) camera = turned(camera, 55, -20);
    const text = writeCamera(camera);
    expect(text).not.toBe("");
    const read = readCamera(text, dims);
    expect(writeCamera(read)).toBe(text);
    expect(read.zoom).toBeCloseTo(camera.zoom, 3);
    read.target.forEach((part, at) => expect(part).toBeCloseTo(camera.target[at]!, 3));
  }
});

test("where it starts is no part of the address", () => {
  expect(writeCamera(startCamera(2))).toBe("");
  expect(writeCamera(startCamera(3))).toBe("");
});

test.each(["", "1,2", "1,x,0", "1,,0", "Infinity,0,0", "2,0,0,0,1,1"])("%j is no camera of two dimensions", (text) => {
  expect(readCamera(text, 2)).toEqual(startCamera(2));
});

test("a zoom from nowhere is held within bounds", () => {
  expect(readCamera("1e9,0,0", 2).zoom).toBe(400);
  expect(readCamera("1,0,0,0,0,9", 3).pitch).toBeLessThan(Math.PI / 2);
});
