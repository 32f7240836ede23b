/** Arrays as NumPy writes them: a few bytes of description, then the numbers. */
import type { Values } from "../source/source";

const ALIGNED = 64;
/** `\x93NUMPY`, version 1.0. */
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0];

/** A file for numpy.load: version 1.0, row by row, little-endian. */
export function npyOf(values: Values, shape: readonly number[]): ArrayBuffer {
  const type = values instanceof Float64Array ? "<f8" : "<f4";
  const tuple = shape.length === 1 ? `${shape[0]!},` : shape.join(", ");
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${tuple}), }`;
  const room = Math.ceil((10 + text.length + 1) / ALIGNED) * ALIGNED;
  const header = `${text.padEnd(room - 11)}\n`;
  const file = new ArrayBuffer(room + values.byteLength);
  const bytes = new Uint8Array(file);
  bytes.set(MAGIC);
  new DataView(file).setUint16(8, header.length, true);
  bytes.set(new TextEncoder().encode(header), 10);
  const view = new DataView(file, room);
  const size = values.BYTES_PER_ELEMENT;
  for (let at = 0; at < values.length; at++) {
    if (size === 8) view.setFloat64(at * 8, values[at]!, true);
    else view.setFloat32(at * 4, values[at]!, true);
  }
  return file;
}
