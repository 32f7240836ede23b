/** Take a binary frame apart: length of the header, header as JSON, padding, values. */
import type { TensorView } from "../wire";
import type { Values } from "./source";

export interface TensorFrame {
  readonly id: number;
  readonly view: TensorView;
  readonly values: Values;
}

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

export function readTensorFrame(buffer: ArrayBuffer): TensorFrame {
  if (buffer.byteLength < 4) throw new Error("a frame of fewer than four bytes");
  const length = new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength) throw new Error("a header longer than its frame");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 4, length));
  const header = JSON.parse(text) as { type?: unknown; id?: unknown; view?: TensorView };
  if (header.type !== "tensor" || typeof header.id !== "number" || header.view === undefined) {
    throw new Error("a frame that is no tensor");
  }
  const offset = Math.ceil((4 + length) / 8) * 8;
  return { id: header.id, view: header.view, values: valuesOf(header.view, buffer, offset) };
}

/** Base64 as bytes, in a buffer of its own. */
export function fromBase64(text: string): ArrayBuffer {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes.buffer;
}
