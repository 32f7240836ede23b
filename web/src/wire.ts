/** What the page and the server say to each other. Generated: `python -m web.wire_types`. */

export type OpKind = "op" | "input" | "output" | "buffer" | "source";
export type TensorKind = "output" | "grad" | "param" | "param_grad";

export type RecordKind =
  | "scalar" | "tensor" | "histogram" | "image" | "video" | "audio" | "text" | "embedding" | "pr_curve"
  | "confusion" | "pass" | "hparams" | "layout" | "watch" | "statistics" | "alarm" | "gap" | "netview"
  | "moment" | "table";

export type RunState = "running" | "finished" | "died" | "unknown";
export type ControlState = "starting" | "new" | "ready" | "busy" | "stopping" | "done" | "failed" | "died";
export type StepLevel = "trial" | "epoch" | "run";
export type LearnNodeKind = "input" | "parameter" | "constant" | "op";
export type LearnForm = "seed" | "elementwise" | "matrix" | "moved" | "general";
/** Something that a page asks. The number is the page's own choice. */
export interface QuestionBase { id: number }
/** Which passes are there now? */
export interface PassesQuestion extends QuestionBase { type: "passes" }
/** About one pass. */
export interface PassQuestion extends QuestionBase { pass_id: string }
/** A pass but for its tensors, please. */
export interface DocumentQuestion extends PassQuestion { type: "open" }
/** A pass at a glance, please. */
export interface SketchQuestion extends PassQuestion { type: "sketch" }

/** Which values: item, then tiles, rows and columns as first, step and count. */
export interface Window {
  item: number[]; first_tile: number; num_tiles: number; first_row: number; row_step: number;
  num_rows: number; first_column: number; column_step: number; num_columns: number;
}

/** A tensor of a pass: its figures and a window of its values. Without a window, the server chooses. */
export interface TensorQuestion extends PassQuestion {
  type: "tensor"; kind: TensorKind;
  index: number; // of an op, or of a parameter
  window: Window | null;
}

/** One figure of every op, such as its share of zeros. */
export interface FiguresQuestion extends PassQuestion { type: "figures"; name: string }
/** Which runs are there? Followed. */
export interface RunsQuestion extends QuestionBase { type: "runs" }
/** No more answers to that question. This one has none. */
export interface StopQuestion extends QuestionBase { type: "stop"; which: number }
/** Which series do these runs have? Followed. */
export interface IndexQuestion extends QuestionBase { type: "index"; run_ids: string[] }
/** A scalar of a run. */
export interface SeriesWanted { run_id: string; name: string }

/** Scalars, between two places of an axis or in whole. Followed. */
export interface SeriesQuestion extends QuestionBase {
  type: "series"; wanted: SeriesWanted[];
  axis: "relative" | "step" | "time"; // relative: seconds since the run began
  low: number | null; high: number | null; num_buckets: number;
}

/** About one run. */
export interface RunQuestion extends QuestionBase { run_id: string }

/** Records of a series without their bytes: all, or so many, evenly chosen, with first and last. */
export interface RecordsQuestion extends RunQuestion {
  type: "records"; kind: RecordKind; name: string; most: number;
}

/** The charts that a run asks for, by the name of its layout. */
export interface LayoutQuestion extends RunQuestion { type: "layout"; name: string }
/** A record with its bytes. */
export interface RecordQuestion extends RunQuestion { type: "record"; record: string }

/** A tensor of a run: its figures and a window of its values, as of a tensor of a pass. */
export interface RunTensorQuestion extends RunQuestion {
  type: "run_tensor"; record: string; window: Window | null;
}

/** Histograms of a series over time, on common bins. Of a tensor's series, too. */
export interface HistogramsQuestion extends RunQuestion {
  type: "histograms"; kind: "histogram" | "tensor"; name: string; num_steps: number; num_bins: number;
}

/** The hyperparameters of all runs that have some. */
export interface HparamsQuestion extends QuestionBase { type: "hparams" }

/** An embedding in fewer dimensions: two or three, of PCA up to ten. Followed, for the progress. */
export interface ReduceQuestion extends RunQuestion {
  type: "reduce"; record: string; method: "pca" | "tsne" | "umap"; num_dims: number;
  neighbours: number; // the perplexity of t-SNE, the neighbours of UMAP
  metric: "cosine" | "euclidean";
  axes_of: string; // PCA: another embedding, on whose axes these points are placed
}

/** The figures of an op over all passes of its run. */
export interface OpSeriesQuestion extends PassQuestion { type: "op_series"; op: number }

/** One figure of all rows that were watched, over steps, for a heat map. Followed: comes anew as it grows. */
export interface WatchedQuestion extends RunQuestion {
  type: "watched"; rank: number;
  column: string; // mean, std, norm…
  low: number | null; // steps
  high: number | null; num_buckets: number;
}

/** All figures of one row over steps. Followed: comes anew as it grows. */
export interface WatchedRowQuestion extends RunQuestion {
  type: "watched_row"; rank: number; row: string; low: number | null; high: number | null;
  num_buckets: number;
}

/** Alarms and gaps of runs. Followed: the first answer is whole, later ones bring what is new. */
export interface EventsQuestion extends QuestionBase { type: "events"; run_ids: string[] }
/** About the network of a run, as one of its ranks wrote it. */
export interface NetQuestion extends RunQuestion { rank: number }
/** The network of a run: layers, variables, connections. Followed: comes anew where it has changed. */
export interface NetSceneQuestion extends NetQuestion { type: "net_scene" }
/** The moments of which there are values. Followed: later answers bring new ones, or all anew. */
export interface NetMomentsQuestion extends NetQuestion { type: "net_moments" }

/** One variable of some layers at a moment: of each the last record up to then. */
export interface NetValuesQuestion extends NetQuestion {
  type: "net_values"; step: number; variable: string; item: number; layers: string[];
}

/** All variables of one unit at a moment, exactly. */
export interface NetUnitQuestion extends NetQuestion {
  type: "net_unit"; step: number; layer: string; unit: number; item: number;
}

/** All variables of one unit over time; where there are more moments than that, some of them. */
export interface NetUnitSeriesQuestion extends NetQuestion {
  type: "net_unit_series"; layer: string; unit: number; item: number;
  low: number | null; // steps
  high: number | null; most: number;
}

/** One variable of some layers over time, a column for each moment up to this one, the last ones. */
export interface NetRasterQuestion extends NetQuestion {
  type: "net_raster";
  step: number; // the last
  variable: string; item: number; layers: string[]; num_moments: number;
}

/** The weights of one unit at a moment, laid on the units of the layers at their other end. */
export interface NetWeightsQuestion extends NetQuestion {
  type: "net_weights"; step: number; layer: string; unit: number;
  item: number; // attention is different for each
  direction: "received" | "sent";
  variable: string; // Wt, or what goes with it: Grad, Delta, exp_avg…
}

/** Which items, and what of each layer is taken as its response to them. */
export interface NetItemChoice {
  variable: string; scope: "all" | "batch" | "moments"; step: number;
  item: number; // of each batch, for `moments`
  most: number; // items
  labels: string;
}

/** About what layers responded to some items. */
export interface NetAnalysisQuestion extends NetQuestion { choice: NetItemChoice }
/** The items of a choice, their labels, and which labels there are to choose from. */
export interface NetItemsQuestion extends NetAnalysisQuestion { type: "net_items" }

/** How alike a layer sees the items, and the tree of clusters that comes of it. */
export interface NetSimilarityQuestion extends NetAnalysisQuestion {
  type: "net_similarity"; layer: string; metric: "correlation" | "cosine" | "euclidean";
}

/** How alike layers see the items: the rank correlation of their similarities, of each pair of layers. */
export interface NetLikenessQuestion extends NetAnalysisQuestion {
  type: "net_likeness"; layers: string[]; metric: "correlation" | "cosine" | "euclidean";
}

/** Where items lie in the directions in which the responses of a layer vary most. */
export interface NetComponentsQuestion extends NetAnalysisQuestion {
  type: "net_components"; layer: string; num_components: number;
}

/** What all units of a layer respond to most, and how selective they are. */
export interface NetTuningQuestion extends NetAnalysisQuestion { type: "net_tuning"; layer: string }

/** What one unit responds to each item, and on average to each label. */
export interface NetUnitTuningQuestion extends NetAnalysisQuestion {
  type: "net_unit_tuning"; layer: string; unit: number;
}

/** The mean of another layer over items, each counted by how much a unit responds to it. */
export interface NetFieldQuestion extends NetAnalysisQuestion {
  type: "net_field"; layer: string; unit: number; source: string;
  above: "mean" | "zero"; // what of a response counts: what is above 0, or above its mean over items
  minus_mean: boolean; // what is particular to the unit: without the plain mean over all items
}

/** About the rows of a table over some runs, in their order. */
export interface RowsQuestion extends QuestionBase { run_ids: string[]; name: string; only_last: boolean }
/** The rows of a table. Followed: later answers bring what is new. */
export interface TableQuestion extends RowsQuestion { type: "table" }

/** The tensors of one column in some rows of a record. */
export interface TableCellsQuestion extends RunQuestion {
  type: "table_cells"; record: string; column: string; first_row: number; num_rows: number;
}

/** What the columns of numbers come to in rows with equal cells in the columns `by`. */
export interface TableStatisticsQuestion extends QuestionBase {
  type: "table_statistics"; run_ids: string[]; name: string; by: string[];
}

/** The whole table as CSV, tensors cell by cell: `Output[0]`, `Output[1]`… */
export interface TableTextQuestion extends RowsQuestion { type: "table_text" }
/** Which trainings can be controlled, and how do they go? Followed. */
export interface ControlsQuestion extends QuestionBase { type: "controls" }
/** All about one of them. Followed: each answer is whole. The first question brings it to life. */
export interface ControlQuestion extends QuestionBase { type: "control"; control_id: string }
/** Begin anew, with these parameters over those of the code. */
export interface Init { type: "init"; values: Record<string, boolean | number | string | null>; seed: number }
/** Go on to the end of all runs. */
export interface RunOn { type: "run" }
export interface Step { type: "step"; level: StepLevel; count: number }
/** End what is under way after this trial. */
export interface Stop { type: "stop" }
export interface TestItem { type: "test_item"; item: number }
/** Test every item of the test set. */
export interface TestAll { type: "test_all" }
/** New values of live parameters, and of what is shown. */
export interface SetLive { type: "set_live"; values: Record<string, boolean | number | string | null> }
/** End the process, whatever it is doing: what is in memory only is lost, the run stays. */
export interface Abort { type: "abort" }

/** Do that, please. Answered when it was passed on, or refused; other answers tell what comes of it. */
export interface ControlDoQuestion extends QuestionBase {
  type: "control_do"; control_id: string;
  action: Init | RunOn | Step | Stop | TestItem | TestAll | SetLive | Abort;
}

/** Which examples and exercises are there, and how far has the student come? */
export interface LessonsQuestion extends QuestionBase { type: "lessons" }
/** Take this apart, please. It is read, never run as a program. */
export interface LessonQuestion extends QuestionBase { type: "lesson"; source: string }
/** What do torch and differences say of its gradients? */
export interface LessonChecksQuestion extends QuestionBase { type: "lesson_checks"; source: string }

/** Is that right? Answers by symbol; what is right is remembered. */
export interface ExerciseQuestion extends QuestionBase {
  type: "exercise"; exercise_id: string; answers: Record<string, string>;
}

/** Forget what was solved. Answered with all exercises, as after `lessons`. */
export interface ProgressResetQuestion extends QuestionBase { type: "progress_reset" }
/** Which sets of features are there? Followed: comes anew when something changes. */
export interface FeatureSetsQuestion extends QuestionBase { type: "feature_sets" }
/** About one set. */
export interface FeatureQuestion extends QuestionBase { set_id: string }
/** All about one set but its values. Followed: comes anew while it grows. */
export interface FeatureSetQuestion extends FeatureQuestion { type: "feature_set" }
/** About one of its layers. */
export interface FeatureLayerQuestion extends FeatureQuestion { layer: number }

/** How alike samples are to a layer. Followed, for the progress. */
export interface FeatureSimilarityQuestion extends FeatureLayerQuestion {
  type: "feature_similarity"; metric: "correlation" | "cosine" | "euclidean";
  most: number; // samples
}

/** How alike layers are to one another. Followed, for the progress. */
export interface FeatureLayersQuestion extends FeatureQuestion {
  type: "feature_layers"; layers: number[]; method: "cka" | "rsa";
  metric: "correlation" | "cosine" | "euclidean"; // of RSA
  most: number; // samples
}

/** How well labels can be read from layers. Followed: an answer for each layer, as it is done. */
export interface FeatureProbesQuestion extends FeatureQuestion {
  type: "feature_probes"; layers: number[]; kind: "auto" | "logistic" | "ridge"; folds: number;
  most: number; // samples
}

/** Samples as points for the projector. Followed, for the progress. */
export interface FeaturePointsQuestion extends FeatureLayerQuestion { type: "feature_points"; most: number }

/** These points in fewer dimensions. Followed, for the progress; answered as `reduce` is. */
export interface FeatureReduceQuestion extends FeatureLayerQuestion {
  type: "feature_reduce"; most: number; method: "pca" | "tsne" | "umap"; num_dims: number; neighbours: number;
  metric: "cosine" | "euclidean";
}

/** Values of a layer: some samples, sorted by label, by some units, both evenly chosen. */
export interface FeatureMapQuestion extends FeatureLayerQuestion {
  type: "feature_map"; num_rows: number; num_columns: number;
}

/** The values of one unit, of the same samples as in the map. */
export interface FeatureUnitQuestion extends FeatureLayerQuestion {
  type: "feature_unit"; num_rows: number; unit: number;
}

/** All values of a layer for one sample; where they are many, some of them, evenly chosen. */
export interface FeatureSampleQuestion extends FeatureLayerQuestion { type: "feature_sample"; sample: number }

/** A pass that can be opened. The id stays the same for as long as the pass does. */
export interface PassListing {
  id: string; name: string; detail: string;
  run_id: string; // the run that it was put into
  step: number | null; // of that run
}

/** The first message of every connection. */
export interface Hello {
  type: "hello";
  has_runs: boolean; // is there a folder of runs?
  has_lessons: boolean; // can expressions be taken apart here?
  passes: PassListing[];
}

/** What the server says to a question, with the number of that question. */
export interface AnswerBase { id: number }
/** The passes that are there now. */
export interface PassesAnswer extends AnswerBase { type: "passes"; passes: PassListing[] }
/** One tensor that an op was given: which op made it, and which argument it was. */
export type Link = [op: number, argument: string];

/** One output of one operation. Its place in the list is its index, in the order they ran. */
export interface OpEntry {
  label: string; // `relu_1_2`, with its pass where the layer ran more than once: `relu_1_2:3`
  layer: number; pass_num: number;
  num_passes: number; // of its layer
  type: string; function: string; kind: OpKind; scope: number; parents: Link[];
  argument_order_matters: boolean; params: number[]; shape: number[]; dtype: string; num_bytes: number;
  seconds: number; flops: number | null;
  name: string; // of an input, an output or a buffer: `input_ids`, `layer1.0.bn1.running_mean`
  arguments: string; // those that are no tensors, as they would be written
  source: number; // the innermost line outside torch
  stack: number[]; // all lines, innermost first
  has_value: boolean; has_grad: boolean; is_inplace: boolean; is_edited: boolean; requires_grad: boolean;
  grad_fn: string;
  backward_seconds: number | null; // of its autograd nodes, over all backward passes
}

/** One call of a module, or of a torch function that was opened up. The first is the model itself. */
export interface ScopeEntry {
  parent: number; // stands before it; -1 for the model
  address: string | null; // null for a function
  name: string; // class or function
  pass_num: number; num_passes: number; first_op: number; num_ops: number; outputs: number[]; seconds: number;
  num_params: number; // elements, with those of the modules inside
  source: number; // where it was called
}

/** A parameter that some op used. */
export interface ParamEntry {
  address: string; shape: number[]; dtype: string; num_bytes: number; requires_grad: boolean;
  has_value: boolean; has_grad: boolean;
}

/** A line of source, with a few around it where the file could be read. */
export interface SourceEntry {
  file: string; line: number; function: string; text: string; context: string[];
  context_start: number; // the line number of the first of them
}

/** A value of a tensor that Python asked for, and the ops that followed. */
export interface BranchEntry {
  op: number; // -1 where it was a parameter
  value: string; statement: string; taken: string; followed_by: number[]; source: number;
}

/** A whole pass but for its tensors. */
export interface PassDocument {
  version: number; model_name: string; elapsed_seconds: number; num_params: number; param_bytes: number;
  num_bytes: number; // of all outputs
  random_seed: number; notes: string[];
  error: string; // of a model that raised
  stopped_after: string; is_shape_only: boolean; num_backward_passes: number; ops: OpEntry[];
  scopes: ScopeEntry[]; params: ParamEntry[]; sources: SourceEntry[]; branches: BranchEntry[];
}

/** A pass but for its tensors. */
export interface DocumentAnswer extends AnswerBase { type: "document"; document: PassDocument }

/** A pass at a glance: a few figures, and how large the output of each op is. */
export interface SketchAnswer extends AnswerBase {
  type: "sketch"; num_ops: number; num_params: number; elapsed_seconds: number; has_gradients: boolean;
  input_shape: number[] | null; // of the first input
  sizes: number[]; // elements, in the order the ops ran; of many ops, the largest of each few
}

/** One figure of every op, in their order; null where it is not known. */
export interface FiguresAnswer extends AnswerBase { type: "figures"; values: (number | null)[] }

/** A tensor without its values; those of the window follow as bytes, tile by tile, row by row. */
export interface TensorView {
  shape: number[]; dtype: string; num_elements: number;
  mean: number | null; // of the finite values; null where there are none
  std: number | null; min: number | null; max: number | null; num_zeros: number; num_nan: number;
  num_inf: number; histogram: number[]; histogram_low: number; histogram_high: number; window: Window;
  encoding: "f4" | "f8"; // little-endian floats of four or eight bytes
  note: string; // what a reader must know: "complex numbers: their magnitude is shown"
}

/** The head of a binary frame; the values follow it. */
export interface TensorAnswer extends AnswerBase { type: "tensor"; view: TensorView }
/** Why there is no answer, in a sentence for people. The id is -1 where the question could not be read. */
export interface Refusal extends AnswerBase { type: "refusal"; message: string }

/** The last value of a scalar. */
export interface Metric {
  name: string;
  value: number | null; // null for NaN and infinity
}

/** A run as the list shows it. Times are seconds since 1970. */
export interface RunListing {
  id: string; // the same as long as the run is in the same place of the folder
  name: string; // its place in the folder: `sweep/first`
  comment: string; tags: string[]; source: "tensorboard" | "torcheer"; state: RunState;
  reason: string; // what it died of, or what is wrong: `NaN in loss at step 7040`
  started: number; updated: number; last_step: number | null; total_steps: number | null;
  spark_name: string; // the scalar that the small chart shows; empty where there is none
  spark: (number | null)[];
  metrics: Metric[]; // at most 64, those of loss and accuracy first
  num_series: number; num_bytes: number; num_dropped: number; num_thinned: number; num_alarms: number;
  has_network: boolean; // that NetView shows
  host: string; note: string;
}

/** Runs that are new or have changed, and the ids of those that are gone. */
export interface RunsAnswer extends AnswerBase {
  type: "runs";
  folder: string; // for people
  is_all: boolean; // the first answer
  runs: RunListing[]; gone: string[];
  note: string; // what could not be read
}

/** A series of a run. */
export interface SeriesListing {
  kind: RecordKind; name: string; count: number; last_step: number; last_time: number;
  last_value: number | null;
  num_bad: number; // NaN or infinite
  first_bad_step: number | null; description: string;
}

/** Series of a run that are new or have changed; in the first answer, and when `is_all`, all of them. */
export interface RunIndex { run_id: string; is_all: boolean; series: SeriesListing[] }
/** The series of runs. A run that is not there has no index. */
export interface IndexAnswer extends AnswerBase { type: "index"; runs: RunIndex[] }

/** Some of a series. Its columns follow in the frame, float64 each, block after block. */
export interface SeriesBlock {
  run_id: string; name: string; form: "buckets" | "points";
  is_fresh: boolean; // it takes the place of what was there; otherwise it comes after it
  num_replaced: number; // of the last items that are there, whose place it takes: a bucket that has grown
  num_items: number;
  num_points: number; // of the whole series
  last_step: number; // the very last point, which a bucket hides
  last_time: number;
  last_value: number | null; // null for NaN and infinity
  started: number; // when the run began
}

/** The head of a binary frame. Series that are not there have no block. */
export interface SeriesAnswer extends AnswerBase { type: "series"; blocks: SeriesBlock[] }

/** Bytes: the elements, row by row, little-endian. The figures are of the finite values. */
export interface TensorHead {
  kind: "tensor"; shape: number[];
  dtype: string; // torch's name without `torch.`: float32, bfloat16, int64, bool, complex64
  mean: number | null; // null where there are no finite values
  std: number | null; min: number | null; max: number | null; num_zeros: number; num_nan: number;
  num_inf: number;
  estimates: string[]; // which of the figures are those of a sample: mean, std, zeros…
  num_values: number | null; // in that sample
}

/** Bytes: num_bins + 1 edges, rising, then num_bins counts, all float64. The rest is of the values. */
export interface HistogramHead {
  kind: "histogram"; num_bins: number;
  num: number; // of values
  min: number | null; max: number | null; sum: number | null; sum_squares: number | null; num_nan: number;
  num_inf: number;
  is_sample: boolean; // the values are not all that there were
}

/** Bytes: the picture, as PNG where we encoded it. */
export interface ImageHead {
  kind: "image"; width: number; height: number; channels: number;
  encoding: string; // png, jpeg, gif, webp; empty where it is not known
  boxes: number[][]; // left, top, right, bottom of what was marked in it
  box_labels: string[];
}

/** Bytes: the frames one after the other, a PNG each. */
export interface VideoHead {
  kind: "video"; width: number; height: number; frames_per_second: number; frame_bytes: number[];
}

/** Bytes: a WAV file. */
export interface AudioHead {
  kind: "audio"; sample_rate: number; num_frames: number; num_channels: number;
  encoding: string; // wav
}

/** Bytes: UTF-8. */
export interface TextHead { kind: "text"; num_characters: number }

/** Bytes: points as float32, row by row; labels as JSON, a list for each column; a sprite sheet as PNG. */
export interface EmbeddingHead {
  kind: "embedding"; num_points: number; num_dims: number;
  columns: string[]; // names of the columns of labels
  matrix_bytes: number; label_bytes: number;
  sprite_bytes: number; // 0 where there are no pictures
  sprite_width: number; // of one picture
  sprite_height: number; sprites_per_row: number;
}

/** Bytes: true and false positives, true and false negatives, precision and recall, in rows of float64. */
export interface PrCurveHead { kind: "pr_curve"; num_thresholds: number }
/** Bytes: counts as float64, a row for each true class, a column for each that was said. */
export interface ConfusionHead { kind: "confusion"; labels: string[] }

/** A record but for its bytes. */
export interface RecordListing {
  record: string; step: number; time: number; num_bytes: number; head: ShownHead;
}

/** Records of a series, in the order of their steps. */
export interface RecordsAnswer extends AnswerBase {
  type: "records";
  num_all: number; // how many there are
  records: RecordListing[];
}

/** A chart that a run asks for: lines of these names, or a margin of value, lower and upper. */
export interface ShownLayoutChart {
  title: string; form: "lines" | "margin"; names: string[];
  globs: string[]; // more names, with `*` and `?`; a backslash takes the next character as it is
  not_supported: string[]; // expressions that are no globs; they stand among the names, too
}

/** Charts under one heading, as a run asks for them. */
export interface ShownLayoutGroup { title: string; charts: ShownLayoutChart[] }
/** The layout that holds, with nothing in it where there is none. */
export interface LayoutAnswer extends AnswerBase { type: "layout"; groups: ShownLayoutGroup[] }
/** The head of a binary frame; the bytes of the record follow it. */
export interface RecordAnswer extends AnswerBase { type: "record"; entry: RecordListing }

/** The head of a binary frame: counts as float64, a row for each step. */
export interface HistogramsAnswer extends AnswerBase {
  type: "histograms"; steps: number[];
  low: number; // of the first bin
  high: number; // of the last
  num_bins: number;
  num_all: number; // how many records there are
}

/** The hyperparameters of a run, and the metrics that were logged with them. */
export interface HparamsRow {
  run_id: string; hparams: Record<string, number | boolean | string | null>;
  metrics: Record<string, number | null>;
}

/** A row for each run that has hyperparameters. */
export interface HparamsAnswer extends AnswerBase { type: "hparams"; rows: HparamsRow[] }

/** The head of a binary frame: coordinates as float32, a row for each point; none until it is done. */
export interface ReductionAnswer extends AnswerBase {
  type: "reduction";
  progress: number; // from 0 to 1
  is_done: boolean; num_points: number; num_dims: number; note: string;
  shares: number[]; // of PCA, on axes of its own: how much of the variance each axis has
}

/** The figures of an op, a row for each pass of the run; null where one is not known. */
export interface OpSeriesAnswer extends AnswerBase {
  type: "op_series"; steps: number[]; figures: string[]; rows: ((number | null)[])[];
}

/** A tensor that is watched over a training. Its records have the same name. */
export interface WatchedRow {
  name: string; // features.0.weight.Grad
  layer: string; // features.0
  variable: string; // weight.Grad
  role: string; // activation, gradient, weight, weight_gradient, update, state, tensor
  module: string; // the type of the layer: Conv2d
  shape: number[] | null; // null where it was not seen yet
}

/** The head of a binary frame: float32, [row][bucket], NaN where nothing is known; then a byte for each. */
export interface WatchedAnswer extends AnswerBase {
  type: "watched";
  ranks: number[]; // that were watched
  columns: string[]; // that there are
  rows: WatchedRow[];
  first_steps: number[]; // of each bucket
  last_steps: number[];
  num_steps: number; // that were watched in all
  every: string; // as it was asked for: 20/s
  got: string; // how often it was really watched of late, in the same form; empty where that is not known
}

/** The head of a binary frame: float32, [column][bucket], NaN where nothing is known, and a byte for each. */
export interface WatchedRowAnswer extends AnswerBase {
  type: "watched_row";
  row: WatchedRow | null; // null: there is none of this name
  columns: string[];
  num_values: number | null; // that the latest estimates are of; null where there are none, or nobody knows
  first_steps: number[]; last_steps: number[];
  tensor_name: string; // the series of tensors with this name; empty where there is none
  histogram_name: string;
}

/** An alarm of a run. */
export interface AlarmListing {
  run_id: string; record: string; rank: number;
  alarm: string; // its kind: nan, exploding_gradient…
  step: number; time: number; layer: string; variable: string;
  row: string; // the name of what is wrong: features.0.weight.Grad
  value: number | null; threshold: number | null; message: string;
}

/** Something of a run that was to be observed, and was not. */
export interface GapListing {
  run_id: string; record: string; rank: number; reason: "budget" | "error" | "full" | "killed";
  first_step: number; last_step: number; time: number; num_missing: number;
  counts: Record<string, number>; // by name, at most 64
  message: string;
}

/** Alarms and gaps, in the order in which they came. At most 10,000 of each. */
export interface EventsAnswer extends AnswerBase {
  type: "events";
  is_all: boolean; // the first answer, or the run begins anew
  alarms: AlarmListing[]; gaps: GapListing[];
}

/** How the units of a layer lie on its plate: tiles side by side, each a block of cells. */
export interface Grid {
  num_units: number; tiles_across: number; tiles_down: number;
  columns: number; // of a tile
  rows: number;
  gap: number; // cells between two tiles
  is_colour: boolean;
}

/** Where somebody wants a layer. All that is None is worked out. */
export interface Place {
  relation: "above" | "behind" | "below" | "infront" | "leftof" | "rightof" | null;
  other: string; // the layer to which this one is in relation
  offset: number[]; // right, up, to the front, in plates
  scale: number;
}

/** A layer: a plate of units. */
export interface NetLayer {
  name: string;
  module: string; // the type of what computes it: Conv2d; empty where that is not known
  shape: number[]; // of one item
  grid: Grid;
  variables: string[]; // of which there are series: Act, Net, Grad…
  place: Place; is_input: boolean;
  has_items: boolean; // the first dimension of its tensors counts items of a batch
  note: string; // what a reader must know: every second channel is shown
}

/** What one layer receives from another. The source gives its variable Act. */
export interface Connection {
  source: string; target: string;
  form: "attention" | "conv" | "embedding" | "linear" | "other" | "transposed_conv";
  weight: string; // the series of the weights: features.0.weight; empty where there are none
  bias: string | null; // the series of what is added; empty where nothing is, null where it is not known
  is_transposed: boolean; // linear weights that stand as [in, out]
  stride: number[];
  padding: number[]; // at the front
  dilation: number[]; groups: number;
}

/** Layers from the input to the output. */
export interface NetScene { layers: NetLayer[]; connections: Connection[] }

/** A variable that some layer has. */
export interface NetVariable {
  name: string; // Act
  group: string; // State, Learn, Weights of unit, Others
  about: string; // in a sentence, for people
  low: number | null; // of all values that were ever recorded
  high: number | null;
}

/** The network, and all variables that there are, in the order in which they are shown. */
export interface NetSceneAnswer extends AnswerBase {
  type: "net_scene"; scene: NetScene; variables: NetVariable[];
  source: "names" | "netview" | "watch"; // where the network is known from
  num_items: number; // of a batch, at most
  ranks: number[]; // of which there is something; several where several processes wrote the run
  note: string; // what a reader must know; empty where there is nothing
}

/** The lowest and the highest value that a variable ever had, over all layers. */
export interface NetRange { variable: string; low: number; high: number }

/** Moments in the order of their steps. Counters are texts, a column for each name: run, epoch, trial. */
export interface NetMomentsAnswer extends AnswerBase {
  type: "net_moments";
  is_all: boolean; // these take the place of what there was
  steps: number[]; times: number[]; counters: Record<string, string[]>;
  ranges: NetRange[]; // as far as they are known by now
  is_running: boolean;
}

/** The values of one layer. Its levels follow in the frame, block after block, two bytes each. */
export interface NetBlock {
  layer: string;
  step: number; // of the record: an earlier one where nothing was recorded at this moment
  num_units: number; // of which levels follow; 0 where nothing was recorded
  low: number; // of level 0
  high: number; // of the highest level
  why: string; // why there is nothing, or what is special; empty otherwise
}

/** The head of a binary frame. */
export interface NetValuesAnswer extends AnswerBase { type: "net_values"; step: number; blocks: NetBlock[] }

/** Values as text where JSON has no number for them: NaN, Infinity, -Infinity. */
export interface NetUnitAnswer extends AnswerBase {
  type: "net_unit";
  values: Record<string, number | string>; // by variable
  steps: Record<string, number>; // of the records
}

/** The head of a binary frame: for each variable its steps, then its values, all float64. */
export interface NetUnitSeriesAnswer extends AnswerBase {
  type: "net_unit_series"; variables: string[];
  counts: number[]; // of each
}

/** The head of a binary frame: of each block the levels stand as [moment][unit], on one scale. */
export interface NetRasterAnswer extends AnswerBase {
  type: "net_raster";
  steps: number[]; // of the moments
  blocks: NetBlock[]; // `num_units` is that of one moment
}

/** The head of a binary frame. A block for each layer at the other end; the unit's own bias beside it. */
export interface NetWeightsAnswer extends AnswerBase {
  type: "net_weights"; blocks: NetBlock[]; bias: number | null;
  num_weights: number; // that really connect
}

/** Where labels can come from. */
export interface NetLabelChoice {
  key: string;
  name: string; // for people
  about: string; // in a few words
}

/** Of each item its moment, its place in the batch, and its label where there are labels. */
export interface NetItemsAnswer extends AnswerBase {
  type: "net_items"; steps: number[]; items: number[];
  labels: string[]; // each once, in their order
  label_of: number[]; // of each item, the number of its label; empty where there are none
  label_choices: NetLabelChoice[];
  note: string; // what a reader must know; empty where there is nothing
}

/** Pairs with the same label against pairs with different ones. Null where there are none. */
export interface Contrast {
  within: number | null; between: number | null;
  contrast: number | null; // how much more alike those of one label are
}

/** The head of a binary frame: the tree in rows of four as float64, then the matrix as float32. */
export interface NetSimilarityAnswer extends AnswerBase {
  type: "net_similarity";
  places: number[]; // the items of rows and columns
  by_label: number[]; // the same items, sorted by label
  leaves: number[]; // the items of the tree, as it numbers them
  by_tree: number[]; // these items as they stand below the tree
  contrast: Contrast | null; // null without labels
  note: string;
}

/** One layer among others. */
export interface NetLayerLikeness {
  layer: string; contrast: Contrast | null;
  why: string; // why it is not among those that are compared; empty where it is
}

/** The head of a binary frame: layers by layers as float32, NaN where it is not defined. */
export interface NetLikenessAnswer extends AnswerBase { type: "net_likeness"; layers: NetLayerLikeness[] }

/** The head of a binary frame: of each of `places` its coordinates, as float32. */
export interface NetComponentsAnswer extends AnswerBase {
  type: "net_components"; places: number[];
  shares: number[]; // of the variance of all units, of each component
  note: string;
}

/** The head of a binary frame, float32 of all units: the number of the best label, selectivity, d'. */
export interface NetTuningAnswer extends AnswerBase {
  type: "net_tuning"; num_units: number; num_items: number; note: string;
}

/** The head of a binary frame, float32: responses to `places`; of each label the mean and d'. */
export interface NetUnitTuningAnswer extends AnswerBase {
  type: "net_unit_tuning"; places: number[];
  counts: number[]; // items of each label
  note: string;
}

/** The head of a binary frame: float32 of all units of the source. NaN where the unit never responds. */
export interface NetFieldAnswer extends AnswerBase {
  type: "net_field"; num_units: number; num_items: number;
  num_responses: number; // items that count
  low: number | null; // of what is finite
  high: number | null; note: string;
}

/** A column of a table. Cells of numbers are one number each, those of tensors all of one shape. */
export interface TableColumn {
  name: string; form: "integer" | "number" | "tensor" | "text"; num_bytes: number;
  shape: number[]; // of a cell, for tensors
  dtype: string; // of tensors: torch's name without `torch.`
}

/** Rows that were logged together. The cells of a row stand in the order of `columns`. */
export interface TableRows {
  run_id: string; record: string; step: number; columns: TableColumn[];
  grids: Record<string, Grid>; // by column of tensors: how the values of a cell lie in its picture
  rows: ((number | string | null)[])[];
}

/** `is_all`: what was known before is void. A note says what is left out, and why. */
export interface TableAnswer extends AnswerBase {
  type: "table"; is_all: boolean; parts: TableRows[]; note: string;
}

/** The head of a binary frame; the values follow as float32, row by row. */
export interface TableCellsAnswer extends AnswerBase {
  type: "table_cells"; num_rows: number;
  shape: number[]; // of a cell
  low: number | null; high: number | null;
}

/** Of one column in the rows of a group, of the finite numbers. */
export interface TableFigures {
  column: string; count: number; mean: number | null;
  std: number | null; // of a sample: divided by count - 1; null for one number
  low: number | null; high: number | null;
}

/** Rows that are alike in the columns that were asked for. */
export interface TableGroup { cells: (number | string | null)[]; num_rows: number; figures: TableFigures[] }

export interface TableStatisticsAnswer extends AnswerBase {
  type: "table_statistics"; by: string[]; groups: TableGroup[];
}

export interface TableTextAnswer extends AnswerBase { type: "table_text"; text: string }

/** Where the training is: what is done, so all begin with 0. Numbers that are not known yet are None. */
export interface Counters {
  run: number; num_runs: number | null; epoch: number; num_epochs: number | null;
  trial: number; // of this epoch
  num_trials: number | null;
  step: number; // trials of this run, over all its epochs: the step of what is recorded
}

export interface ControlListing {
  id: string; name: string;
  target: string; // examples/etra25.py:loop
  state: ControlState; doing: string; counters: Counters;
}

export interface ControlsAnswer extends AnswerBase { type: "controls"; controls: ControlListing[] }

/** A parameter, as a form shows it. */
export interface FormField {
  name: string; label: string; section: string; form: "choice" | "integer" | "number" | "text" | "truth";
  value: boolean | number | string | null; // as it stands in the code
  choices: string[]; low: number | null; high: number | null;
  is_optional: boolean; // may be empty
  is_live: boolean; // takes effect at once; others at the next Init
  about: string;
  requirement: string; // what a value must be, as it stands below the field
}

/** A scalar of the run, and what it is called in the plot. */
export interface PlotLine { name: string; label: string }
export interface Plot { title: string; lines: PlotLine[] }

/** What the training says of itself before anything is initialised. */
export interface About {
  name: string; fields: FormField[]; seed: number; plots: Plot[];
  num_test_items: number | null; // null until it is initialised, and where there is no test
}

/** What went wrong, and where. */
export interface Fault {
  error: string; // ZeroDivisionError; empty where the process was killed
  message: string;
  place: string; // etra25.py, line 41, in loss; empty where that is not known
  trace: string; // the whole traceback, or the last lines that the process wrote
}

/** How a training goes. Answers come at most some twenty times a second. */
export interface ControlAnswer extends AnswerBase {
  type: "control"; listing: ControlListing;
  about: About | null; // null until the process has said so for the first time
  values: Record<string, boolean | number | string | null>; // of all parameters, as they are in force
  seed: number;
  run_id: string; // of the run that is written now; empty where there is none yet
  run_ids: string[]; // of all runs since Init, this one included
  all_run_ids: string[]; // of earlier Inits, too, the oldest first
  note: string; // what a person should know since Init, such as why there is no network; several are lines
  fault: Fault | null;
  refusal: string; // why the last command was not carried out; empty where it was
  refused_field: string;
}

export interface ControlDoneAnswer extends AnswerBase { type: "control_done" }
export interface Example { id: string; title: string; about: string; source: string }

/** One gradient to be found. */
export interface Hole {
  symbol: string; // a
  formula: string; // LaTeX of what is sought, left of the equals sign
  hints: string[];
  solution: string; // an expression that is right
  answer: string; // what was typed last; empty before
  is_right: boolean; // it was
}

export interface Exercise {
  id: string; title: string;
  text: string; // paragraphs, an empty line between them
  forward: string; // c = a * b
  given: string[]; // what may be used: g, a, b, c and their shapes, a line each
  holes: Hole[]; is_solved: boolean;
}

export interface LessonsAnswer extends AnswerBase {
  type: "lessons"; examples: Example[]; exercises: Exercise[];
  functions: string[]; // what may be written in an expression, a line each
}

/** The numbers of a tensor in rows and columns, the last dimension across. Large ones are cut off. */
export interface Cells {
  shape: number[]; // of the whole tensor
  num_rows: number; // of what is here
  num_columns: number;
  values: (number | string)[]; // row by row; "nan", "inf" and "-inf" as text
  is_whole: boolean;
}

/** A value: an input, a parameter, or what an op made. */
export interface LearnNode {
  id: number; // its place in the list
  name: string; // W1; or made up, as in add_2
  is_named: boolean; // by the student
  kind: LearnNodeKind;
  rule: string; // matmul; empty for what no op made
  text: string; // x @ W1; what was written, or as it could have been
  layer: string; // the layer of nn that it happened in; empty outside of one
  line: number; // from 1; 0 where none is known
  dtype: string;
  parents: number[]; // in the order of the inputs; constants that are numbers are not in it
  value: Cells;
  gradient: Cells | null; // when all has arrived; null where none is wanted
  wants_gradient: boolean;
}

/** A dimension over which a contribution is summed, because the input was broadcast along it. */
export interface SumOver {
  dim: number; // of the contribution before
  size: number;
  reason: string; // in words
}

/** How each element of the output changes with each of the input; a row for each of the output. */
export interface Jacobian {
  rows: string[]; // c[0, 1]
  columns: string[]; cells: Cells;
}

/** What one op hands to one of its inputs. The first step of all starts with 1 at the loss. */
export interface BackwardStep {
  node: number; // the op that it goes through; of the seed, the loss
  to: number; // the node that it goes to
  title: string; // matmul: x^T g; short, for the list
  rule: string;
  words: string; // what the rule says, in a sentence or two
  formula: string; // LaTeX of a few commands; \name{W1} is a name, \grad{W1} what the loss changes with it
  form: LearnForm;
  upstream: Cells; // the gradient of the op's output
  left: Cells | null; // factors, in the order in which they are multiplied; null where there are none
  left_label: string; right: Cells | null; right_label: string;
  raw: Cells; // their product, before it is summed over what was broadcast
  sums: SumOver[];
  contribution: Cells; // in the shape of the input
  before: Cells | null; // what had arrived there by other ways; null for the first
  after: Cells; // with this one
  number: number; // this is the k-th contribution, from 1 …
  num_all: number; // … of so many
  jacobian: Jacobian | null; // of small tensors
}

/** What is wrong with an expression. All lines before it can be stepped through. */
export interface LearnFault {
  line: number; // from 1; 0 for the whole
  message: string;
}

/** The gradient of one node, asked of others: torch's autograd, and differences of the loss itself. */
export interface LearnCheck {
  node: number; torch: Cells | null;
  torch_error: number | null; // the largest difference to ours
  difference: Cells | null; // (f(x + h) - f(x - h)) / 2h, element by element; null for large tensors
  difference_error: number | null;
  tolerance: number; // of torch's
  difference_tolerance: number;
  note: string; // why something is not there, or may differ
}

/** An expression, taken apart. */
export interface Lesson {
  title: string;
  lines: string[]; // what was written
  first_line: number; // the number of the first of them, in the file that they stand in
  nodes: LearnNode[]; // in the order in which they were made
  forward: number[]; // the nodes that ops made, step by step
  backward: BackwardStep[];
  loss: number | null; // the node at which the way back begins
  fault: LearnFault | null;
  checks: LearnCheck[]; // empty where they are asked for later
  notes: string[]; // what is left out
}

export interface LessonAnswer extends AnswerBase { type: "lesson"; lesson: Lesson }
export interface LessonChecksAnswer extends AnswerBase { type: "lesson_checks"; checks: LearnCheck[] }

/** What is said of one answer. */
export interface Verdict {
  symbol: string; is_right: boolean;
  message: string; // right, or what is wrong with it and where
  got: Cells | null; // on the example that is shown
  wanted: Cells | null;
}

export interface ExerciseAnswer extends AnswerBase {
  type: "exercise";
  exercise: Exercise; // with what is known now
  verdicts: Verdict[];
}

/** A set of features as lists show it. */
export interface FeatureSetListing {
  id: string; // the same as long as it is in the same place of the folder
  name: string;
  model: string; // its class
  data: string; // in words
  storage: string; // npy, zarr
  num_layers: number;
  num_samples: number | null; // null: a stream that has not ended
  num_done: number; is_complete: boolean;
  num_bytes: number; // on the disk, as far as that is known
  updated: number; // seconds since 1970; 0 where nobody knows
  note: string; // what is wrong with it; empty where nothing is
}

/** All sets, by name. */
export interface FeatureSetsAnswer extends AnswerBase { type: "feature_sets"; sets: FeatureSetListing[] }

/** One layer of a set. */
export interface FeatureLayer {
  name: string;
  label: string; // of its op: conv2d_3_7
  address: string; // of the module whose output it is
  shape: number[]; // of one sample; -1 where it varies
  dims: string[]; // their names, where they have some
  dtype: string;
  num_units: number; // 0 where it varies from sample to sample
  num_bytes: number; // of all its values
  transforms: string[];
}

/** A set as it is now. Rows that are not extracted yet are in no picture and no analysis. */
export interface FeatureSetAnswer extends AnswerBase {
  type: "feature_set"; listing: FeatureSetListing; layers: FeatureLayer[];
  num_layers: number; // where there are more than can be shown
  label_kind: "classes" | "none" | "numbers";
  labels: string[]; // each once, in their order; at most 1,000
  num_labels: number; notes: string[];
}

/** Which samples stand in the rows of a picture, sorted by label. */
export interface FeatureRows {
  samples: number[]; ids: string[];
  labels: string[]; // each once, in their order; none where there are no labels
  label_of: number[]; // for each row the place among them
  num_done: number; // out of so many they were chosen
}

/** The head of a binary frame: float32, [row][column]. */
export interface FeatureMapAnswer extends AnswerBase {
  type: "feature_map"; rows: FeatureRows;
  units: number[]; // in the columns
  num_units: number;
  low: number | null; // of the finite values
  high: number | null;
  num_bad: number; // NaN or infinite
}

/** The head of a binary frame: float32, one for each row. */
export interface FeatureUnitAnswer extends AnswerBase {
  type: "feature_unit"; rows: FeatureRows;
  place: number[]; // of the unit in the layer
}

/** The head of a binary frame: float32, in the order of the layer. */
export interface FeatureSampleAnswer extends AnswerBase {
  type: "feature_sample"; sample: number;
  name: string; // its id
  label: string; shape: number[];
  units: number[]; // which of them; none where all are there
  num_units: number;
  mean: number | null; // of all values, as the other figures
  std: number | null; low: number | null; high: number | null; num_zeros: number; num_bad: number;
}

/** How far an analysis is. */
export interface FeatureProgressAnswer extends AnswerBase { progress: number; is_done: boolean; note: string }

/** The head of a binary frame: float32, [row][row]; nothing until it is done. */
export interface FeatureSimilarityAnswer extends FeatureProgressAnswer {
  type: "feature_similarity"; rows: FeatureRows | null; contrast: Contrast | null;
}

/** The head of a binary frame: float32, [layer][layer], NaN where undefined; nothing until it is done. */
export interface FeatureLayersAnswer extends FeatureProgressAnswer {
  type: "feature_layers"; layers: number[];
  left_out: Record<string, string>; // why a layer is not among them, by its name
  num_samples: number;
}

/** How well labels can be read from one layer, on samples that the probe has not seen. */
export interface FeatureProbe {
  layer: number;
  why: string; // there is none; empty where there is
  scores: (number | null)[]; // of each fold
  mean: number | null; std: number | null; metric: string; kind: string; chance: number | null;
  num_samples: number; num_units: number;
  labels: string[]; // of the confusions
  confusion: number[][]; // right label by what was said; none of numbers, or of too many labels
}

/** Layers that are new since the answer before. */
export interface FeatureProbesAnswer extends FeatureProgressAnswer {
  type: "feature_probes";
  at: number | null; // the layer that is being probed
  probes: FeatureProbe[];
}

/** The head of a binary frame: as of an embedding of a run; nothing until it is done. */
export interface FeaturePointsAnswer extends FeatureProgressAnswer {
  type: "feature_points"; head: EmbeddingHead | null;
}

export type Question =
  | PassesQuestion | DocumentQuestion | SketchQuestion | TensorQuestion | FiguresQuestion | RunsQuestion
  | StopQuestion | IndexQuestion | SeriesQuestion | RecordsQuestion | LayoutQuestion | RecordQuestion
  | RunTensorQuestion | HistogramsQuestion | HparamsQuestion | ReduceQuestion | OpSeriesQuestion
  | WatchedQuestion | WatchedRowQuestion | EventsQuestion | NetSceneQuestion | NetMomentsQuestion
  | NetValuesQuestion | NetUnitQuestion | NetUnitSeriesQuestion | NetRasterQuestion | NetWeightsQuestion
  | NetItemsQuestion | NetSimilarityQuestion | NetLikenessQuestion | NetComponentsQuestion | NetTuningQuestion
  | NetUnitTuningQuestion | NetFieldQuestion | TableQuestion | TableCellsQuestion | TableStatisticsQuestion
  | TableTextQuestion | ControlsQuestion | ControlQuestion | ControlDoQuestion | LessonsQuestion
  | LessonQuestion | LessonChecksQuestion | ExerciseQuestion | ProgressResetQuestion | FeatureSetsQuestion
  | FeatureSetQuestion | FeatureSimilarityQuestion | FeatureLayersQuestion | FeatureProbesQuestion
  | FeaturePointsQuestion | FeatureReduceQuestion | FeatureMapQuestion | FeatureUnitQuestion
  | FeatureSampleQuestion;

export type Answer =
  | Hello | PassesAnswer | DocumentAnswer | SketchAnswer | FiguresAnswer | TensorAnswer | Refusal | RunsAnswer
  | IndexAnswer | SeriesAnswer | RecordsAnswer | LayoutAnswer | RecordAnswer | HistogramsAnswer
  | HparamsAnswer | ReductionAnswer | OpSeriesAnswer | WatchedAnswer | WatchedRowAnswer | EventsAnswer
  | NetSceneAnswer | NetMomentsAnswer | NetValuesAnswer | NetUnitAnswer | NetUnitSeriesAnswer
  | NetRasterAnswer | NetWeightsAnswer | NetItemsAnswer | NetSimilarityAnswer | NetLikenessAnswer
  | NetComponentsAnswer | NetTuningAnswer | NetUnitTuningAnswer | NetFieldAnswer | TableAnswer
  | TableCellsAnswer | TableStatisticsAnswer | TableTextAnswer | ControlsAnswer | ControlAnswer
  | ControlDoneAnswer | LessonsAnswer | LessonAnswer | LessonChecksAnswer | ExerciseAnswer | FeatureSetsAnswer
  | FeatureSetAnswer | FeatureMapAnswer | FeatureUnitAnswer | FeatureSampleAnswer | FeatureSimilarityAnswer
  | FeatureLayersAnswer | FeatureProbesAnswer | FeaturePointsAnswer;

export type ShownHead =
  | TensorHead | HistogramHead | ImageHead | VideoHead | AudioHead | TextHead | EmbeddingHead | PrCurveHead
  | ConfusionHead;
