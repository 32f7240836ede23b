"""A frame: what was seen of all rows at one step, in one stretch of shared memory.

    head | a row head for each row | samples, float32 [row][sample] | units, a byte each | excerpts

The training writes it piece by piece while the step runs. What is the same from step to step (the shapes of
parameters) is written once. The child reads it as arrays, and copies what it wants to keep.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run import ESTIMATES, NUM_VALUES

QUANTILES: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

# Mean to norm, and the quantiles, are of the finite values; shares are from 0 to 1. NaN: it has no meaning.
COLUMNS: Final = (
    "mean",
    "std",
    "min",
    "max",
    "norm",
    "zeros",  # share of values that are exactly 0
    "nan",  # share
    "inf",  # share
    *(f"q{round(100 * share):02d}" for share in QUANTILES),
    "ratio",  # of an update: its norm by that of the weight
    "dead",  # of an activation: share of units that are 0 throughout
    "saturated",  # of a bounded activation: share of values near a bound
    ESTIMATES,  # which of the figures above are of a sample
    NUM_VALUES,  # how many values that sample has
)
COLUMN: Final = {name: index for index, name in enumerate(COLUMNS)}


Role = Literal["activation", "gradient", "weight", "weight_gradient", "update", "state", "tensor"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor over time. The sizes say how much of it has room in a frame."""

    name: str
    layer: str  # the address of its module; of a tensor that was given by itself, its name
    variable: str  # Act, Grad, weight, weight.Grad, weight.Delta, weight.exp_avg…
    role: Role
    module: str = ""  # the type of the module: Conv2d
    excerpt_bytes: int = 0  # for a piece of it that keeps its shape; 0 where no tensors are kept
    unit_bytes: int = 0  # for whether each unit was ever other than 0, a byte each
    shape: tuple[int, ...] | None = None  # of a weight; of all else it is known when it is seen


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All rows of one child, and how much of each is sampled. Any change is a new plan, and a new ring."""

    number: int  # of this watching: 0, 1, 2…
    rows: tuple[Row, ...]
    sample_elements: int  # at most so many values of each tensor go to the child
    num_slots: int

    def digest(self) -> str:
        """The same for plans with the same rows and figures: what statistics name these by."""
        names = [(row.name, row.layer, row.variable, row.role, row.module) for row in self.rows]
        return hashlib.sha256(msgspec.json.encode((names, COLUMNS))).hexdigest()[:16]


# Near which values a bounded activation is saturated, and stops learning.
Bounds = tuple[float, float, float, float]  # start of its range, saturated up to, saturated from, end

# What a bounded activation gives, from and to; None: that end is not where it stops learning.
_RANGES: Final[dict[str, tuple[float | None, float | None]]] = {
    "Sigmoid": (0.0, 1.0),
    "Hardsigmoid": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
    "Hardtanh": (-1.0, 1.0),
    "Softsign": (-1.0, 1.0),
    "ReLU6": (None, 6.0),
}
_NEAR: Final = 0.01  # of the range: so close to a bound is saturated


def bounds_of(row: Row) -> Bounds:
    """NaN for a row that is not the output of a bounded activation."""
    if row.role != "activation" or row.module not in _RANGES:
        return (math.nan,) * 4
    start, end = _RANGES[row.module]
    if start is None or end is None:
        assert end is not None
        return math.nan, -math.inf, end - _NEAR * end, end
    near = _NEAR * (end - start)
    return start, start + near, end - near, end


# The head of a frame: number, step, seconds since 1970, flags.
FRAME: Final = struct.Struct("<QqdQ")
HEAD_BYTES: Final = 64


class FrameFlag:
    """Bits in the head of a frame."""

    EXCERPTS: Final = 1
    UNITS: Final = 2


class RowFlag:
    """Bits in the head of a row."""

    SEEN: Final = 1  # there is a sample
    NORM: Final = 2  # norm and the numbers of NaN and Inf are those of the whole tensor
    CUT: Final = 4  # the excerpt is not the whole tensor
    MOMENTS: Final = 8  # mean, spread and extremes are those of the whole tensor
    ORDER: Final = 16  # shares and quantiles are those of the whole tensor
    POSITIVE_INF: Final = 32  # not all of the Inf are negative, as those of a mask are
    SOME_UNITS: Final = 64  # of the units, only every so many-th was looked at


MOST_DIMS: Final = 8  # of more, the first ones are put together
NO_EXCERPT: Final = 255  # the number of dimensions of an excerpt that there is none of
ROW_TYPE: Final = numpy.dtype(
    [
        ("flags", "u1"),
        ("dtype", "u1"),  # an index of DTYPES
        ("num_dims", "u1"),
        ("num_excerpt_dims", "u1"),
        ("num_sampled", "<u4"),
        ("num_elements", "<i8"),
        ("shape", "<i8", MOST_DIMS),
        ("excerpt_shape", "<i8", MOST_DIMS),
        ("excerpt_steps", "<i8", MOST_DIMS),  # every how many-th is in the excerpt, in each dimension
        # Of the finite values, where the flags say that they are there.
        *((name, "<f8") for name in ("norm", "mean", "std", "low", "high")),
        *((name, "<i8") for name in ("num_nan", "num_inf", "num_units")),
        *((name, "<f8") for name in ("zeros", "saturated")),
        ("quantiles", "<f8", len(QUANTILES)),
    ]
)
ROW_HEAD: Final = struct.Struct("<BBBBIq8q8q8q")  # what stands before the figures
_FIGURES_AT: Final = ROW_HEAD.size
_FIGURES: Final = struct.Struct("<dddddqqq")
_ORDER_AT: Final = _FIGURES_AT + _FIGURES.size
_ORDER: Final = struct.Struct(f"<{2 + len(QUANTILES)}d")
_NO_MOMENTS: Final = (0.0, 0.0, 0.0, 0.0)
assert _ORDER_AT + _ORDER.size == ROW_TYPE.itemsize


class Whole(NamedTuple):
    """What is known of a whole tensor: of its finite values, with the number of others beside it."""

    norm: float
    num_nan: int = 0
    num_inf: int = 0
    has_positive_inf: bool = False
    moments: tuple[float, ...] | None = None  # mean, std, low and high; NaN where there are none
    order: tuple[float, ...] | None = None  # shares of zeros and of saturated values, and quantiles


def write_head(
    memory: bytearray | memoryview,
    place: int,
    head: bytes,
    whole: Whole | None,
    num_units: int = 0,
    flags: int = 0,
) -> None:
    """The head of a row. `whole` is what is known of the whole tensor; the child samples the rest."""
    memory[place : place + _FIGURES_AT] = head
    if whole is None:
        memory[place] |= flags
        _FIGURES.pack_into(memory, place + _FIGURES_AT, 0.0, *_NO_MOMENTS, 0, 0, num_units)
        return
    flags |= RowFlag.NORM | (RowFlag.POSITIVE_INF if whole.has_positive_inf else 0)
    flags |= (RowFlag.MOMENTS if whole.moments else 0) | (RowFlag.ORDER if whole.order else 0)
    memory[place] |= flags
    others = whole.num_nan, whole.num_inf, num_units
    _FIGURES.pack_into(memory, place + _FIGURES_AT, whole.norm, *(whole.moments or _NO_MOMENTS), *others)
    if whole.order is not None:
        _ORDER.pack_into(memory, place + _ORDER_AT, *whole.order)


def write_num_units(memory: memoryview, place: int, num_units: int) -> None:
    """Into a head that is there: it is the last of the figures, and may come later."""
    struct.pack_into("<q", memory, place + _ORDER_AT - 8, num_units)


# Torch's names, by which excerpts are kept, and NumPy's for the same bytes.
DTYPES: Final = (
    ("float32", "<f4"),
    ("float64", "<f8"),
    ("float16", "<f2"),
    ("bfloat16", "<u2"),
    ("int64", "<i8"),
    ("int32", "<i4"),
    ("int16", "<i2"),
    ("int8", "i1"),
    ("uint8", "u1"),
    ("bool", "?"),
    ("complex64", "<c8"),
    ("complex128", "<c16"),
    ("float8_e4m3fn", "u1"),
    ("float8_e5m2", "u1"),
)
DTYPE_CODES: Final = {name: code for code, (name, _) in enumerate(DTYPES)}

_ALIGNED = 16


class Layout:
    """Where what is in a slot, for a plan."""

    __slots__ = ("excerpts_at", "num_bytes", "num_rows", "num_sampled", "rows_at", "samples_at", "units_at")

    def __init__(self, plan: Plan) -> None:
        self.num_rows, self.num_sampled = len(plan.rows), plan.sample_elements
        self.rows_at = HEAD_BYTES
        at = _aligned(self.rows_at + self.num_rows * ROW_TYPE.itemsize)
        self.samples_at = at
        at = _aligned(at + 4 * self.num_rows * self.num_sampled)
        self.units_at = []
        for row in plan.rows:
            self.units_at.append(at)
            at = _aligned(at + row.unit_bytes)
        self.excerpts_at = []
        for row in plan.rows:
            self.excerpts_at.append(at)
            at = _aligned(at + row.excerpt_bytes)
        self.num_bytes = at


class Frame(NamedTuple):
    """A frame as arrays, which look into the slot and hold only until it is given back."""

    number: int
    step: int
    time: float
    flags: int
    rows: NDArray[Any]  # of ROW_TYPE
    samples: NDArray[numpy.float32]  # [row][sample]
    slot: memoryview
    layout: Layout

    def units(self, row: int) -> NDArray[numpy.uint8]:
        """For each unit of a layer, whether any of its values was other than 0."""
        count = int(self.rows[row]["num_units"])
        return numpy.frombuffer(self.slot, numpy.uint8, count, self.layout.units_at[row])

    def excerpt(self, row: int) -> NDArray[Any] | None:
        """A piece of the tensor in the shape that it has; bfloat16 and the like as whole numbers."""
        head = self.rows[row]
        has_excerpt = self.flags & FrameFlag.EXCERPTS and head["num_excerpt_dims"] != NO_EXCERPT
        if not has_excerpt or not head["flags"] & RowFlag.SEEN:
            return None
        shape = tuple(head["excerpt_shape"][: head["num_excerpt_dims"]].tolist())
        count = math.prod(shape)
        if count == 0 and head["num_elements"]:
            return None
        dtype = DTYPES[head["dtype"]][1]
        return numpy.frombuffer(self.slot, dtype, count, self.layout.excerpts_at[row]).reshape(shape)


def read_frame(slot: memoryview, layout: Layout) -> Frame:
    number, step, time, flags = FRAME.unpack_from(slot)
    rows = numpy.frombuffer(slot, ROW_TYPE, layout.num_rows, layout.rows_at)
    samples = numpy.frombuffer(slot, "<f4", layout.num_rows * layout.num_sampled, layout.samples_at)
    samples = samples.reshape(layout.num_rows, layout.num_sampled)
    return Frame(number, step, time, flags, rows, samples, slot, layout)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNED) * _ALIGNED
