"""A frame: what was seen of all rows at one step, in one stretch of shared memory.

    head | a row head for each row | samples, float32 [row][sample] | units, a byte each | excerpts

The training writes it piece by piece while the step runs. What is the same from step to step (the shapes of
parameters) is written once. The child reads it as arrays, and copies what it wants to keep.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.columns import QUANTILES
from torcheer.inspector.rows import Plan

# The head of a frame: number, step, seconds since 1970, flags.
FRAME: Final = struct.Struct("<QqdQ")
HEAD_BYTES: Final = 64

# The flags of a frame.
HAS_EXCERPTS: Final = 1
HAS_UNITS: Final = 2

# The flags of a row.
IS_SEEN: Final = 1  # there is a sample
HAS_NORM: Final = 2  # norm and the numbers of NaN and Inf are those of the whole tensor
IS_CUT: Final = 4  # the excerpt is not the whole tensor
HAS_MOMENTS: Final = 8  # so are mean, spread and extremes
HAS_ORDER: Final = 16  # so are shares and quantiles
HAS_POSITIVE_INF: Final = 32  # not all of the Inf are negative, as those of a mask are
HAS_SOME_UNITS: Final = 64  # of the units, only every so many-th was looked at

MOST_DIMS: Final = 8  # of more, the first ones are put together
NO_EXCERPT: Final = 255  # the number of dimensions of an excerpt that there is none of
NUM_QUANTILES: Final = len(QUANTILES)
_FIGURES: Final = [("norm", "<f8"), ("mean", "<f8"), ("std", "<f8"), ("low", "<f8"), ("high", "<f8")]
_COUNTS: Final = [("num_nan", "<i8"), ("num_inf", "<i8"), ("num_units", "<i8")]
_ORDER: Final = [("zeros", "<f8"), ("saturated", "<f8"), ("quantiles", "<f8", NUM_QUANTILES)]
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
        *_FIGURES,  # of the finite values, where the flags say that they are there
        *_COUNTS,
        *_ORDER,
    ]
)
ROW_HEAD: Final = struct.Struct("<BBBBIq8q8q8q")  # what stands before the figures
FIGURES: Final = struct.Struct("<dddddqqq")
FIGURES_AT: Final = ROW_HEAD.size
NUM_UNITS: Final = struct.Struct("<q")  # the last of the figures, which may come later
NUM_UNITS_AT: Final = FIGURES_AT + FIGURES.size - NUM_UNITS.size
ORDER: Final = struct.Struct(f"<{2 + NUM_QUANTILES}d")
ORDER_AT: Final = FIGURES_AT + FIGURES.size
assert ORDER_AT + ORDER.size == ROW_TYPE.itemsize

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
        has_excerpt = self.flags & HAS_EXCERPTS and head["num_excerpt_dims"] != NO_EXCERPT
        if not has_excerpt or not head["flags"] & IS_SEEN:
            return None
        shape = tuple(head["excerpt_shape"][: head["num_excerpt_dims"]].tolist())
        count = 1
        for size in shape:
            count *= size
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
