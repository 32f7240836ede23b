/** Take the values along: as a table, or as an array for NumPy. */
import { useState } from "preact/hooks";
import { formatNumberOf } from "../../data/format";
import { fileName, save } from "../../data/save-file";
import type { TensorValues, Values } from "../../data/source";
import { windowText } from "../../data/tensor-window";
import type { AskableTensor } from "../../plot/tensor/subjects";
import { Hint } from "../../ui/Blank";
import * as store from "./store";

interface Props {
  /** Null where what is here is all there is. */
  subject: AskableTensor | null;
  base: TensorValues;
  /** Says what it is, in the name of the file. */
  suffix?: string;
}

export function Downloads({ subject, base, suffix = "" }: Props) {
  const [fault, setFault] = useState("");
  const { shape, window } = base.view;
  const wanted = subject === null ? window : store.largestWindow(shape, window.item, window);
  const count = wanted.num_tiles * wanted.num_rows * wanted.num_columns;
  const step = store.records.value[store.at.value]?.step ?? 0;
  const take = async (extension: string, type: string, write: (values: TensorValues) => string | ArrayBuffer): Promise<void> => {
    const answer = subject === null ? base : await subject.ask(wanted);
    setFault("missing" in answer ? answer.missing : "");
    const name = fileName([store.chosen.value?.name ?? "tensor", "step", `${step}${suffix}`], extension);
    if ("values" in answer) save(name, write(answer), type);
  };
  const toNpy = ({ view, values }: TensorValues): ArrayBuffer => npyOf(values, store.windowShape(view.shape, view.window));
  return (
    <div class="section downloads">
      <div class="row">
        <span class="muted fs-1 grow clip" title={windowText(shape, wanted)}>
          {formatNumberOf(count, "value")} <span class="mono">{windowText(shape, wanted)}</span>
        </span>
        <button class="btn sm" onClick={() => void take("csv", "text/csv", store.windowCsv)}>
          CSV
        </button>
        <button class="btn sm" onClick={() => void take("npy", "application/octet-stream", toNpy)}>
          NPY
        </button>
      </div>
      <Hint text={fault} />
    </div>
  );
}

// --- Arrays as NumPy writes them: a few bytes of description, then the numbers.

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
  values.forEach((value, at) => {
    if (values instanceof Float64Array) view.setFloat64(at * 8, value, true);
    else view.setFloat32(at * 4, value, true);
  });
  return file;
}
