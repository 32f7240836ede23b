"""What a page can ask about runs, and what the server answers.

Runs, indexes, series and reductions are followed: the first answer is whole, and later ones with the same
number bring what is new, until the page stops them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from torcheer.app.passes.source import PassQuestion
from torcheer.app.wire import Answer, Count, Name, Question
from torcheer.run import Kind, Plain, ShownHead, State, WatchedRow
from torcheer.tensorfile import Window

Axis = Literal["step", "time", "relative"]
Method = Literal["pca", "tsne", "umap"]
SeriesName = Annotated[str, Meta(max_length=4096)]
RecordId = Annotated[str, Meta(max_length=256)]  # the part's name, a colon, its number there: `rank-0:17`
Buckets = Annotated[int, Meta(ge=1, le=4096)]
Side = Annotated[int, Meta(ge=1, le=512)]


class RunQuestion(Question, frozen=True):
    """About one run."""

    run_id: Name


class RunsQuestion(Question, frozen=True, tag="runs"):
    """Which runs are there? Followed."""


class StopQuestion(Question, frozen=True, tag="stop"):
    """No more answers to that question. This one has none."""

    which: Count


class IndexQuestion(Question, frozen=True, tag="index"):
    """Which series do these runs have? Followed."""

    run_ids: Annotated[list[Name], Meta(max_length=256)]


class SeriesWanted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scalar of a run."""

    run_id: Name
    name: SeriesName


class SeriesQuestion(Question, frozen=True, tag="series"):
    """Scalars, between two places of an axis or in whole. Followed.

    Where there are more points than buckets, they come as so many buckets, of equal width. The nearest points
    on either side of the window come too, so that lines run on to its edge. New points come whatever the
    window: one by one after points, and after buckets in buckets as wide, of which the last one grows. Where
    they would become too many, or go back on the axis, the series comes anew. A series that was taken back
    comes anew with nothing in it. There may be several answers at first.
    """

    wanted: Annotated[list[SeriesWanted], Meta(max_length=512)]
    axis: Axis  # relative: seconds since the run began
    low: float | None
    high: float | None
    num_buckets: Buckets


class RecordsQuestion(RunQuestion, frozen=True, tag="records"):
    """Records of a series without their bytes: all, or so many, evenly chosen, with first and last."""

    kind: Kind
    name: SeriesName
    most: Annotated[int, Meta(ge=1, le=10_000)]


class LayoutQuestion(RunQuestion, frozen=True, tag="layout"):
    """The charts that a run asks for, by the name of its layout."""

    name: SeriesName


class RecordQuestion(RunQuestion, frozen=True, tag="record"):
    """A record with its bytes."""

    record: RecordId


class RunTensorQuestion(RunQuestion, frozen=True, tag="run_tensor"):
    """A tensor of a run: its figures and a window of its values, as of a tensor of a pass."""

    record: RecordId
    window: Window | None


class HistogramsQuestion(RunQuestion, frozen=True, tag="histograms"):
    """Histograms of a series over time, on common bins. Of a tensor's series, too."""

    kind: Literal["histogram", "tensor"]
    name: SeriesName
    num_steps: Side
    num_bins: Side


class HparamsQuestion(Question, frozen=True, tag="hparams"):
    """The hyperparameters of all runs that have some."""


class ReduceQuestion(RunQuestion, frozen=True, tag="reduce"):
    """An embedding in fewer dimensions: two or three, of PCA up to ten. Followed, for the progress."""

    record: RecordId
    method: Method
    num_dims: Annotated[int, Meta(ge=1, le=10)]
    neighbours: Annotated[float, Meta(ge=1, le=1000)]  # the perplexity of t-SNE, the neighbours of UMAP
    metric: Literal["cosine", "euclidean"]
    axes_of: RecordId = ""  # PCA: another embedding, on whose axes these points are placed


class OpSeriesQuestion(PassQuestion, frozen=True, tag="op_series"):
    """The figures of an op over all passes of its run."""

    op: Count


class WatchedQuestion(RunQuestion, frozen=True, tag="watched"):
    """One figure of all rows that were watched, over steps, for a heat map. Followed: comes anew as it grows.

    Where there are more steps than buckets, they come as so many buckets.
    """

    rank: int
    column: Annotated[str, Meta(max_length=64)]  # mean, std, norm…
    low: int | None  # steps
    high: int | None
    num_buckets: Annotated[int, Meta(ge=1, le=2048)]


class WatchedRowQuestion(RunQuestion, frozen=True, tag="watched_row"):
    """All figures of one row over steps. Followed: comes anew as it grows."""

    rank: int
    row: SeriesName
    low: int | None
    high: int | None
    num_buckets: Annotated[int, Meta(ge=1, le=2048)]


class EventsQuestion(Question, frozen=True, tag="events"):
    """Alarms and gaps of runs. Followed: the first answer is whole, later ones bring what is new."""

    run_ids: Annotated[list[Name], Meta(max_length=256)]


class Metric(Struct, frozen=True, kw_only=True):
    """The last value of a scalar."""

    name: str
    value: float | None  # None for NaN and infinity


class RunListing(Struct, frozen=True, kw_only=True):
    """A run as the list shows it. Times are seconds since 1970."""

    id: str  # the same as long as the run is in the same place of the folder
    name: str  # its place in the folder: `sweep/first`
    comment: str = ""
    tags: Sequence[str] = ()
    source: Literal["torcheer", "tensorboard"]
    state: State = "unknown"
    reason: str = ""  # what it died of, or what is wrong: `NaN in loss at step 7040`
    started: float = 0.0
    updated: float = 0.0
    last_step: int | None = None
    total_steps: int | None = None
    spark_name: str = ""  # the scalar that the small chart shows; empty where there is none
    spark: Sequence[float | None] = ()
    metrics: Sequence[Metric] = ()  # at most 64, those of loss and accuracy first
    num_series: int = 0
    num_bytes: int = 0
    num_dropped: int = 0
    num_thinned: int = 0
    num_alarms: int = 0
    has_network: bool = False  # that NetView shows
    host: str = ""
    note: str = ""


class RunsAnswer(Answer, frozen=True, tag="runs"):
    """Runs that are new or have changed, and the ids of those that are gone."""

    folder: str  # for people
    is_all: bool  # the first answer
    runs: Sequence[RunListing]
    gone: Sequence[str]
    note: str  # what could not be read


class SeriesListing(Struct, frozen=True, kw_only=True):
    """A series of a run."""

    kind: Kind
    name: str
    count: int
    last_step: int
    last_time: float
    last_value: float | None
    num_bad: int  # NaN or infinite
    first_bad_step: int | None
    description: str


class RunIndex(Struct, frozen=True, kw_only=True):
    """Series of a run that are new or have changed; in the first answer, and when `is_all`, all of them."""

    run_id: str
    is_all: bool
    series: Sequence[SeriesListing]


class IndexAnswer(Answer, frozen=True, tag="index"):
    """The series of runs. A run that is not there has no index."""

    runs: Sequence[RunIndex]


class SeriesBlock(Struct, frozen=True, kw_only=True):
    """Some of a series. Its columns follow in the frame, float64 each, block after block.

    Points: steps, times, values. Buckets: mean step, mean time, then mean, lowest and highest of the finite
    values (NaN where there is none), how many points, how many of them are NaN or infinite. Empty buckets are
    left out.
    """

    run_id: str
    name: str
    form: Literal["points", "buckets"]
    is_fresh: bool  # it takes the place of what was there; otherwise it comes after it
    num_replaced: int  # of the last items that are there, whose place it takes: a bucket that has grown
    num_items: int
    num_points: int  # of the whole series
    last_step: int  # the very last point, which a bucket hides
    last_time: float
    last_value: float | None  # null for NaN and infinity
    started: float  # when the run began


class SeriesAnswer(Answer, frozen=True, tag="series"):
    """The head of a binary frame. Series that are not there have no block."""

    blocks: Sequence[SeriesBlock]


class RecordListing(Struct, frozen=True, kw_only=True):
    """A record but for its bytes."""

    record: str
    step: int
    time: float
    num_bytes: int
    head: ShownHead


class RecordsAnswer(Answer, frozen=True, tag="records"):
    """Records of a series, in the order of their steps."""

    num_all: int  # how many there are
    records: Sequence[RecordListing]


class ShownLayoutChart(Struct, frozen=True, kw_only=True):
    """A chart that a run asks for: lines of these names, or a margin of value, lower and upper."""

    title: str
    form: Literal["lines", "margin"]
    names: Sequence[str]
    globs: Sequence[str]  # more names, with `*` and `?`; a backslash takes the next character as it is
    not_supported: Sequence[str]  # expressions that are no globs; they stand among the names, too


class ShownLayoutGroup(Struct, frozen=True, kw_only=True):
    """Charts under one heading, as a run asks for them."""

    title: str
    charts: Sequence[ShownLayoutChart]


class LayoutAnswer(Answer, frozen=True, tag="layout"):
    """The layout that holds, with nothing in it where there is none."""

    groups: Sequence[ShownLayoutGroup]


class RecordAnswer(Answer, frozen=True, tag="record"):
    """The head of a binary frame; the bytes of the record follow it."""

    entry: RecordListing


class HistogramsAnswer(Answer, frozen=True, tag="histograms"):
    """The head of a binary frame: counts as float64, a row for each step."""

    steps: Sequence[int]
    low: float  # of the first bin
    high: float  # of the last
    num_bins: int
    num_all: int  # how many records there are


class HparamsRow(Struct, frozen=True, kw_only=True):
    """The hyperparameters of a run, and the metrics that were logged with them."""

    run_id: str
    hparams: dict[str, Plain]
    metrics: dict[str, float | None]


class HparamsAnswer(Answer, frozen=True, tag="hparams"):
    """A row for each run that has hyperparameters."""

    rows: Sequence[HparamsRow]


class ReductionAnswer(Answer, frozen=True, tag="reduction"):
    """The head of a binary frame: coordinates as float32, a row for each point; none until it is done."""

    progress: float = 0.0  # from 0 to 1
    is_done: bool = False
    num_points: int = 0
    num_dims: int = 0
    note: str = ""
    shares: Sequence[float] = ()  # of PCA, on axes of its own: how much of the variance each axis has


class OpSeriesAnswer(Answer, frozen=True, tag="op_series"):
    """The figures of an op, a row for each pass of the run; null where one is not known."""

    steps: Sequence[int]
    figures: Sequence[str]
    rows: Sequence[Sequence[float | None]]


class WatchedAnswer(Answer, frozen=True, tag="watched"):
    """The head of a binary frame: float32, [row][bucket], NaN where nothing is known; then a byte for each.

    The byte has the bits 1 where something was NaN in the tensor, 2 where something was infinite, and 4 where
    the figure is an estimate from a sample at some step. Of several steps in a bucket the mean holds; of the
    shares of NaN and infinities, the highest.
    """

    ranks: Sequence[int]  # that were watched
    columns: Sequence[str]  # that there are
    rows: Sequence[WatchedRow]
    first_steps: Sequence[int]  # of each bucket
    last_steps: Sequence[int]
    num_steps: int  # that were watched in all
    every: str  # as it was asked for: 20/s
    got: str  # how often it was really watched of late, in the same form; empty where that is not known


class WatchedRowAnswer(Answer, frozen=True, tag="watched_row"):
    """The head of a binary frame: float32, [column][bucket], NaN where nothing is known, and a byte for each.

    The byte is 1 where the figure is an estimate from a sample at some step of the bucket.
    """

    row: WatchedRow | None  # None: there is none of this name
    columns: Sequence[str]
    num_values: int | None  # that the latest estimates are of; None where there are none, or nobody knows
    first_steps: Sequence[int] = ()
    last_steps: Sequence[int] = ()
    tensor_name: str = ""  # the series of tensors with this name; empty where there is none
    histogram_name: str = ""


class AlarmListing(Struct, frozen=True, kw_only=True):
    """An alarm of a run."""

    run_id: str
    record: str
    rank: int
    alarm: str  # its kind: nan, exploding_gradient…
    step: int
    time: float
    layer: str
    variable: str
    row: str  # the name of what is wrong: features.0.weight.Grad
    value: float | None
    threshold: float | None
    message: str


class GapListing(Struct, frozen=True, kw_only=True):
    """Something of a run that was to be observed, and was not."""

    run_id: str
    record: str
    rank: int
    reason: Literal["full", "killed", "budget", "error"]
    first_step: int
    last_step: int
    time: float
    num_missing: int
    counts: dict[str, int]  # by name, at most 64
    message: str


class EventsAnswer(Answer, frozen=True, tag="events"):
    """Alarms and gaps, in the order in which they came. At most 10,000 of each."""

    is_all: bool  # the first answer, or the run begins anew
    alarms: Sequence[AlarmListing]
    gaps: Sequence[GapListing]
