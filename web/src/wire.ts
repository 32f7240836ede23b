/** What the page and the server say to each other. Generated: `python -m torcheer.app.typescript`. */

export type OpKind = "op" | "input" | "output" | "buffer" | "source";

export type TensorKind = "output" | "grad" | "param" | "param_grad";

export type RecordKind = "scalar" | "tensor" | "histogram" | "image" | "video" | "audio" | "text" | "embedding" | "pr_curve" | "confusion" | "pass" | "hparams" | "layout" | "watch" | "statistics" | "alarm" | "gap" | "netview" | "moment" | "table";

export type RunState = "running" | "finished" | "died" | "unknown";

export type ControlState = "starting" | "new" | "ready" | "busy" | "stopping" | "done" | "failed" | "died";

export type StepLevel = "trial" | "epoch" | "run";

export type LearnNodeKind = "input" | "parameter" | "constant" | "op";

export type LearnForm = "seed" | "elementwise" | "matrix" | "moved" | "general";

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

/** Which runs are there? Followed. */
export interface RunsQuestion {
  type: "runs";
  id: number;
}

/** No more answers to that question. This one has none. */
export interface StopQuestion {
  type: "stop";
  which: number;
  id: number;
}

/** Which series do these runs have? Followed. */
export interface IndexQuestion {
  type: "index";
  run_ids: string[];
  id: number;
}

/** A scalar of a run. */
export interface SeriesWanted {
  run_id: string;
  name: string;
}

/** Scalars, between two places of an axis or in whole. Followed.

Where there are more points than buckets, they come as so many buckets, of equal width. The nearest points
on either side of the window come too, so that lines run on to its edge. New points come whatever the
window: one by one after points, and after buckets in buckets as wide, of which the last one grows. Where
they would become too many, or go back on the axis, the series comes anew. A series that was taken back
comes anew with nothing in it. There may be several answers at first. */
export interface SeriesQuestion {
  type: "series";
  wanted: SeriesWanted[];
  /** relative: seconds since the run began */
  axis: "relative" | "step" | "time";
  low: number | null;
  high: number | null;
  num_buckets: number;
  id: number;
}

/** Records of a series without their bytes: all, or so many, evenly chosen, with first and last. */
export interface RecordsQuestion {
  type: "records";
  run_id: string;
  kind: RecordKind;
  name: string;
  most: number;
  id: number;
}

/** The charts that a run asks for, by the name of its layout. */
export interface LayoutQuestion {
  type: "layout";
  run_id: string;
  name: string;
  id: number;
}

/** A record with its bytes. */
export interface RecordQuestion {
  type: "record";
  run_id: string;
  record: string;
  id: number;
}

/** A tensor of a run: its figures and a window of its values, as of a tensor of a pass. */
export interface RunTensorQuestion {
  type: "run_tensor";
  run_id: string;
  record: string;
  window: Window | null;
  id: number;
}

/** Histograms of a series over time, on common bins. Of a tensor's series, too. */
export interface HistogramsQuestion {
  type: "histograms";
  run_id: string;
  kind: "histogram" | "tensor";
  name: string;
  num_steps: number;
  num_bins: number;
  id: number;
}

/** The hyperparameters of all runs that have some. */
export interface HparamsQuestion {
  type: "hparams";
  id: number;
}

/** An embedding in fewer dimensions: two or three, of PCA up to ten. Followed, for the progress. */
export interface ReduceQuestion {
  type: "reduce";
  run_id: string;
  record: string;
  method: "pca" | "tsne" | "umap";
  num_dims: number;
  /** the perplexity of t-SNE, the neighbours of UMAP */
  neighbours: number;
  metric: "cosine" | "euclidean";
  /** PCA: another embedding, on whose axes these points are placed */
  axes_of: string;
  id: number;
}

/** The figures of an op over all passes of its run. */
export interface OpSeriesQuestion {
  type: "op_series";
  pass_id: string;
  op: number;
  id: number;
}

/** One figure of all rows that were watched, over steps, for a heat map. Followed: comes anew as it grows.

Where there are more steps than buckets, they come as so many buckets. */
export interface WatchedQuestion {
  type: "watched";
  run_id: string;
  rank: number;
  /** mean, std, norm… */
  column: string;
  /** steps */
  low: number | null;
  high: number | null;
  num_buckets: number;
  id: number;
}

/** All figures of one row over steps. Followed: comes anew as it grows. */
export interface WatchedRowQuestion {
  type: "watched_row";
  run_id: string;
  rank: number;
  row: string;
  low: number | null;
  high: number | null;
  num_buckets: number;
  id: number;
}

/** Alarms and gaps of runs. Followed: the first answer is whole, later ones bring what is new. */
export interface EventsQuestion {
  type: "events";
  run_ids: string[];
  id: number;
}

/** The network of a run: layers, variables, connections. Followed: comes anew where it has changed. */
export interface NetSceneQuestion {
  type: "net_scene";
  run_id: string;
  rank: number;
  id: number;
}

/** The moments of which there are values. Followed: later answers bring new ones, or all anew. */
export interface NetMomentsQuestion {
  type: "net_moments";
  run_id: string;
  rank: number;
  id: number;
}

/** One variable of some layers at a moment: of each the last record up to then. */
export interface NetValuesQuestion {
  type: "net_values";
  run_id: string;
  rank: number;
  step: number;
  variable: string;
  item: number;
  layers: string[];
  id: number;
}

/** All variables of one unit at a moment, exactly. */
export interface NetUnitQuestion {
  type: "net_unit";
  run_id: string;
  rank: number;
  step: number;
  layer: string;
  unit: number;
  item: number;
  id: number;
}

/** All variables of one unit over time; where there are more moments than that, some of them. */
export interface NetUnitSeriesQuestion {
  type: "net_unit_series";
  run_id: string;
  rank: number;
  layer: string;
  unit: number;
  item: number;
  /** steps */
  low: number | null;
  high: number | null;
  most: number;
  id: number;
}

/** One variable of some layers over time, a column for each moment up to this one, the last ones. */
export interface NetRasterQuestion {
  type: "net_raster";
  run_id: string;
  rank: number;
  /** the last */
  step: number;
  variable: string;
  item: number;
  layers: string[];
  num_moments: number;
  id: number;
}

/** The weights of one unit at a moment, laid on the units of the layers at their other end. */
export interface NetWeightsQuestion {
  type: "net_weights";
  run_id: string;
  rank: number;
  step: number;
  layer: string;
  unit: number;
  /** attention is different for each */
  item: number;
  direction: "received" | "sent";
  /** Wt, or what goes with it: Grad, Delta, exp_avg… */
  variable: string;
  id: number;
}

/** Which items, and what of each layer is taken as its response to them.

`batch`: the items of the batch at a moment. `moments`: one item of the batch of every moment up to that
one. `all`: all items of all these moments. Where there are too many moments, some of them, evenly chosen. */
export interface NetItemChoice {
  variable: string;
  scope: "all" | "batch" | "moments";
  step: number;
  /** of each batch, for `moments` */
  item: number;
  /** items */
  most: number;
  labels: string;
}

/** The items of a choice, their labels, and which labels there are to choose from. */
export interface NetItemsQuestion {
  type: "net_items";
  run_id: string;
  rank: number;
  choice: NetItemChoice;
  id: number;
}

/** How alike a layer sees the items, and the tree of clusters that comes of it. */
export interface NetSimilarityQuestion {
  type: "net_similarity";
  run_id: string;
  rank: number;
  choice: NetItemChoice;
  layer: string;
  metric: "correlation" | "cosine" | "euclidean";
  id: number;
}

/** How alike layers see the items: the rank correlation of their similarities, of each pair of layers. */
export interface NetLikenessQuestion {
  type: "net_likeness";
  run_id: string;
  rank: number;
  choice: NetItemChoice;
  layers: string[];
  metric: "correlation" | "cosine" | "euclidean";
  id: number;
}

/** Where items lie in the directions in which the responses of a layer vary most. */
export interface NetComponentsQuestion {
  type: "net_components";
  run_id: string;
  rank: number;
  choice: NetItemChoice;
  layer: string;
  num_components: number;
  id: number;
}

/** What all units of a layer respond to most, and how selective they are. */
export interface NetTuningQuestion {
  type: "net_tuning";
  run_id: string;
  rank: number;
  choice: NetItemChoice;
  layer: string;
  id: number;
}

/** What one unit responds to each item, and on average to each label. */
export interface NetUnitTuningQuestion {
  type: "net_unit_tuning";
  run_id: string;
  rank: number;
  choice: NetItemChoice;
  layer: string;
  unit: number;
  id: number;
}

/** The mean of another layer over items, each counted by how much a unit responds to it. */
export interface NetFieldQuestion {
  type: "net_field";
  run_id: string;
  rank: number;
  choice: NetItemChoice;
  layer: string;
  unit: number;
  source: string;
  /** what of a response counts: what is above 0, or above its mean over items */
  above: "mean" | "zero";
  /** what is particular to the unit: without the plain mean over all items */
  minus_mean: boolean;
  id: number;
}

/** The rows of a table over some runs, in their order. Followed: later answers bring what is new.

With `only_last`, of each run the rows that were logged last, together. */
export interface TableQuestion {
  type: "table";
  run_ids: string[];
  name: string;
  only_last: boolean;
  id: number;
}

/** The tensors of one column in some rows of a record. */
export interface TableCellsQuestion {
  type: "table_cells";
  run_id: string;
  record: string;
  column: string;
  first_row: number;
  num_rows: number;
  id: number;
}

/** What the columns of numbers come to in rows with equal cells in the columns `by`. */
export interface TableStatisticsQuestion {
  type: "table_statistics";
  run_ids: string[];
  name: string;
  by: string[];
  id: number;
}

/** The whole table as CSV, tensors cell by cell: `Output[0]`, `Output[1]`… */
export interface TableTextQuestion {
  type: "table_text";
  run_ids: string[];
  name: string;
  only_last: boolean;
  id: number;
}

/** Which trainings can be controlled, and how do they go? Followed. */
export interface ControlsQuestion {
  type: "controls";
  id: number;
}

/** All about one of them. Followed: each answer is whole. The first question brings it to life. */
export interface ControlQuestion {
  type: "control";
  control_id: string;
  id: number;
}

/** Begin anew, with these parameters over those of the code. */
export interface Init {
  type: "init";
  values: Record<string, boolean | number | string | null>;
  seed: number;
}

/** Go on to the end of all runs. */
export interface RunOn {
  type: "run";
}

/**  */
export interface Step {
  type: "step";
  level: StepLevel;
  count: number;
}

/** End what is under way after this trial. */
export interface Stop {
  type: "stop";
}

/**  */
export interface TestItem {
  type: "test_item";
  item: number;
}

/** Test every item of the test set. */
export interface TestAll {
  type: "test_all";
}

/** New values of live parameters, and of what is shown. */
export interface SetLive {
  type: "set_live";
  values: Record<string, boolean | number | string | null>;
}

/** End the process, whatever it is doing: what is in memory only is lost, the run stays. */
export interface Abort {
  type: "abort";
}

/** Do that, please. Answered when it was passed on, or refused; other answers tell what comes of it. */
export interface ControlDoQuestion {
  type: "control_do";
  control_id: string;
  action: Init | RunOn | Step | Stop | TestItem | TestAll | SetLive | Abort;
  id: number;
}

/** Which examples and exercises are there, and how far has the student come? */
export interface LessonsQuestion {
  type: "lessons";
  id: number;
}

/** Take this apart, please. It is read, never run as a program. */
export interface LessonQuestion {
  type: "lesson";
  source: string;
  id: number;
}

/** What do torch and differences say of its gradients? */
export interface LessonChecksQuestion {
  type: "lesson_checks";
  source: string;
  id: number;
}

/** Is that right? Answers by symbol; what is right is remembered. */
export interface ExerciseQuestion {
  type: "exercise";
  exercise_id: string;
  answers: Record<string, string>;
  id: number;
}

/** Forget what was solved. Answered with all exercises, as after `lessons`. */
export interface ProgressResetQuestion {
  type: "progress_reset";
  id: number;
}

/** Which sets of features are there? Followed: comes anew when something changes. */
export interface FeatureSetsQuestion {
  type: "feature_sets";
  id: number;
}

/** All about one set but its values. Followed: comes anew while it grows. */
export interface FeatureSetQuestion {
  type: "feature_set";
  set_id: string;
  id: number;
}

/** How alike samples are to a layer. Followed, for the progress. */
export interface FeatureSimilarityQuestion {
  type: "feature_similarity";
  set_id: string;
  layer: number;
  metric: "correlation" | "cosine" | "euclidean";
  /** samples */
  most: number;
  id: number;
}

/** How alike layers are to one another. Followed, for the progress. */
export interface FeatureLayersQuestion {
  type: "feature_layers";
  set_id: string;
  layers: number[];
  method: "cka" | "rsa";
  /** of RSA */
  metric: "correlation" | "cosine" | "euclidean";
  /** samples */
  most: number;
  id: number;
}

/** How well labels can be read from layers. Followed: an answer for each layer, as it is done. */
export interface FeatureProbesQuestion {
  type: "feature_probes";
  set_id: string;
  layers: number[];
  kind: "auto" | "logistic" | "ridge";
  folds: number;
  /** samples */
  most: number;
  id: number;
}

/** Samples as points for the projector. Followed, for the progress. */
export interface FeaturePointsQuestion {
  type: "feature_points";
  set_id: string;
  layer: number;
  most: number;
  id: number;
}

/** These points in fewer dimensions. Followed, for the progress; answered as `reduce` is. */
export interface FeatureReduceQuestion {
  type: "feature_reduce";
  set_id: string;
  layer: number;
  most: number;
  method: "pca" | "tsne" | "umap";
  num_dims: number;
  neighbours: number;
  metric: "cosine" | "euclidean";
  id: number;
}

/** Values of a layer: some samples, sorted by label, by some units, both evenly chosen. */
export interface FeatureMapQuestion {
  type: "feature_map";
  set_id: string;
  layer: number;
  num_rows: number;
  num_columns: number;
  id: number;
}

/** The values of one unit, of the same samples as in the map. */
export interface FeatureUnitQuestion {
  type: "feature_unit";
  set_id: string;
  layer: number;
  num_rows: number;
  unit: number;
  id: number;
}

/** All values of a layer for one sample; where they are many, some of them, evenly chosen. */
export interface FeatureSampleQuestion {
  type: "feature_sample";
  set_id: string;
  layer: number;
  sample: number;
  id: number;
}

/** A pass that can be opened. The id stays the same for as long as the pass does. */
export interface PassListing {
  id: string;
  name: string;
  detail: string;
  /** the run that it was put into */
  run_id: string;
  /** of that run */
  step: number | null;
}

/** The first message of every connection. */
export interface Hello {
  type: "hello";
  /** of torcheer */
  version: string;
  /** is there a folder of runs? */
  has_runs: boolean;
  /** can expressions be taken apart here? */
  has_lessons: boolean;
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

/** The last value of a scalar. */
export interface Metric {
  name: string;
  /** null for NaN and infinity */
  value: number | null;
}

/** A run as the list shows it. Times are seconds since 1970. */
export interface RunListing {
  /** the same as long as the run is in the same place of the folder */
  id: string;
  /** its place in the folder: `sweep/first` */
  name: string;
  comment: string;
  tags: string[];
  source: "tensorboard" | "torcheer";
  state: RunState;
  /** what it died of, or what is wrong: `NaN in loss at step 7040` */
  reason: string;
  started: number;
  updated: number;
  last_step: number | null;
  total_steps: number | null;
  /** the scalar that the small chart shows; empty where there is none */
  spark_name: string;
  spark: (number | null)[];
  /** at most 64, those of loss and accuracy first */
  metrics: Metric[];
  num_series: number;
  num_bytes: number;
  num_dropped: number;
  num_thinned: number;
  num_alarms: number;
  /** that NetView shows */
  has_network: boolean;
  host: string;
  note: string;
}

/** Runs that are new or have changed, and the ids of those that are gone. */
export interface RunsAnswer {
  type: "runs";
  id: number;
  /** for people */
  folder: string;
  /** the first answer */
  is_all: boolean;
  runs: RunListing[];
  gone: string[];
  /** what could not be read */
  note: string;
}

/** A series of a run. */
export interface SeriesListing {
  kind: RecordKind;
  name: string;
  count: number;
  last_step: number;
  last_time: number;
  last_value: number | null;
  /** NaN or infinite */
  num_bad: number;
  first_bad_step: number | null;
  description: string;
}

/** Series of a run that are new or have changed; in the first answer, and when `is_all`, all of them. */
export interface RunIndex {
  run_id: string;
  is_all: boolean;
  series: SeriesListing[];
}

/** The series of runs. A run that is not there has no index. */
export interface IndexAnswer {
  type: "index";
  id: number;
  runs: RunIndex[];
}

/** Some of a series. Its columns follow in the frame, float64 each, block after block.

Points: steps, times, values. Buckets: mean step, mean time, then mean, lowest and highest of the finite
values (NaN where there is none), how many points, how many of them are NaN or infinite. Empty buckets are
left out. */
export interface SeriesBlock {
  run_id: string;
  name: string;
  form: "buckets" | "points";
  /** it takes the place of what was there; otherwise it comes after it */
  is_fresh: boolean;
  /** of the last items that are there, whose place it takes: a bucket that has grown */
  num_replaced: number;
  num_items: number;
  /** of the whole series */
  num_points: number;
  /** the very last point, which a bucket hides */
  last_step: number;
  last_time: number;
  /** null for NaN and infinity */
  last_value: number | null;
  /** when the run began */
  started: number;
}

/** The head of a binary frame. Series that are not there have no block. */
export interface SeriesAnswer {
  type: "series";
  id: number;
  blocks: SeriesBlock[];
}

/** Bytes: the elements, row by row, little-endian. The figures are of the finite values. */
export interface TensorHead {
  kind: "tensor";
  shape: number[];
  /** torch's name without `torch.`: float32, bfloat16, int64, bool, complex64 */
  dtype: string;
  /** null where there are no finite values */
  mean: number | null;
  std: number | null;
  min: number | null;
  max: number | null;
  num_zeros: number;
  num_nan: number;
  num_inf: number;
  /** which of the figures are those of a sample: mean, std, zeros… */
  estimates: string[];
  /** in that sample */
  num_values: number | null;
}

/** Bytes: num_bins + 1 edges, rising, then num_bins counts, all float64. The rest is of the values. */
export interface HistogramHead {
  kind: "histogram";
  num_bins: number;
  /** of values */
  num: number;
  min: number | null;
  max: number | null;
  sum: number | null;
  sum_squares: number | null;
  num_nan: number;
  num_inf: number;
  /** the values are not all that there were */
  is_sample: boolean;
}

/** Bytes: the picture, as PNG where we encoded it. */
export interface ImageHead {
  kind: "image";
  width: number;
  height: number;
  channels: number;
  /** png, jpeg, gif, webp; empty where it is not known */
  encoding: string;
  /** left, top, right, bottom of what was marked in it */
  boxes: number[][];
  box_labels: string[];
}

/** Bytes: the frames one after the other, a PNG each. */
export interface VideoHead {
  kind: "video";
  width: number;
  height: number;
  frames_per_second: number;
  frame_bytes: number[];
}

/** Bytes: a WAV file. */
export interface AudioHead {
  kind: "audio";
  sample_rate: number;
  num_frames: number;
  num_channels: number;
  /** wav */
  encoding: string;
}

/** Bytes: UTF-8. */
export interface TextHead {
  kind: "text";
  num_characters: number;
}

/** Bytes: points as float32, row by row; labels as JSON, a list for each column; a sprite sheet as PNG.

In the sheet the pictures of the points stand in rows of `sprites_per_row`, all of one size. */
export interface EmbeddingHead {
  kind: "embedding";
  num_points: number;
  num_dims: number;
  /** names of the columns of labels */
  columns: string[];
  matrix_bytes: number;
  label_bytes: number;
  /** 0 where there are no pictures */
  sprite_bytes: number;
  /** of one picture */
  sprite_width: number;
  sprite_height: number;
  sprites_per_row: number;
}

/** Bytes: true and false positives, true and false negatives, precision and recall, in rows of float64.

A row has a number for each threshold, which rise evenly from 0 to 1. */
export interface PrCurveHead {
  kind: "pr_curve";
  num_thresholds: number;
}

/** Bytes: counts as float64, a row for each true class, a column for each that was said. */
export interface ConfusionHead {
  kind: "confusion";
  labels: string[];
}

/** A pass that was put into the run. Bytes: float64, a row for each op, a column for each of `figures`.

The document is stored once for all passes of the same structure, with the times of the first of them. NaN
stands for what is not known. */
export interface PassHead {
  kind: "pass";
  /** by its hash */
  document: string;
  model_name: string;
  num_ops: number;
  /** mean, std, min, max, zeros, nan, the same of the gradient (grad_mean…), seconds */
  figures: string[];
  /** of this pass; the document has that of the first */
  random_seed: number | null;
}

/** No bytes. Later records of a run add to earlier ones. */
export interface HparamsHead {
  kind: "hparams";
  hparams: Record<string, number | boolean | string | null>;
  metrics: Record<string, number | null>;
}

/** A chart that somebody asked for: lines of these names, or a margin of value, lower and upper. */
export interface LayoutChart {
  title: string;
  form: "lines" | "margin";
  /** regular expressions for lines, names for a margin */
  names: string[];
}

/** Charts under one heading. */
export interface LayoutGroup {
  title: string;
  charts: LayoutChart[];
}

/** No bytes. The last one holds. */
export interface LayoutHead {
  kind: "layout";
  groups: LayoutGroup[];
}

/** What is watched. Bytes: JSON, a list of WatchedRow. The last one with a digest holds. */
export interface WatchHead {
  kind: "watch";
  /** of the rows; statistics name their rows by it */
  digest: string;
  num_rows: number;
  /** the figures of a row: mean, std, min, max, norm, zeros… */
  columns: string[];
  /** as it was asked for: 20/s */
  every: string;
  /** the name of whoever watches, empty for one without; null where nobody knows */
  watch: string | null;
}

/** Figures of all rows over some steps. Bytes: steps as int64, times as float64, then float32.

These stand as [column][row][step], NaN where something was not seen or has no meaning. `stride` says that
only every so many-th watched step is left, where old ones were thinned. */
export interface StatisticsHead {
  kind: "statistics";
  digest: string;
  num_columns: number;
  num_rows: number;
  num_steps: number;
  /** the record's own step is the first */
  last_step: number;
  last_time: number;
  stride: number;
}

/** Something that a person should look at. No bytes. The name of its series is the kind of alarm. */
export interface AlarmHead {
  kind: "alarm";
  layer: string;
  variable: string;
  value: number | null;
  threshold: number | null;
  message: string;
}

/** Something that was to be observed, and was not. No bytes. */
export interface GapHead {
  kind: "gap";
  reason: "budget" | "error" | "full" | "killed";
  /** records that are missing, by name */
  counts: Record<string, number>;
  /** the record's own step is the first */
  last_step: number;
  message: string;
}

/** The network as a NetView shows it. Bytes: JSON of a NetScene (see `netscene`). The last one holds. */
export interface NetViewHead {
  kind: "netview";
  num_layers: number;
  num_units: number;
}

/** A moment at which the layers of a NetView were recorded. No bytes. */
export interface MomentHead {
  kind: "moment";
  /** as they are shown: epoch, trial, name */
  counters: Record<string, string>;
}

/** A column of a table. Cells of numbers are one number each, those of tensors all of one shape. */
export interface TableColumn {
  name: string;
  form: "integer" | "number" | "tensor" | "text";
  num_bytes: number;
  /** of a cell, for tensors */
  shape: number[];
  /** of tensors: torch's name without `torch.` */
  dtype: string;
}

/** Some rows of a table. Bytes: the columns one after the other, without gaps.

Numbers are float64, NaN where a cell is empty, and whole numbers are int64; texts are a JSON list of
strings; tensors are raw, little-endian, cell by cell. */
export interface TableHead {
  kind: "table";
  num_rows: number;
  columns: TableColumn[];
}

/** A record but for its bytes. */
export interface RecordListing {
  record: string;
  step: number;
  time: number;
  num_bytes: number;
  head: TensorHead | HistogramHead | ImageHead | VideoHead | AudioHead | TextHead | EmbeddingHead | PrCurveHead | ConfusionHead | PassHead | HparamsHead | LayoutHead | WatchHead | StatisticsHead | AlarmHead | GapHead | NetViewHead | MomentHead | TableHead;
}

/** Records of a series, in the order of their steps. */
export interface RecordsAnswer {
  type: "records";
  id: number;
  /** how many there are */
  num_all: number;
  records: RecordListing[];
}

/** A chart that a run asks for: lines of these names, or a margin of value, lower and upper. */
export interface ShownLayoutChart {
  title: string;
  form: "lines" | "margin";
  names: string[];
  /** more names, with `*` and `?`; a backslash takes the next character as it is */
  globs: string[];
  /** expressions that are no globs; they stand among the names, too */
  not_supported: string[];
}

/** Charts under one heading, as a run asks for them. */
export interface ShownLayoutGroup {
  title: string;
  charts: ShownLayoutChart[];
}

/** The layout that holds, with nothing in it where there is none. */
export interface LayoutAnswer {
  type: "layout";
  id: number;
  groups: ShownLayoutGroup[];
}

/** The head of a binary frame; the bytes of the record follow it. */
export interface RecordAnswer {
  type: "record";
  id: number;
  entry: RecordListing;
}

/** The head of a binary frame: counts as float64, a row for each step. */
export interface HistogramsAnswer {
  type: "histograms";
  id: number;
  steps: number[];
  times: number[];
  /** of the first bin */
  low: number;
  /** of the last */
  high: number;
  num_bins: number;
  /** how many records there are */
  num_all: number;
}

/** The hyperparameters of a run, and the metrics that were logged with them. */
export interface HparamsRow {
  run_id: string;
  hparams: Record<string, number | boolean | string | null>;
  metrics: Record<string, number | null>;
}

/** A row for each run that has hyperparameters. */
export interface HparamsAnswer {
  type: "hparams";
  id: number;
  rows: HparamsRow[];
}

/** The head of a binary frame: coordinates as float32, a row for each point; none until it is done. */
export interface ReductionAnswer {
  type: "reduction";
  id: number;
  /** from 0 to 1 */
  progress: number;
  is_done: boolean;
  num_points: number;
  num_dims: number;
  note: string;
  /** of PCA, on axes of its own: how much of the variance each axis has */
  shares: number[];
}

/** The figures of an op, a row for each pass of the run; null where one is not known. */
export interface OpSeriesAnswer {
  type: "op_series";
  id: number;
  steps: number[];
  times: number[];
  figures: string[];
  rows: ((number | null)[])[];
}

/** A tensor that is watched over a training. Its records have the same name. */
export interface WatchedRow {
  /** features.0.weight.Grad */
  name: string;
  /** features.0 */
  layer: string;
  /** weight.Grad */
  variable: string;
  /** activation, gradient, weight, weight_gradient, update, state, tensor */
  role: string;
  /** the type of the layer: Conv2d */
  module: string;
  /** null where it was not seen yet */
  shape: number[] | null;
}

/** The head of a binary frame: float32, [row][bucket], NaN where nothing is known; then a byte for each.

The byte has the bits 1 where something was NaN in the tensor, 2 where something was infinite, and 4 where
the figure is an estimate from a sample at some step. Of several steps in a bucket the mean holds; of the
shares of NaN and infinities, the highest. */
export interface WatchedAnswer {
  type: "watched";
  id: number;
  /** that were watched */
  ranks: number[];
  /** that there are */
  columns: string[];
  rows: WatchedRow[];
  /** of each bucket */
  first_steps: number[];
  last_steps: number[];
  /** of all values in it, finite ones */
  low: number | null;
  high: number | null;
  /** that were watched in all */
  num_steps: number;
  /** as it was asked for: 20/s */
  every: string;
  /** how often it was really watched of late, in the same form; empty where that is not known */
  got: string;
}

/** The head of a binary frame: float32, [column][bucket], NaN where nothing is known, and a byte for each.

The byte is 1 where the figure is an estimate from a sample at some step of the bucket. */
export interface WatchedRowAnswer {
  type: "watched_row";
  id: number;
  /** null: there is none of this name */
  row: WatchedRow | null;
  columns: string[];
  /** that the latest estimates are of; null where there are none, or nobody knows */
  num_values: number | null;
  first_steps: number[];
  last_steps: number[];
  /** the series of tensors with this name; empty where there is none */
  tensor_name: string;
  histogram_name: string;
}

/** An alarm of a run. */
export interface AlarmListing {
  run_id: string;
  record: string;
  rank: number;
  /** its kind: nan, exploding_gradient… */
  alarm: string;
  step: number;
  time: number;
  layer: string;
  variable: string;
  /** the name of what is wrong: features.0.weight.Grad */
  row: string;
  value: number | null;
  threshold: number | null;
  message: string;
}

/** Something of a run that was to be observed, and was not. */
export interface GapListing {
  run_id: string;
  record: string;
  rank: number;
  reason: "budget" | "error" | "full" | "killed";
  first_step: number;
  last_step: number;
  time: number;
  num_missing: number;
  /** by name, at most 64 */
  counts: Record<string, number>;
  message: string;
}

/** Alarms and gaps, in the order in which they came. At most 10,000 of each. */
export interface EventsAnswer {
  type: "events";
  id: number;
  /** the first answer, or the run begins anew */
  is_all: boolean;
  alarms: AlarmListing[];
  gaps: GapListing[];
}

/** How the units of a layer lie on its plate: tiles side by side, each a block of cells.

Units are numbered as they stand in the tensor: tile by tile, in a tile row by row. The last cells may be
empty. In a colour picture three maps lie on one tile: red, green and blue. */
export interface Grid {
  num_units: number;
  tiles_across: number;
  tiles_down: number;
  /** of a tile */
  columns: number;
  rows: number;
  /** cells between two tiles */
  gap: number;
  is_colour: boolean;
}

/** Where somebody wants a layer. All that is None is worked out. */
export interface Place {
  relation: "above" | "behind" | "below" | "infront" | "leftof" | "rightof" | null;
  /** the layer to which this one is in relation */
  other: string;
  /** right, up, to the front, in plates */
  offset: number[];
  scale: number;
}

/** A layer: a plate of units. */
export interface NetLayer {
  name: string;
  /** the type of what computes it: Conv2d; empty where that is not known */
  module: string;
  /** of one item */
  shape: number[];
  grid: Grid;
  /** of which there are series: Act, Net, Grad… */
  variables: string[];
  place: Place;
  is_input: boolean;
  /** the first dimension of its tensors counts items of a batch */
  has_items: boolean;
  /** what a reader must know: every second channel is shown */
  note: string;
}

/** What one layer receives from another. The source gives its variable Act. */
export interface Connection {
  source: string;
  target: string;
  form: "attention" | "conv" | "embedding" | "linear" | "other" | "transposed_conv";
  /** the series of the weights: features.0.weight; empty where there are none */
  weight: string;
  /** the series of what is added; empty where nothing is, null where it is not known */
  bias: string | null;
  /** linear weights that stand as [in, out] */
  is_transposed: boolean;
  stride: number[];
  /** at the front */
  padding: number[];
  dilation: number[];
  groups: number;
}

/** Layers from the input to the output. */
export interface NetScene {
  layers: NetLayer[];
  connections: Connection[];
}

/** A variable that some layer has. */
export interface NetVariable {
  /** Act */
  name: string;
  /** State, Learn, Weights of unit, Others */
  group: string;
  /** in a sentence, for people */
  about: string;
  /** of all values that were ever recorded */
  low: number | null;
  high: number | null;
}

/** The network, and all variables that there are, in the order in which they are shown.

Variables of the group `Weights of unit` are those for which there are connections: `r.Wt`, `s.Wt`,
`r.Grad`… ask for them with a NetWeightsQuestion. */
export interface NetSceneAnswer {
  type: "net_scene";
  id: number;
  scene: NetScene;
  variables: NetVariable[];
  /** where the network is known from */
  source: "names" | "netview" | "watch";
  /** of a batch, at most */
  num_items: number;
  /** of which there is something; several where several processes wrote the run */
  ranks: number[];
  /** what a reader must know; empty where there is nothing */
  note: string;
}

/** The lowest and the highest value that a variable ever had, over all layers. */
export interface NetRange {
  variable: string;
  low: number;
  high: number;
}

/** Moments in the order of their steps. Counters are texts, a column for each name: run, epoch, trial. */
export interface NetMomentsAnswer {
  type: "net_moments";
  id: number;
  /** these take the place of what there was */
  is_all: boolean;
  steps: number[];
  times: number[];
  counters: Record<string, string[]>;
  /** as far as they are known by now */
  ranges: NetRange[];
  is_running: boolean;
}

/** The values of one layer. Its levels follow in the frame, block after block, two bytes each. */
export interface NetBlock {
  layer: string;
  /** of the record: an earlier one where nothing was recorded at this moment */
  step: number;
  /** of which levels follow; 0 where nothing was recorded */
  num_units: number;
  /** of level 0 */
  low: number;
  /** of the highest level */
  high: number;
  /** why there is nothing, or what is special; empty otherwise */
  why: string;
}

/** The head of a binary frame. */
export interface NetValuesAnswer {
  type: "net_values";
  id: number;
  step: number;
  blocks: NetBlock[];
}

/** Values as text where JSON has no number for them: NaN, Infinity, -Infinity. */
export interface NetUnitAnswer {
  type: "net_unit";
  id: number;
  /** by variable */
  values: Record<string, number | string>;
  /** of the records */
  steps: Record<string, number>;
}

/** The head of a binary frame: for each variable its steps, then its values, all float64. */
export interface NetUnitSeriesAnswer {
  type: "net_unit_series";
  id: number;
  variables: string[];
  /** of each */
  counts: number[];
}

/** The head of a binary frame: of each block the levels stand as [moment][unit], on one scale. */
export interface NetRasterAnswer {
  type: "net_raster";
  id: number;
  /** of the moments */
  steps: number[];
  /** `num_units` is that of one moment */
  blocks: NetBlock[];
}

/** The head of a binary frame. A block for each layer at the other end; the unit's own bias beside it. */
export interface NetWeightsAnswer {
  type: "net_weights";
  id: number;
  blocks: NetBlock[];
  bias: number | null;
  /** that really connect */
  num_weights: number;
}

/** Where labels can come from. */
export interface NetLabelChoice {
  key: string;
  /** for people */
  name: string;
  /** in a few words */
  about: string;
}

/** Of each item its moment, its place in the batch, and its label where there are labels. */
export interface NetItemsAnswer {
  type: "net_items";
  id: number;
  steps: number[];
  items: number[];
  /** each once, in their order */
  labels: string[];
  /** of each item, the number of its label; empty where there are none */
  label_of: number[];
  label_choices: NetLabelChoice[];
  /** that there are, of which some may have been chosen */
  num_moments: number;
  /** what a reader must know; empty where there is nothing */
  note: string;
}

/** Pairs of items with the same label against pairs with different ones. Null where there are none. */
export interface NetContrast {
  within: number | null;
  between: number | null;
  /** how much more alike items of one label are */
  contrast: number | null;
}

/** The head of a binary frame: the tree in rows of four as float64, then the matrix as float32.

A row of the tree joins two clusters: their numbers, their distance, and how many items are then in it.
Numbers below that of `leaves` stand for leaves, the others for rows of the tree. */
export interface NetSimilarityAnswer {
  type: "net_similarity";
  id: number;
  /** the items of rows and columns */
  places: number[];
  /** the same items, sorted by label */
  by_label: number[];
  /** the items of the tree, as it numbers them */
  leaves: number[];
  /** these items as they stand below the tree */
  by_tree: number[];
  /** null without labels */
  contrast: NetContrast | null;
  note: string;
}

/** One layer among others. */
export interface NetLayerLikeness {
  layer: string;
  contrast: NetContrast | null;
  /** why it is not among those that are compared; empty where it is */
  why: string;
}

/** The head of a binary frame: layers by layers as float32, NaN where it is not defined. */
export interface NetLikenessAnswer {
  type: "net_likeness";
  id: number;
  layers: NetLayerLikeness[];
}

/** The head of a binary frame: of each of `places` its coordinates, as float32. */
export interface NetComponentsAnswer {
  type: "net_components";
  id: number;
  places: number[];
  /** of the variance of all units, of each component */
  shares: number[];
  note: string;
}

/** The head of a binary frame, float32 of all units: the number of the best label, selectivity, d'.

NaN where a unit has no best label, since it is the same to all. */
export interface NetTuningAnswer {
  type: "net_tuning";
  id: number;
  num_units: number;
  num_items: number;
  note: string;
}

/** The head of a binary frame, float32: responses to `places`; of each label the mean and d'.

Labels without an item among these have NaN. Without labels there are responses alone. */
export interface NetUnitTuningAnswer {
  type: "net_unit_tuning";
  id: number;
  places: number[];
  /** items of each label */
  counts: number[];
  note: string;
}

/** The head of a binary frame: float32 of all units of the source. NaN where the unit never responds. */
export interface NetFieldAnswer {
  type: "net_field";
  id: number;
  num_units: number;
  num_items: number;
  /** items that count */
  num_responses: number;
  /** of what is finite */
  low: number | null;
  high: number | null;
  note: string;
}

/** Rows that were logged together. The cells of a row stand in the order of `columns`. */
export interface TableRows {
  run_id: string;
  record: string;
  step: number;
  columns: TableColumn[];
  rows: ((number | string | null)[])[];
}

/** `is_all`: what was known before is void. A note says what is left out, and why. */
export interface TableAnswer {
  type: "table";
  id: number;
  is_all: boolean;
  parts: TableRows[];
  note: string;
}

/** The head of a binary frame; the values follow as float32, row by row.

The limits are of the finite values in all rows of the record; where it is large, of the rows asked for. */
export interface TableCellsAnswer {
  type: "table_cells";
  id: number;
  num_rows: number;
  /** of a cell */
  shape: number[];
  low: number | null;
  high: number | null;
}

/** Of one column in the rows of a group, of the finite numbers. */
export interface TableFigures {
  column: string;
  count: number;
  mean: number | null;
  /** of a sample: divided by count - 1; null for one number */
  std: number | null;
  low: number | null;
  high: number | null;
}

/** Rows that are alike in the columns that were asked for. */
export interface TableGroup {
  cells: (number | string | null)[];
  num_rows: number;
  figures: TableFigures[];
}

/**  */
export interface TableStatisticsAnswer {
  type: "table_statistics";
  id: number;
  by: string[];
  groups: TableGroup[];
}

/**  */
export interface TableTextAnswer {
  type: "table_text";
  id: number;
  text: string;
}

/** Where the training is: what is done, so all begin with 0. Numbers that are not known yet are None. */
export interface Counters {
  run: number;
  num_runs: number | null;
  epoch: number;
  num_epochs: number | null;
  /** of this epoch */
  trial: number;
  num_trials: number | null;
  /** trials of this run, over all its epochs: the step of what is recorded */
  step: number;
}

/**  */
export interface ControlListing {
  id: string;
  name: string;
  /** examples/etra25.py:loop */
  target: string;
  state: ControlState;
  doing: string;
  counters: Counters;
}

/**  */
export interface ControlsAnswer {
  type: "controls";
  id: number;
  controls: ControlListing[];
}

/** A parameter, as a form shows it. */
export interface FormField {
  name: string;
  label: string;
  section: string;
  form: "choice" | "integer" | "number" | "text" | "truth";
  /** as it stands in the code */
  value: boolean | number | string | null;
  choices: string[];
  low: number | null;
  high: number | null;
  /** may be empty */
  is_optional: boolean;
  /** takes effect at once; others at the next Init */
  is_live: boolean;
  about: string;
}

/** A scalar of the run, and what it is called in the plot. */
export interface PlotLine {
  name: string;
  label: string;
}

/**  */
export interface Plot {
  title: string;
  lines: PlotLine[];
}

/** What the training says of itself before anything is initialised. */
export interface About {
  name: string;
  fields: FormField[];
  seed: number;
  plots: Plot[];
  /** null until it is initialised, and where there is no test */
  num_test_items: number | null;
}

/** What went wrong, and where. */
export interface Fault {
  /** ZeroDivisionError; empty where the process was killed */
  error: string;
  message: string;
  /** etra25.py, line 41, in loss; empty where that is not known */
  place: string;
  /** the whole traceback, or the last lines that the process wrote */
  trace: string;
}

/** How a training goes. Answers come at most some twenty times a second. */
export interface ControlAnswer {
  type: "control";
  id: number;
  listing: ControlListing;
  /** null until the process has said so for the first time */
  about: About | null;
  /** of all parameters, as they are in force */
  values: Record<string, boolean | number | string | null>;
  seed: number;
  /** of the run that is written now; empty where there is none yet */
  run_id: string;
  /** of all runs since Init, this one included */
  run_ids: string[];
  /** of earlier Inits, too, the oldest first */
  all_run_ids: string[];
  /** what a person should know since Init, such as why there is no network; several are lines */
  note: string;
  fault: Fault | null;
  /** why the last command was not carried out; empty where it was */
  refusal: string;
  refused_field: string;
}

/**  */
export interface ControlDoneAnswer {
  type: "control_done";
  id: number;
}

/**  */
export interface Example {
  id: string;
  title: string;
  about: string;
  source: string;
}

/** One gradient to be found. */
export interface Hole {
  /** a */
  symbol: string;
  /** LaTeX of what is sought, left of the equals sign */
  formula: string;
  hints: string[];
  /** an expression that is right */
  solution: string;
  /** what was typed last; empty before */
  answer: string;
  /** it was */
  is_right: boolean;
}

/**  */
export interface Exercise {
  id: string;
  title: string;
  /** paragraphs, an empty line between them */
  text: string;
  /** c = a * b */
  forward: string;
  /** what may be used: g, a, b, c and their shapes, a line each */
  given: string[];
  holes: Hole[];
  is_solved: boolean;
}

/**  */
export interface LessonsAnswer {
  type: "lessons";
  id: number;
  examples: Example[];
  exercises: Exercise[];
  /** what may be written in an expression, a line each */
  functions: string[];
}

/** The numbers of a tensor in rows and columns, the last dimension across. Large ones are cut off. */
export interface Cells {
  /** of the whole tensor */
  shape: number[];
  /** of what is here */
  num_rows: number;
  num_columns: number;
  /** row by row; "nan", "inf" and "-inf" as text */
  values: (number | string)[];
  is_whole: boolean;
}

/** A value: an input, a parameter, or what an op made. */
export interface LearnNode {
  /** its place in the list */
  id: number;
  /** W1; or made up, as in add_2 */
  name: string;
  /** by the student */
  is_named: boolean;
  kind: LearnNodeKind;
  /** matmul; empty for what no op made */
  rule: string;
  /** x @ W1; what was written, or as it could have been */
  text: string;
  /** the layer of nn that it happened in; empty outside of one */
  layer: string;
  /** from 1; 0 where none is known */
  line: number;
  dtype: string;
  /** in the order of the inputs; constants that are numbers are not in it */
  parents: number[];
  value: Cells;
  /** when all has arrived; null where none is wanted */
  gradient: Cells | null;
  wants_gradient: boolean;
}

/** A dimension over which a contribution is summed, because the input was broadcast along it. */
export interface SumOver {
  /** of the contribution before */
  dim: number;
  size: number;
  /** in words */
  reason: string;
}

/** How each element of the output changes with each of the input; a row for each of the output. */
export interface Jacobian {
  /** c[0, 1] */
  rows: string[];
  columns: string[];
  cells: Cells;
}

/** What one op hands to one of its inputs. The first step of all starts with 1 at the loss. */
export interface BackwardStep {
  /** the op that it goes through; of the seed, the loss */
  node: number;
  /** the node that it goes to */
  to: number;
  /** among the inputs of the op */
  position: number;
  /** matmul: x^T g; short, for the list */
  title: string;
  rule: string;
  /** what the rule says, in a sentence or two */
  words: string;
  /** LaTeX of a few commands; \name{W1} is a name, \grad{W1} what the loss changes with it */
  formula: string;
  form: LearnForm;
  /** the gradient of the op's output */
  upstream: Cells;
  /** factors, in the order in which they are multiplied; null where there are none */
  left: Cells | null;
  left_label: string;
  right: Cells | null;
  right_label: string;
  /** their product, before it is summed over what was broadcast */
  raw: Cells;
  sums: SumOver[];
  /** in the shape of the input */
  contribution: Cells;
  /** what had arrived there by other ways; null for the first */
  before: Cells | null;
  /** with this one */
  after: Cells;
  /** this is the k-th contribution, from 1 … */
  number: number;
  /** … of so many */
  num_all: number;
  /** of small tensors */
  jacobian: Jacobian | null;
}

/** What is wrong with an expression. All lines before it can be stepped through. */
export interface LearnFault {
  /** from 1; 0 for the whole */
  line: number;
  message: string;
}

/** The gradient of one node, asked of others: torch's autograd, and differences of the loss itself. */
export interface LearnCheck {
  node: number;
  torch: Cells | null;
  /** the largest difference to ours */
  torch_error: number | null;
  /** (f(x + h) - f(x - h)) / 2h, element by element; null for large tensors */
  difference: Cells | null;
  difference_error: number | null;
  /** of torch's */
  tolerance: number;
  difference_tolerance: number;
  /** why something is not there, or may differ */
  note: string;
}

/** An expression, taken apart. */
export interface Lesson {
  title: string;
  /** what was written */
  lines: string[];
  /** the number of the first of them, in the file that they stand in */
  first_line: number;
  /** in the order in which they were made */
  nodes: LearnNode[];
  /** the nodes that ops made, step by step */
  forward: number[];
  backward: BackwardStep[];
  /** the node at which the way back begins */
  loss: number | null;
  fault: LearnFault | null;
  /** empty where they are asked for later */
  checks: LearnCheck[];
  /** what is left out */
  notes: string[];
}

/**  */
export interface LessonAnswer {
  type: "lesson";
  id: number;
  lesson: Lesson;
}

/**  */
export interface LessonChecksAnswer {
  type: "lesson_checks";
  id: number;
  checks: LearnCheck[];
}

/** What is said of one answer. */
export interface Verdict {
  symbol: string;
  is_right: boolean;
  /** right, or what is wrong with it and where */
  message: string;
  /** on the example that is shown */
  got: Cells | null;
  wanted: Cells | null;
}

/**  */
export interface ExerciseAnswer {
  type: "exercise";
  id: number;
  /** with what is known now */
  exercise: Exercise;
  verdicts: Verdict[];
}

/** A set of features as lists show it. */
export interface FeatureSetListing {
  /** the same as long as it is in the same place of the folder */
  id: string;
  name: string;
  /** its class */
  model: string;
  /** in words */
  data: string;
  /** npy, zarr */
  storage: string;
  num_layers: number;
  /** null: a stream that has not ended */
  num_samples: number | null;
  num_done: number;
  is_complete: boolean;
  /** on the disk, as far as that is known */
  num_bytes: number;
  /** seconds since 1970; 0 where nobody knows */
  updated: number;
  /** what is wrong with it; empty where nothing is */
  note: string;
}

/** All sets, by name. */
export interface FeatureSetsAnswer {
  type: "feature_sets";
  id: number;
  sets: FeatureSetListing[];
}

/** One layer of a set. */
export interface FeatureLayer {
  name: string;
  /** of its op: conv2d_3_7 */
  label: string;
  /** of the module whose output it is */
  address: string;
  /** of one sample; -1 where it varies */
  shape: number[];
  /** their names, where they have some */
  dims: string[];
  dtype: string;
  /** 0 where it varies from sample to sample */
  num_units: number;
  /** of all its values */
  num_bytes: number;
  transforms: string[];
}

/** A set as it is now. Rows that are not extracted yet are in no picture and no analysis. */
export interface FeatureSetAnswer {
  type: "feature_set";
  id: number;
  listing: FeatureSetListing;
  layers: FeatureLayer[];
  /** where there are more than can be shown */
  num_layers: number;
  label_kind: "classes" | "none" | "numbers";
  /** each once, in their order; at most 1,000 */
  labels: string[];
  num_labels: number;
  label_counts: number[];
  batch_size: number | null;
  notes: string[];
}

/** Which samples stand in the rows of a picture, sorted by label. */
export interface FeatureRows {
  samples: number[];
  ids: string[];
  /** each once, in their order; none where there are no labels */
  labels: string[];
  /** for each row the place among them */
  label_of: number[];
  /** out of so many they were chosen */
  num_done: number;
}

/** The head of a binary frame: float32, [row][column]. */
export interface FeatureMapAnswer {
  type: "feature_map";
  id: number;
  rows: FeatureRows;
  /** in the columns */
  units: number[];
  num_units: number;
  /** of the finite values */
  low: number | null;
  high: number | null;
  /** NaN or infinite */
  num_bad: number;
}

/** The head of a binary frame: float32, one for each row. */
export interface FeatureUnitAnswer {
  type: "feature_unit";
  id: number;
  rows: FeatureRows;
  /** of the unit in the layer */
  place: number[];
}

/** The head of a binary frame: float32, in the order of the layer. */
export interface FeatureSampleAnswer {
  type: "feature_sample";
  id: number;
  sample: number;
  /** its id */
  name: string;
  label: string;
  shape: number[];
  /** which of them; none where all are there */
  units: number[];
  num_units: number;
  /** of all values, as the other figures */
  mean: number | null;
  std: number | null;
  low: number | null;
  high: number | null;
  num_zeros: number;
  num_bad: number;
}

/** Pairs of samples with the same label against pairs with different ones. */
export interface FeatureContrast {
  within: number | null;
  between: number | null;
  contrast: number | null;
}

/** The head of a binary frame: float32, [row][row]; nothing until it is done. */
export interface FeatureSimilarityAnswer {
  type: "feature_similarity";
  id: number;
  progress: number;
  is_done: boolean;
  note: string;
  rows: FeatureRows | null;
  contrast: FeatureContrast | null;
}

/** The head of a binary frame: float32, [layer][layer], NaN where undefined; nothing until it is done. */
export interface FeatureLayersAnswer {
  type: "feature_layers";
  id: number;
  progress: number;
  is_done: boolean;
  note: string;
  layers: number[];
  /** why a layer is not among them, by its name */
  left_out: Record<string, string>;
  num_samples: number;
}

/** How well labels can be read from one layer, on samples that the probe has not seen. */
export interface FeatureProbe {
  layer: number;
  /** there is none; empty where there is */
  why: string;
  /** of each fold */
  scores: (number | null)[];
  mean: number | null;
  std: number | null;
  metric: string;
  kind: string;
  chance: number | null;
  num_samples: number;
  num_units: number;
  /** of the confusions */
  labels: string[];
  /** right label by what was said; none of numbers, or of too many labels */
  confusion: number[][];
}

/** Layers that are new since the answer before. */
export interface FeatureProbesAnswer {
  type: "feature_probes";
  id: number;
  progress: number;
  is_done: boolean;
  note: string;
  /** the layer that is being probed */
  at: number | null;
  probes: FeatureProbe[];
}

/** The head of a binary frame: as of an embedding of a run; nothing until it is done. */
export interface FeaturePointsAnswer {
  type: "feature_points";
  id: number;
  progress: number;
  is_done: boolean;
  note: string;
  head: EmbeddingHead | null;
}

export type Question = PassesQuestion | DocumentQuestion | TensorQuestion | FiguresQuestion | RunsQuestion | StopQuestion | IndexQuestion | SeriesQuestion | RecordsQuestion | LayoutQuestion | RecordQuestion | RunTensorQuestion | HistogramsQuestion | HparamsQuestion | ReduceQuestion | OpSeriesQuestion | WatchedQuestion | WatchedRowQuestion | EventsQuestion | NetSceneQuestion | NetMomentsQuestion | NetValuesQuestion | NetUnitQuestion | NetUnitSeriesQuestion | NetRasterQuestion | NetWeightsQuestion | NetItemsQuestion | NetSimilarityQuestion | NetLikenessQuestion | NetComponentsQuestion | NetTuningQuestion | NetUnitTuningQuestion | NetFieldQuestion | TableQuestion | TableCellsQuestion | TableStatisticsQuestion | TableTextQuestion | ControlsQuestion | ControlQuestion | ControlDoQuestion | LessonsQuestion | LessonQuestion | LessonChecksQuestion | ExerciseQuestion | ProgressResetQuestion | FeatureSetsQuestion | FeatureSetQuestion | FeatureSimilarityQuestion | FeatureLayersQuestion | FeatureProbesQuestion | FeaturePointsQuestion | FeatureReduceQuestion | FeatureMapQuestion | FeatureUnitQuestion | FeatureSampleQuestion;

export type Answer = Hello | PassesAnswer | DocumentAnswer | FiguresAnswer | TensorAnswer | Refusal | RunsAnswer | IndexAnswer | SeriesAnswer | RecordsAnswer | LayoutAnswer | RecordAnswer | HistogramsAnswer | HparamsAnswer | ReductionAnswer | OpSeriesAnswer | WatchedAnswer | WatchedRowAnswer | EventsAnswer | NetSceneAnswer | NetMomentsAnswer | NetValuesAnswer | NetUnitAnswer | NetUnitSeriesAnswer | NetRasterAnswer | NetWeightsAnswer | NetItemsAnswer | NetSimilarityAnswer | NetLikenessAnswer | NetComponentsAnswer | NetTuningAnswer | NetUnitTuningAnswer | NetFieldAnswer | TableAnswer | TableCellsAnswer | TableStatisticsAnswer | TableTextAnswer | ControlsAnswer | ControlAnswer | ControlDoneAnswer | LessonsAnswer | LessonAnswer | LessonChecksAnswer | ExerciseAnswer | FeatureSetsAnswer | FeatureSetAnswer | FeatureMapAnswer | FeatureUnitAnswer | FeatureSampleAnswer | FeatureSimilarityAnswer | FeatureLayersAnswer | FeatureProbesAnswer | FeaturePointsAnswer;
