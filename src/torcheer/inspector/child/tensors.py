"""Excerpts of a frame as records of the run: their bytes as they are, and figures that are known already."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.inspector.columns import COLUMN
from torcheer.inspector.frames import DTYPES, HAS_EXCERPTS, IS_CUT, IS_SEEN, NO_EXCERPT, Frame
from torcheer.run import ESTIMATES, EncodedRecord, TensorHead, group_of

_MEAN, _STD, _MIN, _MAX = (COLUMN[name] for name in ("mean", "std", "min", "max"))
_ZEROS, _NAN, _INF = (COLUMN[name] for name in ("zeros", "nan", "inf"))
_ESTIMATES: Final = COLUMN[ESTIMATES]
_FIGURES: Final = ("mean", "std", "min", "max", "zeros", "nan", "inf")
_NAMES: Final = tuple(name for name, _ in DTYPES)
_ITEM_BYTES: Final = tuple(numpy.dtype(stored).itemsize for _, stored in DTYPES)
# Types that NumPy has not, and the bits of theirs that are 0 for zero of either sign.
_MAGNITUDE: Final = {"bfloat16": 0x7FFF, "float8_e4m3fn": 0x7F, "float8_e5m2": 0x7F}


class Tensors:
    """Makes the records of one plan. Figures are not of the excerpt: of the whole tensor, or estimates."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._is_described = [False] * len(names)

    def records(self, frame: Frame, figures: NDArray[numpy.float32]) -> list[EncodedRecord]:
        """Figures as [row][column]. Everything is copied."""
        if not frame.flags & HAS_EXCERPTS:
            return []
        rows = frame.rows
        # Lists, once for all rows: items of structured arrays are slow to get at.
        flags, codes, num_dims = (rows[name].tolist() for name in ("flags", "dtype", "num_excerpt_dims"))
        shapes, num_elements, num_sampled = (
            rows[name].tolist() for name in ("excerpt_shape", "num_elements", "num_sampled")
        )
        table = figures.tolist()
        found = []
        for row, flag in enumerate(flags):
            if not flag & IS_SEEN or num_dims[row] == NO_EXCERPT:
                continue
            shape = shapes[row][: num_dims[row]]
            size = math.prod(shape)
            if size == 0 and num_elements[row]:
                continue
            at = frame.layout.excerpts_at[row]
            data = bytes(frame.slot[at : at + size * _ITEM_BYTES[codes[row]]])
            is_all_sampled = flag & IS_CUT or num_sampled[row] >= num_elements[row]
            num_zeros = None if is_all_sampled else _zeros_in(data, codes[row])
            head = _head(shape, size, codes[row], table[row], num_zeros)
            estimates = int(table[row][_ESTIMATES]) if num_elements[row] else 0
            head = _marked(head, estimates, num_sampled[row], num_zeros is not None)
            description = ""
            if flag & IS_CUT and not self._is_described[row]:
                self._is_described[row] = True
                description = _described(rows[row])
            found.append(
                EncodedRecord("tensor", self._names[row], frame.step, frame.time, head, data, description)
            )
        return found


def _head(shape: list[int], size: int, code: int, figures: list[float], num_zeros: int | None) -> TensorHead:
    return TensorHead(
        shape=shape,
        dtype=_NAMES[code],
        mean=_finite(figures[_MEAN]),
        std=_finite(figures[_STD]),
        min=_finite(figures[_MIN]),
        max=_finite(figures[_MAX]),
        num_zeros=_count(figures[_ZEROS], size) if num_zeros is None else num_zeros,
        num_nan=_count(figures[_NAN], size),
        num_inf=_count(figures[_INF], size),
    )


def _marked(head: TensorHead, estimates: int, num_sampled: int, has_zeros: bool) -> TensorHead:
    """With the names of the figures that are of a sample."""
    names = [name for name in _FIGURES if estimates & group_of(name) and not (name == "zeros" and has_zeros)]
    return msgspec.structs.replace(head, estimates=tuple(names), num_values=num_sampled) if names else head


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _count(share: float, size: int) -> int:
    """Some, where there are some: a share too small for one of an excerpt is not none."""
    if not share > 0.0:
        return 0
    return max(1, round(share * size)) if size else 0


def _zeros_in(data: bytes, code: int) -> int:
    """Exactly, where the share is known of a sample only."""
    name, stored = DTYPES[code]
    values: NDArray[Any] = numpy.frombuffer(data, stored)
    if name in _MAGNITUDE:
        values = values & values.dtype.type(_MAGNITUDE[name])
    return int(values.size - numpy.count_nonzero(values))


def _described(row: Any) -> str:
    shape = " × ".join(str(size) for size in row["shape"][: row["num_dims"]].tolist())
    steps = ", ".join(str(step) for step in row["excerpt_steps"][: row["num_excerpt_dims"]].tolist())
    return (
        f"A piece of a tensor of {shape}: every so many-th in each dimension ({steps}). "
        "Its figures are those of the whole tensor; those of a sample of it are marked as estimates."
    )
