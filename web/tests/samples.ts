/** Small documents, tensors and sockets for the tests. */
import type { SocketLike } from "../src/data/socket";
import type { OpEntry, PassDocument, ScopeEntry, TensorView, Window } from "../src/wire";

export function windowWith(parts: Partial<Window>): Window {
  return {
    item: [],
    first_tile: 0,
    num_tiles: 1,
    first_row: 0,
    row_step: 1,
    num_rows: 1,
    first_column: 0,
    column_step: 1,
    num_columns: 1,
    ...parts,
  };
}

export function viewOf(
  shape: number[],
  window: Partial<Window>,
  parts: Partial<TensorView> = {},
): TensorView {
  return {
    shape,
    dtype: "float32",
    num_elements: shape.reduce((product, size) => product * size, 1),
    mean: 0,
    std: 1,
    min: -1,
    max: 1,
    num_zeros: 0,
    num_nan: 0,
    num_inf: 0,
    histogram: [1, 2, 1],
    histogram_low: -1,
    histogram_high: 1,
    window: windowWith(window),
    encoding: "f4",
    note: "",
    ...parts,
  };
}

/** A frame as the server makes it. */
export function frameOf(id: number, view: TensorView, values: number[]): ArrayBuffer {
  const header = new TextEncoder().encode(JSON.stringify({ type: "tensor", id, view }));
  const data = view.encoding === "f8" ? new Float64Array(values) : new Float32Array(values);
  const offset = Math.ceil((4 + header.length) / 8) * 8;
  const frame = new ArrayBuffer(offset + data.byteLength);
  new DataView(frame).setUint32(0, header.length, true);
  new Uint8Array(frame, 4).set(header);
  new Uint8Array(frame, offset).set(new Uint8Array(data.buffer));
  return frame;
}

export function opWith(parts: Partial<OpEntry>): OpEntry {
  return {
    label: "relu_1_1",
    layer: 0,
    pass_num: 1,
    num_passes: 1,
    type: "relu",
    function: "relu",
    kind: "op",
    scope: 0,
    parents: [],
    argument_order_matters: false,
    params: [],
    shape: [1, 4],
    dtype: "float32",
    num_bytes: 16,
    seconds: 0.001,
    flops: 4,
    name: "",
    arguments: "",
    source: -1,
    stack: [],
    has_value: true,
    has_grad: false,
    is_inplace: false,
    is_edited: false,
    requires_grad: true,
    grad_fn: "",
    backward_seconds: null,
    ...parts,
  };
}

export function scopeWith(parts: Partial<ScopeEntry>): ScopeEntry {
  return {
    parent: -1,
    address: "",
    name: "Net",
    pass_num: 1,
    num_passes: 1,
    first_op: 0,
    num_ops: 1,
    outputs: [],
    seconds: 0.001,
    num_params: 0,
    source: -1,
    ...parts,
  };
}

export function documentWith(parts: Partial<PassDocument>): PassDocument {
  return {
    version: 1,
    model_name: "Net",
    elapsed_seconds: 0.01,
    num_params: 0,
    param_bytes: 0,
    num_bytes: 16,
    random_seed: 0,
    notes: [],
    error: "",
    stopped_after: "",
    is_shape_only: false,
    num_backward_passes: 0,
    ops: [],
    scopes: [scopeWith({})],
    params: [],
    sources: [],
    branches: [],
    ...parts,
  };
}

/** Input, a conv in a module, an addition in the model, the output. */
export function smallDocument(): PassDocument {
  return documentWith({
    ops: [
      opWith({
        label: "input_1_0",
        layer: 0,
        kind: "input",
        type: "input",
        function: "none",
        name: "x",
        shape: [1, 3, 8, 8],
      }),
      opWith({
        label: "conv2d_1_1",
        layer: 1,
        type: "conv2d",
        function: "conv2d",
        scope: 1,
        parents: [[0, "0"]],
        params: [0],
        shape: [1, 16, 6, 6],
      }),
      opWith({
        label: "add_1_2",
        layer: 2,
        type: "add",
        function: "add",
        parents: [
          [1, "0"],
          [1, "1"],
        ],
        shape: [1, 16, 6, 6],
      }),
      opWith({
        label: "output_1_3",
        layer: 3,
        kind: "output",
        type: "output",
        function: "none",
        parents: [[2, "0"]],
        shape: [1, 16, 6, 6],
      }),
    ],
    scopes: [
      scopeWith({ num_ops: 4, outputs: [2] }),
      scopeWith({
        parent: 0,
        address: "features.conv",
        name: "Conv2d",
        first_op: 1,
        num_ops: 1,
        outputs: [1],
      }),
    ],
    params: [
      {
        address: "features.conv.weight",
        shape: [16, 3, 3, 3],
        dtype: "float32",
        num_bytes: 1728,
        requires_grad: true,
        has_value: true,
        has_grad: false,
      },
    ],
  });
}

/** A socket whose other end is the test. */
export class FakeSocket implements SocketLike {
  binaryType = "";
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }

  close(): void {
    this.drop();
  }

  hear(message: object | ArrayBuffer): void {
    this.onmessage?.({ data: message instanceof ArrayBuffer ? message : JSON.stringify(message) });
  }

  greet(passes: object[] = []): void {
    this.hear({ type: "hello", version: "1", passes });
  }

  drop(): void {
    this.onclose?.();
  }
}
