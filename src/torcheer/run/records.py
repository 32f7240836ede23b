"""The kinds of things that a run holds, and what is known of each without reading its bytes.

A series is a kind and a name; its records have a step and a time each. Scalars are points, kept in columns
(see `schema`). All else is a record: a head, which says what it is, and its bytes, which nobody has to trust:
they are raw little-endian numbers, UTF-8, PNG or WAV, and never anything that runs when it is read.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import field

from torcheer.graph import Entry

Kind = Literal[
    "scalar",
    "tensor",
    "histogram",
    "image",
    "video",
    "audio",
    "text",
    "embedding",
    "pr_curve",
    "confusion",
    "pass",
    "hparams",
    "layout",
    "watch",
    "statistics",
    "alarm",
    "gap",
    "netview",
    "moment",
    "table",
]
Plain = float | bool | str | None  # what a hyperparameter can be; None for NaN and infinity, too


class Head(Entry, frozen=True, tag_field="kind"):
    """What a record is, but for its bytes."""


class TensorHead(Head, frozen=True, tag="tensor"):
    """Bytes: the elements, row by row, little-endian. The figures are of the finite values."""

    shape: list[int]
    dtype: str  # torch's name without `torch.`: float32, bfloat16, int64, bool, complex64
    mean: float | None  # None where there are no finite values
    std: float | None
    min: float | None
    max: float | None
    num_zeros: int
    num_nan: int
    num_inf: int
    estimates: tuple[str, ...] = ()  # which of the figures are those of a sample: mean, std, zeros…
    num_values: int | None = None  # in that sample


class HistogramHead(Head, frozen=True, tag="histogram"):
    """Bytes: num_bins + 1 edges, rising, then num_bins counts, all float64. The rest is of the values."""

    num_bins: int
    num: float  # of values
    min: float | None
    max: float | None
    sum: float | None
    sum_squares: float | None
    num_nan: int
    num_inf: int
    is_sample: bool = False  # the values are not all that there were


class ImageHead(Head, frozen=True, tag="image"):
    """Bytes: the picture, as PNG where we encoded it."""

    width: int
    height: int
    channels: int
    encoding: str  # png, jpeg, gif, webp; empty where it is not known
    boxes: list[list[float]]  # left, top, right, bottom of what was marked in it
    box_labels: list[str]


class VideoHead(Head, frozen=True, tag="video"):
    """Bytes: the frames one after the other, a PNG each."""

    width: int
    height: int
    frames_per_second: float
    frame_bytes: list[int]


class AudioHead(Head, frozen=True, tag="audio"):
    """Bytes: a WAV file."""

    sample_rate: float
    num_frames: int
    num_channels: int
    encoding: str  # wav


class TextHead(Head, frozen=True, tag="text"):
    """Bytes: UTF-8."""

    num_characters: int


class EmbeddingHead(Head, frozen=True, tag="embedding"):
    """Bytes: points as float32, row by row; labels as JSON, a list for each column; a sprite sheet as PNG.

    In the sheet the pictures of the points stand in rows of `sprites_per_row`, all of one size.
    """

    num_points: int
    num_dims: int
    columns: list[str]  # names of the columns of labels
    matrix_bytes: int
    label_bytes: int
    sprite_bytes: int  # 0 where there are no pictures
    sprite_width: int  # of one picture
    sprite_height: int
    sprites_per_row: int


class PrCurveHead(Head, frozen=True, tag="pr_curve"):
    """Bytes: true and false positives, true and false negatives, precision and recall, in rows of float64.

    A row has a number for each threshold, which rise evenly from 0 to 1.
    """

    num_thresholds: int


class ConfusionHead(Head, frozen=True, tag="confusion"):
    """Bytes: counts as float64, a row for each true class, a column for each that was said."""

    labels: list[str]


class PassHead(Head, frozen=True, tag="pass"):
    """A pass that was put into the run. Bytes: float64, a row for each op, a column for each of `figures`.

    The document is stored once for all passes of the same structure, with the times of the first of them. NaN
    stands for what is not known.
    """

    document: str  # by its hash
    model_name: str
    num_ops: int
    figures: list[str]  # mean, std, min, max, zeros, nan, the same of the gradient (grad_mean…), seconds
    random_seed: int | None = None  # of this pass; the document has that of the first


class HparamsHead(Head, frozen=True, tag="hparams"):
    """No bytes. Later records of a run add to earlier ones."""

    hparams: dict[str, Plain]
    metrics: dict[str, float | None]


class LayoutChart(Entry, frozen=True):
    """A chart that somebody asked for: lines of these names, or a margin of value, lower and upper."""

    title: str
    form: Literal["lines", "margin"]
    names: list[str]  # regular expressions for lines, names for a margin


class LayoutGroup(Entry, frozen=True):
    """Charts under one heading."""

    title: str
    charts: list[LayoutChart]


class LayoutHead(Head, frozen=True, tag="layout"):
    """No bytes. The last one holds."""

    groups: list[LayoutGroup]


class WatchedRow(Entry, frozen=True):
    """A tensor that is watched over a training. Its records have the same name."""

    name: str  # features.0.weight.Grad
    layer: str  # features.0
    variable: str  # weight.Grad
    role: str  # activation, gradient, weight, weight_gradient, update, state, tensor
    module: str  # the type of the layer: Conv2d
    shape: list[int] | None = None  # None where it was not seen yet


class WatchHead(Head, frozen=True, tag="watch"):
    """What is watched. Bytes: JSON, a list of WatchedRow. The last one with a digest holds."""

    digest: str  # of the rows; statistics name their rows by it
    num_rows: int
    columns: list[str]  # the figures of a row: mean, std, min, max, norm, zeros…
    every: str  # as it was asked for: 20/s
    watch: str | None = None  # the name of whoever watches, empty for one without; None where nobody knows


class StatisticsHead(Head, frozen=True, tag="statistics"):
    """Figures of all rows over some steps. Bytes: steps as int64, times as float64, then float32.

    These stand as [column][row][step], NaN where something was not seen or has no meaning. `stride` says that
    only every so many-th watched step is left, where old ones were thinned.
    """

    digest: str
    num_columns: int
    num_rows: int
    num_steps: int
    last_step: int  # the record's own step is the first
    last_time: float
    stride: int = 1


class AlarmHead(Head, frozen=True, tag="alarm"):
    """Something that a person should look at. No bytes. The name of its series is the kind of alarm."""

    layer: str
    variable: str
    value: float | None
    threshold: float | None
    message: str


class GapHead(Head, frozen=True, tag="gap"):
    """Something that was to be observed, and was not. No bytes."""

    reason: Literal["full", "killed", "budget", "error"]
    counts: dict[str, int]  # records that are missing, by name
    last_step: int  # the record's own step is the first
    message: str


class NetViewHead(Head, frozen=True, tag="netview"):
    """The network as a NetView shows it. Bytes: JSON of a NetScene (see `netscene`). The last one holds."""

    num_layers: int
    num_units: int


class MomentHead(Head, frozen=True, tag="moment"):
    """A moment at which the layers of a NetView were recorded. No bytes."""

    counters: dict[str, str]  # as they are shown: epoch, trial, name


class TableColumn(Entry, frozen=True):
    """A column of a table. Cells of numbers are one number each, those of tensors all of one shape."""

    name: str
    form: Literal["number", "integer", "text", "tensor"]
    num_bytes: int
    shape: list[int] = field(default_factory=list)  # of a cell, for tensors
    dtype: str = ""  # of tensors: torch's name without `torch.`


class TableHead(Head, frozen=True, tag="table"):
    """Some rows of a table. Bytes: the columns one after the other, without gaps.

    Numbers are float64, NaN where a cell is empty, and whole numbers are int64; texts are a JSON list of
    strings; tensors are raw, little-endian, cell by cell.
    """

    num_rows: int
    columns: list[TableColumn]


AnyHead = (
    TensorHead
    | HistogramHead
    | ImageHead
    | VideoHead
    | AudioHead
    | TextHead
    | EmbeddingHead
    | PrCurveHead
    | ConfusionHead
    | PassHead
    | HparamsHead
    | LayoutHead
    | WatchHead
    | StatisticsHead
    | AlarmHead
    | GapHead
    | NetViewHead
    | MomentHead
    | TableHead
)

_HEADS = msgspec.json.Decoder(AnyHead)


def encode_head(head: AnyHead) -> bytes:
    return msgspec.json.encode(head)


def decode_head(data: bytes | str) -> AnyHead:
    """Raises msgspec.ValidationError (a ValueError) for anything that is no head."""
    head: AnyHead = _HEADS.decode(data)
    return head
