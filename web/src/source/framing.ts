/** Take a binary frame apart: length of the header, header as JSON, padding, values. */
import type { Answer, TensorView } from "../wire";
import type { Reply, Values } from "./source";

/** How many values a window holds. */
export function windowSize(view: TensorView): number {
  const { num_tiles, num_rows, num_columns } = view.window;
  return num_tiles * num_rows * num_columns;
}

/** Bytes as the numbers that they are; throws where there are too few or too many. */
export function valuesOf(view: TensorView, buffer: ArrayBuffer, offset: number): Values {
  const size = view.encoding === "f8" ? 8 : 4;
  const count = windowSize(view);
  if (buffer.byteLength - offset !== count * size) {
    throw new Error(`a window of ${count} values came with ${buffer.byteLength - offset} bytes`);
  }
  return size === 8 ? new Float64Array(buffer, offset, count) : new Float32Array(buffer, offset, count);
}

export function readFrame(buffer: ArrayBuffer): Reply {
  if (buffer.byteLength < 4) throw new Error("a frame of fewer than four bytes");
  const length = new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength) throw new Error("a header longer than its frame");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 4, length));
  const answer = JSON.parse(text) as { type?: unknown; id?: unknown };
  if (typeof answer.type !== "string" || typeof answer.id !== "number") {
    throw new Error("a frame that is no answer");
  }
  return { answer: answer as Answer, buffer, offset: Math.ceil((4 + length) / 8) * 8 };
}

/** Base64 as bytes, in a buffer of its own. */
export function fromBase64(text: string): ArrayBuffer {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes.buffer;
}
