import { expect, test } from "vitest";
import { fromBase64, readFrame, valuesOf } from "../../src/data/socket";
import type { Values } from "../../src/data/source";
import { frameOf, viewOf } from "../samples";

/** What a tensor's frame says, as the page reads it. */
function readTensor(frame: ArrayBuffer): Values {
  const { answer, buffer, offset } = readFrame(frame);
  if (answer.type !== "tensor") throw new Error(answer.type);
  return valuesOf(answer.view, buffer, offset);
}

test("a frame gives back its number, its view and its values", () => {
  const view = viewOf([2, 3], { num_rows: 2, num_columns: 3 });
  const frame = frameOf(7, view, [1, 2, 3, 4, 5, 6]);
  expect(readFrame(frame).answer).toMatchObject({ type: "tensor", id: 7, view });
  expect([...readTensor(frame)]).toEqual([1, 2, 3, 4, 5, 6]);
});

test("values of eight bytes start at a multiple of eight, whatever the header's length", () => {
  for (const note of ["", "a", "ab", "abc", "abcd", "abcde", "abcdef", "Größe ∞"]) {
    const view = viewOf([2], { num_columns: 2 }, { encoding: "f8", note });
    expect([...readTensor(frameOf(1, view, [0.1, -2]))]).toEqual([0.1, -2]);
  }
});

test("a frame cut short is refused, not read as fewer values", () => {
  const whole = frameOf(1, viewOf([4], { num_columns: 4 }), [1, 2, 3, 4]);
  for (const length of [0, 3, 10, whole.byteLength - 1]) {
    expect(() => readTensor(whole.slice(0, length))).toThrow();
  }
});

test("a header that claims to be longer than the frame is refused", () => {
  const frame = frameOf(1, viewOf([1], {}), [1]);
  new DataView(frame).setUint32(0, 0xffffffff, true);
  expect(() => readFrame(frame)).toThrow("longer than its frame");
});

test("a frame that names no question is refused", () => {
  const head = new TextEncoder().encode('{"type": "series"}');
  const frame = new Uint8Array(4 + head.length);
  new DataView(frame.buffer).setUint32(0, head.length, true);
  frame.set(head, 4);
  expect(() => readFrame(frame.buffer)).toThrow("no answer");
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
