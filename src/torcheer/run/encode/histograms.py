"""Histograms as records: counted here, with TensorBoard's bins or NumPy's, or counted by somebody else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.encode.arrays import Copied, real_numbers
from torcheer.run.encode.steps_names_hparams import finite_or_none
from torcheer.run.records import Encoded, HistogramHead, Pending
from torcheer.tensorfile import as_numbers, pieces_of

Floats = NDArray[numpy.float64]

MOST_COPIED = 128 << 20  # bytes; more than that is counted at once, since no queue holds it
_MOST_BINS = 1 << 16  # that are kept; NumPy's rules can ask for millions where there are outliers
_MOST_RULED = 1 << 27  # values; rules look at all of them together, as doubles
_FARTHEST = 1e300  # ends of bins beyond it mean "and all above", or below
_RULES = ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt")


@cache
def default_edges() -> Floats:
    """TensorBoard's: tenths more from each to the next, from 1e-12 to 1e20, of either sign."""
    edges = []
    edge = 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    edges_of_both = numpy.array([*(-edge for edge in reversed(edges)), 0.0, *edges])
    edges_of_both.flags.writeable = False
    return edges_of_both


def histogram_record(values: Any, bins: Any, max_bins: Any) -> Pending:
    copied = real_numbers(values, most_bytes=MOST_COPIED)
    if not copied.array.size:
        raise InputError("there are no values to count: a histogram needs at least one.")
    encode = partial(_counted, copied, _bins_of(bins), None if max_bins is None else int(max_bins))
    if not copied.raw:  # too much to be copied
        encode = partial(Encoded, *encode())
    return Pending(len(copied.raw), encode, copied.note)


def _bins_of(bins: Any) -> str | int | Floats:
    """How to divide the range: a rule, a number of bins, or their edges."""
    if isinstance(bins, str):
        if bins != "tensorflow" and bins not in _RULES:
            raise InputError(
                f"bins={bins!r}: give 'tensorflow', {', '.join(map(repr, _RULES))}, a number or edges."
            )
        return bins
    edges = real_numbers(bins, "the bins").numbers()
    if edges.ndim == 0 and edges.dtype.kind in "iu":
        if not 1 <= edges <= _MOST_BINS:
            raise InputError(f"bins={edges}: give a number from 1 to {_MOST_BINS:,}.")
        return int(edges)
    edges = edges.astype(numpy.float64)
    if (
        edges.ndim != 1
        or len(edges) < 2
        or not (numpy.diff(edges) >= 0).all()
        or not numpy.isfinite(edges).all()
    ):
        raise InputError(
            "edges of bins are at least two numbers, and none is smaller than the one before it."
        )
    return edges


def raw_histogram_record(limits: Any, counts: Any, known: Mapping[str, Any]) -> Pending:
    """A histogram that was counted elsewhere: the upper end of each bin, and how many values are in it."""
    upper = real_numbers(limits, "the limits").numbers().astype(numpy.float64)
    number = real_numbers(counts, "the counts").numbers().astype(numpy.float64)
    if upper.ndim != 1 or upper.shape != number.shape or not len(upper):
        raise InputError(
            f"{upper.size} limits and {number.size} counts: give the upper end of each bin, and how many "
            "values are in it."
        )
    if not (numpy.diff(upper) >= 0).all():
        raise InputError("the limits of the bins fall: give them in rising order.")
    if not (numpy.isfinite(number) & (number >= 0)).all():
        raise InputError("the counts of the bins are not all numbers from 0 on.")
    low, high, num, total, squares = (
        finite_or_none(known.get(name)) for name in ("min", "max", "num", "sum", "sum_squares")
    )
    edges, number = edges_of(upper, number, low, high)
    num = float(number.sum()) if num is None else num
    encoded = _encoded(edges, number, num=num, min=low, max=high, sum=total, sum_squares=squares)
    return Pending(len(encoded.data), lambda: encoded)


def edges_of(upper: Floats, counts: Floats, low: float | None, high: float | None) -> tuple[Floats, Floats]:
    """Edges all around, where only upper ends are known. An empty first bin says where the next begins."""
    if len(upper) > 1 and counts[0] == 0:
        edges, counts = upper.copy(), counts[1:]
    else:
        edges = numpy.concatenate([[upper[0] if low is None else min(low, upper[0])], upper])
    # Ends are often the largest floats there are, where nobody can draw them.
    if edges[-1] > _FARTHEST:
        edges[-1] = edges[-2] if high is None else max(high, edges[-2])
    if edges[0] < -_FARTHEST:
        edges[0] = edges[1] if low is None else min(low, edges[1])
    return edges, counts


def _encoded(edges: Floats, counts: Floats, *, num_nan: int = 0, num_inf: int = 0, **known: Any) -> Encoded:
    head = HistogramHead(num_bins=len(counts), num_nan=num_nan, num_inf=num_inf, **known)
    return Encoded(head, edges.astype("<f8").tobytes() + counts.astype("<f8").tobytes())


def _counted(copied: Copied, bins: str | int | Floats, max_bins: int | None) -> Encoded:
    """The finite values are counted; NaN and infinities are told apart from them."""
    with numpy.errstate(all="ignore"):
        known = _Known(copied)
        if not known.num_finite:
            edges, counts = numpy.array([0.0, 1.0]), numpy.zeros(1)
        else:
            if isinstance(bins, str) and bins == "tensorflow":
                edges = default_edges()  # and one more bin at either end for what lies beyond
                below = [known.low] if known.low < edges[0] else []
                above = [known.high] if known.high > edges[-1] else []
                bins = numpy.concatenate([below, edges, above])
            edges, counts = _counts(known, bins)
            if max_bins is not None and max_bins >= 1:
                edges, counts = _fewer(edges, counts, int(max_bins))
            edges, counts = _without_empty_ends(*_fewer(edges, counts, _MOST_BINS))
        return _encoded(
            edges,
            counts,
            num=known.num_finite,
            num_nan=known.num_nan,
            num_inf=known.num_inf,
            min=finite_or_none(known.low),
            max=finite_or_none(known.high),
            sum=finite_or_none(known.total) if known.num_finite else None,
            sum_squares=finite_or_none(known.squares) if known.num_finite else None,
        )


class _Known:
    """The range and the sums of values, gone through in pieces. A plain record."""

    def __init__(self, copied: Copied) -> None:
        self.copied = copied
        self.num_finite = self.num_nan = self.num_inf = 0
        self.low, self.high, totals, squares = math.inf, -math.inf, [], []
        for piece, times in pieces_of(copied.array):
            numbers = as_numbers(piece, copied.dtype).astype(numpy.float64)
            finite = _finite(numbers)
            num_nan = int(numpy.count_nonzero(numpy.isnan(numbers)))
            self.num_nan += times * num_nan
            self.num_inf += times * (numbers.size - finite.size - num_nan)
            self.num_finite += times * finite.size
            if finite.size:
                self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))
                totals.append(times * float(finite.sum()))
                squares.append(times * float(numpy.square(finite).sum()))
        self.total, self.squares = _sum(totals), _sum(squares)

    def pieces(self) -> Iterator[tuple[Floats, int]]:
        for piece, times in pieces_of(self.copied.array):
            yield _finite(as_numbers(piece, self.copied.dtype).astype(numpy.float64)), times


def _finite(numbers: Floats) -> Floats:
    finite = numpy.isfinite(numbers)
    return numbers if finite.all() else numbers[finite]


def _sum(parts: list[float]) -> float:
    try:
        return math.fsum(parts)
    except (OverflowError, ValueError):  # infinite
        return math.inf


def _counts(known: _Known, bins: str | int | Floats) -> tuple[Floats, Floats]:
    try:
        if isinstance(bins, str):
            bins = _number_by(bins, known)
        ends = (known.low, known.high)  # of no use where edges are given
        edges = numpy.histogram_bin_edges(numpy.zeros(0), bins, ends)
        found = [times * numpy.histogram(piece, bins, ends)[0] for piece, times in known.pieces()]
    except InputError:
        raise
    except ValueError:  # the range is too wide, or too narrow, to be divided by floats
        return _one_bin(known.low, known.high), numpy.array([float(known.num_finite)])
    return edges, numpy.sum(found, axis=0).astype(numpy.float64)


def _one_bin(low: float, high: float) -> Floats:
    if low == high:  # wide enough to be seen
        low, high = numpy.nextafter(low, -math.inf), numpy.nextafter(high, math.inf)
    most = numpy.finfo(numpy.float64).max
    return numpy.clip([low, high], -most, most)


def _number_by(rule: str, known: _Known) -> int:
    """How many bins NumPy's rule makes, unless a few outliers would have it make them without end."""
    if known.num_finite > _MOST_RULED:
        raise InputError(
            f"bins={rule!r} is for fewer values than {known.num_finite:,}: give a number of bins."
        )
    values = _finite(known.copied.numbers().astype(numpy.float64).reshape(-1))
    if rule in ("auto", "fd"):
        upper, lower = numpy.percentile(values, [75, 25])
        width = 2 * (upper - lower) / len(values) ** (1 / 3)
        if width > 0 and not (known.high - known.low) / width < _MOST_BINS:
            return _MOST_BINS
    return len(numpy.histogram_bin_edges(values, rule)) - 1


def _fewer(edges: Floats, counts: Floats, most: int) -> tuple[Floats, Floats]:
    """Neighbours put together until there are not many more than `most`, in TensorBoard's way."""
    size = len(counts) // most
    if size <= 1 or len(counts) <= most:
        return edges, counts
    padded = numpy.pad(counts, (0, -len(counts) % size))
    return numpy.append(edges[:-1:size], edges[-1]), padded.reshape(-1, size).sum(axis=-1)


def _without_empty_ends(edges: Floats, counts: Floats) -> tuple[Floats, Floats]:
    filled = numpy.flatnonzero(counts)
    if not len(filled):  # edges were given, and no value lies between them
        return edges, counts
    first, last = int(filled[0]), int(filled[-1])
    return edges[first : last + 2], counts[first : last + 1]
