"""The kinds of things that a run holds, and what is known of each without reading its bytes.

A series is a kind and a name; its records have a step and a time each. Scalars are points, kept in columns
(see `schema`). All else is a record: a head, which says what it is, and its bytes, which nobody has to trust:
they are raw little-endian numbers, UTF-8, PNG or WAV, and never anything that runs when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import field

from torcheer.graph import Entry
from torcheer.tensorfile import MAX_DIMS, RAW_TYPES

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
MOST_SECONDS: Final = 2e11  # since 1970 or before it: times of any century that there is a calendar for
Plain = float | bool | str | None  # what a hyperparameter can be; None for NaN and infinity, too


# Bytes of one element, by torch's names.
ITEM_BYTES: Final = {
    **RAW_TYPES,
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(("uint16", "int16", "float16"), 2),
    **dict.fromkeys(("uint32", "int32", "float32", "complex32"), 4),
    **dict.fromkeys(("uint64", "int64", "float64", "complex64"), 8),
    "complex128": 16,
}


def tensor_bytes(shape: Sequence[int], dtype: str) -> int:
    """How many bytes a tensor takes; -1 where there can be no such tensor."""
    # Many dimensions would make a number that takes long to work out.
    if dtype not in ITEM_BYTES or len(shape) > MAX_DIMS or min(shape, default=0) < 0:
        return -1
    return ITEM_BYTES[dtype] * math.prod(shape)


class Head(Entry, frozen=True, tag_field="kind"):
    """What a record is, but for its bytes."""

    def fits(self, num_bytes: int) -> bool:
        """False where so many bytes cannot be what the head says."""
        return num_bytes >= 0


class _HeadAlone(Head, frozen=True):
    """A record without bytes."""

    def fits(self, num_bytes: int) -> bool:
        return num_bytes == 0


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

    def fits(self, num_bytes: int) -> bool:
        return 0 <= tensor_bytes(self.shape, self.dtype) == num_bytes


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

    def fits(self, num_bytes: int) -> bool:
        return self.num_bins >= 0 and 8 * (2 * self.num_bins + 1) == num_bytes


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

    def fits(self, num_bytes: int) -> bool:
        return min(self.frame_bytes, default=0) >= 0 and sum(self.frame_bytes) == num_bytes


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

    def fits(self, num_bytes: int) -> bool:
        parts = (self.matrix_bytes, self.label_bytes, self.sprite_bytes)
        if min(*parts, self.num_points, self.num_dims) < 0:
            return False
        return self.matrix_bytes == 4 * self.num_points * self.num_dims and sum(parts) == num_bytes


class PrCurveHead(Head, frozen=True, tag="pr_curve"):
    """Bytes: true and false positives, true and false negatives, precision and recall, in rows of float64.

    A row has a number for each threshold, which rise evenly from 0 to 1.
    """

    num_thresholds: int

    def fits(self, num_bytes: int) -> bool:
        return self.num_thresholds >= 0 and 8 * 6 * self.num_thresholds == num_bytes


class ConfusionHead(Head, frozen=True, tag="confusion"):
    """Bytes: counts as float64, a row for each true class, a column for each that was said."""

    labels: list[str]

    def fits(self, num_bytes: int) -> bool:
        return 8 * len(self.labels) ** 2 == num_bytes


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

    def fits(self, num_bytes: int) -> bool:
        return self.num_ops >= 0 and 8 * self.num_ops * len(self.figures) == num_bytes


class HparamsHead(_HeadAlone, frozen=True, tag="hparams"):
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


class LayoutHead(_HeadAlone, frozen=True, tag="layout"):
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

    def fits(self, num_bytes: int) -> bool:
        return 0 <= self.num_rows <= num_bytes  # a row takes more than a byte


STEP_BYTES: Final = 16  # of a step and its time, in a block of statistics
FIGURE_BYTES: Final = 4


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

    def fits(self, num_bytes: int) -> bool:
        if min(self.num_columns, self.num_rows) < 0 or min(self.num_steps, self.stride) < 1:
            return False
        of_step = STEP_BYTES + FIGURE_BYTES * self.num_columns * self.num_rows
        return self.num_steps * of_step == num_bytes


class AlarmHead(_HeadAlone, frozen=True, tag="alarm"):
    """Something that a person should look at. No bytes. The name of its series is the kind of alarm."""

    layer: str
    variable: str
    value: float | None
    threshold: float | None
    message: str


GapReason = Literal["full", "killed", "budget", "error"]


class GapHead(_HeadAlone, frozen=True, tag="gap"):
    """Something that was to be observed, and was not. No bytes."""

    reason: GapReason
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


# Of what is looked at record by record; a page is told of the others in answers of their own.
ShownHead = (
    TensorHead
    | HistogramHead
    | ImageHead
    | VideoHead
    | AudioHead
    | TextHead
    | EmbeddingHead
    | PrCurveHead
    | ConfusionHead
)
AnyHead = (
    ShownHead
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
    return encode_json(head)


def encode_json(value: Any) -> bytes:
    """Half of a character, as in the name of a file that is no text, cannot be written as UTF-8."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_plain_texts(msgspec.to_builtins(value)))


def _plain_texts(value: Any) -> Any:
    """The same with texts that can be written, in the containers that `msgspec.to_builtins` makes."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, dict):
        return {plain_text(key): _plain_texts(item) for key, item in value.items()}
    return [_plain_texts(item) for item in value] if isinstance(value, list | tuple) else value


def plain_text(value: Any) -> str:
    """The value as text that can be written as UTF-8."""
    text = value if isinstance(value, str) else str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def head_or_none(data: bytes | str) -> AnyHead | None:
    """None for anything that is no head."""
    try:
        return decode_head(data)
    except (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError):
        return None


def decode_head(data: bytes | str) -> AnyHead:
    """Raises msgspec.ValidationError (a ValueError) for anything that is no head."""
    head: AnyHead = _HEADS.decode(data)
    return head


class Document(NamedTuple):
    """A pass without its tensors, stored once for all records that name it."""

    hash: str
    json: bytes


class Encoded(NamedTuple):
    """A record as it is stored."""

    head: AnyHead
    data: bytes
    document: Document | None = None


class Pending(NamedTuple):
    """A record that is copied and not encoded yet."""

    num_bytes: int  # that it holds until it is written
    encode: Callable[[], Encoded]  # in the encoder's thread: what the training owns, it must not touch
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One record to be, and where it belongs."""

    kind: Kind
    name: str
    step: int
    time: float
    num_bytes: int
    encode: Callable[[], Encoded]
    description: str = ""

    @property
    def weight(self) -> int:
        """As how many records it counts in the queue."""
        return 1


class EncodedRecord(NamedTuple):
    """A record as it goes into the tables. Whoever makes one has the types right: nothing is converted.

    Of the kind "scalar", it is a description of the series and nothing else.
    """

    kind: Kind
    name: str
    step: int
    time: float  # seconds since 1970
    head: AnyHead | bytes  # as JSON where they are bytes
    data: bytes
    description: str = ""
    document: Document | None = None

    @property
    def num_bytes(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Bulk:
    """Records that were handed over together, encoded already."""

    records: Sequence[EncodedRecord]
    num_bytes: int

    @property
    def weight(self) -> int:
        """As how many records it counts in the queue: these take far less work than others."""
        return 1 + len(self.records) // 64


# A network as a NetView shows it: layers as plates of units, and what connects them. Kept with the run.
#
# The values of a layer are tensors of the run, one series for each variable: `conv1.Act` holds the variable
# Act of the layer conv1, with the items of a batch in its first dimension. So whatever is recorded under
# such names, by `State`, by `NetView` or by a watched training, can be seen.

Form = Literal["linear", "conv", "transposed_conv", "embedding", "attention", "other"]


class Grid(Entry, frozen=True):
    """How the units of a layer lie on its plate: tiles side by side, each a block of cells.

    Units are numbered as they stand in the tensor: tile by tile, in a tile row by row. The last cells may be
    empty. In a colour picture three maps lie on one tile: red, green and blue.
    """

    num_units: int
    tiles_across: int
    tiles_down: int
    columns: int  # of a tile
    rows: int
    gap: int  # cells between two tiles
    is_colour: bool = False


class Place(Entry, frozen=True):
    """Where somebody wants a layer. All that is None is worked out."""

    relation: Literal["above", "below", "rightof", "leftof", "infront", "behind"] | None = None
    other: str = ""  # the layer to which this one is in relation
    offset: list[float] = field(default_factory=lambda: [0.0] * 3)  # right, up, to the front, in plates
    scale: float = 1.0


class NetLayer(Entry, frozen=True):
    """A layer: a plate of units."""

    name: str
    module: str  # the type of what computes it: Conv2d; empty where that is not known
    shape: list[int]  # of one item
    grid: Grid
    variables: list[str]  # of which there are series: Act, Net, Grad…
    place: Place
    is_input: bool = False
    has_items: bool = True  # the first dimension of its tensors counts items of a batch
    note: str = ""  # what a reader must know: every second channel is shown


class Connection(Entry, frozen=True):
    """What one layer receives from another. The source gives its variable Act."""

    source: str
    target: str
    form: Form
    weight: str = ""  # the series of the weights: features.0.weight; empty where there are none
    bias: str | None = None  # the series of what is added; empty where nothing is, None where it is not known
    is_transposed: bool = False  # linear weights that stand as [in, out]
    # Of convolutions, for each dimension of the picture.
    stride: list[int] = field(default_factory=list)
    padding: list[int] = field(default_factory=list)  # at the front
    dilation: list[int] = field(default_factory=list)
    groups: int = 1


class NetScene(Entry, frozen=True):
    """Layers from the input to the output."""

    layers: list[NetLayer]
    connections: list[Connection]
