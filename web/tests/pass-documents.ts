/** Small passes to test with: only what matters is named, the rest is filled in. */
import type { OpEntry, ParamEntry, PassDocument, ScopeEntry } from "../src/wire";

export type OpPart = Partial<OpEntry> & { readonly type: string; readonly reads?: readonly (number | [number, string])[] };

export function op({ reads = [], ...part }: OpPart, index: number): OpEntry {
  return {
    label: `${part.type}_${index}`,
    layer: index,
    pass_num: 1,
    num_passes: 1,
    function: part.type,
    kind: "op",
    scope: 0,
    parents: reads.map((read, place) => (typeof read === "number" ? [read, String(place)] : read)),
    argument_order_matters: false,
    params: [],
    shape: [2, 3],
    dtype: "float32",
    num_bytes: 24,
    seconds: 0.001,
    flops: 6,
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
    ...part,
  };
}

export function scope(part: Partial<ScopeEntry>): ScopeEntry {
  return {
    parent: 0,
    address: null,
    name: "Module",
    pass_num: 1,
    num_passes: 1,
    first_op: 0,
    num_ops: 0,
    outputs: [],
    seconds: 0,
    num_params: 0,
    source: -1,
    ...part,
  };
}

export function param(shape: number[]): ParamEntry {
  return {
    address: "weight", shape, dtype: "float32", num_bytes: 4, requires_grad: true, has_value: true, has_grad: false,
  };
}

/** A pass of a model with these calls inside it (the model's own comes first by itself). */
export function pass(ops: readonly OpPart[], calls: readonly Partial<ScopeEntry>[] = [], params: ParamEntry[] = []): PassDocument {
  return {
    version: 1,
    model_name: "Net",
    elapsed_seconds: 1,
    num_params: 0,
    param_bytes: 0,
    num_bytes: 0,
    random_seed: 0,
    notes: [],
    error: "",
    stopped_after: "",
    is_shape_only: false,
    num_backward_passes: 0,
    ops: ops.map(op),
    scopes: [scope({ parent: -1, address: "", name: "Net" }), ...calls.map(scope)],
    params,
    sources: [],
    branches: [],
  };
}

/** A residual block in a block in a stage: enough of everything. */
export function residual(): PassDocument {
  return pass(
    [
      { type: "input", kind: "input", name: "x" },
      { type: "conv2d", scope: 2, reads: [0], params: [0], arguments: "None, (2, 2), (1, 1), (1, 1), 1", shape: [2, 8] },
      { type: "relu", scope: 3, reads: [1], shape: [2, 8] },
      { type: "conv2d", scope: 5, reads: [0], params: [1], shape: [2, 8] },
      { type: "batchnorm", scope: 6, reads: [3], shape: [2, 8] },
      { type: "add", scope: 1, reads: [2, 4], shape: [2, 8] },
      { type: "output", kind: "output", name: "output", reads: [5], shape: [2, 8] },
    ],
    [
      { address: "block", name: "Block" },
      { parent: 1, address: "block.conv", name: "Conv2d" },
      { parent: 1, address: "block.relu", name: "ReLU" },
      { parent: 1, address: "block.down", name: "Sequential" },
      { parent: 4, address: "block.down.0", name: "Conv2d" },
      { parent: 4, address: "block.down.1", name: "BatchNorm2d" },
    ],
    [param([8, 4, 3, 3]), param([8, 4, 1, 1])],
  );
}

/** `h = tanh(a(h) + b(x))` three times. */
export function loop(): PassDocument {
  const ops: OpPart[] = [{ type: "input", kind: "input", name: "x" }];
  const calls: Partial<ScopeEntry>[] = [];
  let hidden = 0;
  for (let step = 1; step <= 3; step += 1) {
    const cell = calls.length + 1;
    const run = { pass_num: step, num_passes: 3 };
    calls.push({ address: "cell", name: "Cell", ...run }, { parent: cell, address: "cell.a", name: "Linear", ...run });
    const start = ops.length;
    ops.push(
      { type: "linear", layer: 1, scope: cell + 1, reads: [hidden], ...run },
      { type: "add", layer: 2, scope: cell, reads: [start, 0], ...run },
      { type: "tanh", layer: 3, scope: cell, reads: [start + 1], ...run },
    );
    hidden = start + 2;
  }
  ops.push({ type: "output", kind: "output", layer: 4, reads: [hidden] });
  return pass(ops, calls);
}

/** Nested modules with ops that read whatever came before, reproducibly. */
export function tangle(seed: number, numOps: number): PassDocument {
  let state = seed * 2654435761 + 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const calls: Partial<ScopeEntry>[] = [];
  const ops: OpPart[] = [{ type: "input", kind: "input", name: "x" }];
  const stack = [0];
  while (ops.length < numOps) {
    const move = random(6);
    if (move === 0 && stack.length < 5) {
      calls.push({ parent: stack.at(-1)!, address: `m${calls.length}`, name: "Module" });
      stack.push(calls.length);
    } else if (move === 1 && stack.length > 1) stack.pop();
    const near = Math.max(0, ops.length - 1 - random(3));
    const reads = random(12) === 0 ? [] : random(3) === 0 ? [near, random(ops.length)] : [near];
    ops.push({ type: `f${random(9)}`, scope: stack.at(-1)!, reads });
  }
  ops.push({ type: "output", kind: "output", reads: [ops.length - 1] });
  return pass(ops, calls);
}
