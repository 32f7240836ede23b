import { expect, test } from "vitest";
import { fromBase64, readTensorFrame, valuesOf } from "../../src/source/framing";
import { frameOf, viewOf } from "../samples";

test("a frame gives back its number, its view and its values", () => {
  const view = viewOf([2, 3], { num_rows: 2, num_columns: 3 });
  const frame = readTensorFrame(frameOf(7, view, [1, 2, 3, 4, 5, 6]));
  expect(frame.id).toBe(7);
  expect(frame.view).toEqual(view);
  expect([...frame.values]).toEqual([1, 2, 3, 4, 5, 6]);
});

test("values of eight bytes start at a multiple of eight, whatever the header's length", () => {
  for (const note of ["", "a", "ab", "abc", "abcd", "abcde", "abcdef", "Größe ∞"]) {
    const view = viewOf([2], { num_columns: 2 }, { encoding: "f8", note });
    expect([...readTensorFrame(frameOf(1, view, [0.1, -2])).values]).toEqual([0.1, -2]);
  }
});

test("a frame cut short is refused, not read as fewer values", () => {
  const whole = frameOf(1, viewOf([4], { num_columns: 4 }), [1, 2, 3, 4]);
  for (const length of [0, 3, 10, whole.byteLength - 1]) {
    expect(() => readTensorFrame(whole.slice(0, length))).toThrow();
  }
});

test("a header that claims to be longer than the frame is refused", () => {
  const frame = frameOf(1, viewOf([1], {}), [1]);
  new DataView(frame).setUint32(0, 0xffffffff, true);
  expect(() => readTensorFrame(frame)).toThrow("longer than its frame");
});

test("base64 gives back the bytes", () => {
  const view = viewOf([2], { num_columns: 2 });
  const bytes = new Uint8Array(new Float32Array([1.5, -2]).buffer);
  const values = valuesOf(view, fromBase64(btoa(String.fromCharCode(...bytes))), 0);
  expect([...values]).toEqual([1.5, -2]);
});

test("fewer bytes than the window has values is an error", () => {
  expect(() => valuesOf(viewOf([2], { num_columns: 2 }), new ArrayBuffer(4), 0)).toThrow("2 values");
});
