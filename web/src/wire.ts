/** What the page and the server say to each other. Generated: `python -m torcheer.app.typescript`. */

export type OpKind = "op" | "input" | "output" | "buffer" | "source";

export type TensorKind = "output" | "grad" | "param" | "param_grad";

/** Which passes are there now? */
export interface PassesQuestion {
  type: "passes";
  id: number;
}

/** A pass but for its tensors, please. */
export interface DocumentQuestion {
  type: "open";
  pass_id: string;
  id: number;
}

/** Which values: item, then tiles, rows and columns as first, step and count. */
export interface Window {
  item: number[];
  first_tile: number;
  num_tiles: number;
  first_row: number;
  row_step: number;
  num_rows: number;
  first_column: number;
  column_step: number;
  num_columns: number;
}

/** A tensor of a pass: its figures and a window of its values. Without a window, the server chooses. */
export interface TensorQuestion {
  type: "tensor";
  pass_id: string;
  kind: TensorKind;
  /** of an op, or of a parameter */
  index: number;
  window: Window | null;
  id: number;
}

/** One figure of every op, such as its share of zeros. */
export interface FiguresQuestion {
  type: "figures";
  pass_id: string;
  name: string;
  id: number;
}

/** A pass that can be opened. The id stays the same for as long as the pass does. */
export interface PassListing {
  id: string;
  name: string;
  detail: string;
}

/** The first message of every connection. */
export interface Hello {
  type: "hello";
  /** of torcheer */
  version: string;
  passes: PassListing[];
}

/** The passes that are there now. */
export interface PassesAnswer {
  type: "passes";
  id: number;
  passes: PassListing[];
}

/** One tensor that an op was given: which op made it, and which argument it was. */
export type Link = [op: number, argument: string];

/** One output of one operation. Its place in the list is its index, in the order they ran. */
export interface OpEntry {
  /** `relu_1_2`, with its pass where the layer ran more than once: `relu_1_2:3` */
  label: string;
  layer: number;
  pass_num: number;
  /** of its layer */
  num_passes: number;
  type: string;
  function: string;
  kind: OpKind;
  scope: number;
  parents: Link[];
  argument_order_matters: boolean;
  params: number[];
  shape: number[];
  dtype: string;
  num_bytes: number;
  seconds: number;
  flops: number | null;
  /** of an input, an output or a buffer: `input_ids`, `layer1.0.bn1.running_mean` */
  name: string;
  /** those that are no tensors, as they would be written */
  arguments: string;
  /** the innermost line outside torch */
  source: number;
  /** all lines, innermost first */
  stack: number[];
  has_value: boolean;
  has_grad: boolean;
  is_inplace: boolean;
  is_edited: boolean;
  requires_grad: boolean;
  grad_fn: string;
  /** of its autograd nodes, over all backward passes */
  backward_seconds: number | null;
}

/** One call of a module, or of a torch function that was opened up. The first is the model itself. */
export interface ScopeEntry {
  /** stands before it; -1 for the model */
  parent: number;
  /** null for a function */
  address: string | null;
  /** class or function */
  name: string;
  pass_num: number;
  num_passes: number;
  first_op: number;
  num_ops: number;
  outputs: number[];
  seconds: number;
  /** elements, with those of the modules inside */
  num_params: number;
  /** where it was called */
  source: number;
}

/** A parameter that some op used. */
export interface ParamEntry {
  address: string;
  shape: number[];
  dtype: string;
  num_bytes: number;
  requires_grad: boolean;
  has_value: boolean;
  has_grad: boolean;
}

/** A line of source, with a few around it where the file could be read. */
export interface SourceEntry {
  file: string;
  line: number;
  function: string;
  text: string;
  context: string[];
  /** the line number of the first of them */
  context_start: number;
}

/** A value of a tensor that Python asked for, and the ops that followed. */
export interface BranchEntry {
  /** -1 where it was a parameter */
  op: number;
  value: string;
  statement: string;
  taken: string;
  followed_by: number[];
  source: number;
}

/** A whole pass but for its tensors. */
export interface PassDocument {
  version: number;
  model_name: string;
  elapsed_seconds: number;
  num_params: number;
  param_bytes: number;
  /** of all outputs */
  num_bytes: number;
  random_seed: number;
  notes: string[];
  /** of a model that raised */
  error: string;
  stopped_after: string;
  is_shape_only: boolean;
  num_backward_passes: number;
  ops: OpEntry[];
  scopes: ScopeEntry[];
  params: ParamEntry[];
  sources: SourceEntry[];
  branches: BranchEntry[];
}

/** A pass but for its tensors. */
export interface DocumentAnswer {
  type: "document";
  id: number;
  document: PassDocument;
}

/** One figure of every op, in their order; null where it is not known. */
export interface FiguresAnswer {
  type: "figures";
  id: number;
  name: string;
  values: (number | null)[];
}

/** A tensor without its values; those of the window follow as bytes, tile by tile, row by row. */
export interface TensorView {
  shape: number[];
  dtype: string;
  num_elements: number;
  /** of the finite values; null where there are none */
  mean: number | null;
  std: number | null;
  min: number | null;
  max: number | null;
  num_zeros: number;
  num_nan: number;
  num_inf: number;
  histogram: number[];
  histogram_low: number;
  histogram_high: number;
  window: Window;
  /** little-endian floats of four or eight bytes */
  encoding: "f4" | "f8";
  /** what a reader must know: "complex numbers: their magnitude is shown" */
  note: string;
}

/** The head of a binary frame; the values follow it. */
export interface TensorAnswer {
  type: "tensor";
  id: number;
  view: TensorView;
}

/** Why there is no answer, in a sentence for people. The id is -1 where the question could not be read. */
export interface Refusal {
  type: "refusal";
  id: number;
  message: string;
}

export type Question = PassesQuestion | DocumentQuestion | TensorQuestion | FiguresQuestion;

export type Answer = Hello | PassesAnswer | DocumentAnswer | FiguresAnswer | TensorAnswer | Refusal;
