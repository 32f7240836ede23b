"""The figures of all rows of some frames, in one go: mean, spread, norm, quantiles, and what is not finite.

Figures of a whole tensor come with its row where it is larger than its sample. All else comes from the
sample, and is marked as an estimate where the sample is not all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.frame_format import (
    COLUMN,
    COLUMNS,
    HAS_MOMENTS,
    HAS_NORM,
    HAS_ORDER,
    HAS_SOME_UNITS,
    HAS_UNITS,
    IS_SEEN,
    QUANTILES,
    Frame,
    Plan,
    bounds_of,
)
from torcheer.run import ESTIMATES, MOMENTS, NORM, NUM_VALUES, ORDER, UNITS

_Floats = NDArray[numpy.float64]
_Counts = NDArray[numpy.int64]
_Block = NDArray[numpy.float32]  # [row][sample]

_LARGEST: Final = float(numpy.finfo(numpy.float32).max)
_QUANTILES_AT: Final = slice(COLUMN["q01"], COLUMN["q01"] + len(QUANTILES))
_PIECE_ELEMENTS: Final = 1 << 17  # that stay in the processor's cache from one figure to the next

# Samples are padded to one of these: few groups of rows, whatever their sizes, are few calls.
_WIDTHS: Final = (16, 128, 1024, 1 << 14, 1 << 20, 1 << 32)

_SPREAD: Final = 0.5  # of the mean square: a spread that is smaller is that of the sample
_ROUNDED: Final = 1e-6  # of the mean square: below, a difference of two sums of float64 is rounded, too


class _Seen(NamedTuple):
    """What samples say, a number for each row; of the finite values, but for the counts of others."""

    num_finite: _Counts
    mean: _Floats
    std: _Floats
    mean_square: _Floats
    low: _Floats
    high: _Floats
    zeros: _Floats  # shares of all values
    nan: _Floats
    inf: _Floats
    quantiles: _Floats  # [row][quantile]


class Figures:
    """Computes the figures of the rows of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._num_rows = len(plan.rows)
        self._bounds = numpy.array([bounds_of(row) for row in plan.rows]).reshape(-1, 4)
        self._is_bounded = ~numpy.isnan(self._bounds[:, 1])
        self._block = numpy.empty(_most_elements(plan), dtype=numpy.float32)
        self._wide = numpy.empty(len(self._block))
        self._with_units = [index for index, row in enumerate(plan.rows) if row.unit_bytes]
        places = {row.name: index for index, row in enumerate(plan.rows)}
        pairs = [
            (index, places[row.name.removesuffix(".Delta")])
            for index, row in enumerate(plan.rows)
            if row.role == "update" and row.name.removesuffix(".Delta") in places
        ]
        self._updates = numpy.array([update for update, _ in pairs], dtype=numpy.intp)
        self._updated = numpy.array([weight for _, weight in pairs], dtype=numpy.intp)

    def table(self, frames: Sequence[Frame]) -> NDArray[numpy.float32]:
        """Figures as [frame][row][column]; NaN where a row was not seen, or a figure has no meaning."""
        shape = len(frames), self._num_rows, len(COLUMNS)
        table = numpy.full((shape[0] * shape[1], shape[2]), numpy.nan)
        if not table.size:
            return table.reshape(shape).astype(numpy.float32)
        heads = numpy.concatenate([frame.rows for frame in frames])
        mean_squares = numpy.full(len(heads), numpy.nan)  # of the samples
        with numpy.errstate(all="ignore"):  # what has no meaning becomes NaN
            for width, chosen in _groups(heads, frames[0].samples.shape[1]):
                block = self._gathered(frames, chosen, width)
                seen = self._look(block, heads["num_sampled"][chosen].astype(numpy.int64))
                mean_squares[chosen] = seen.mean_square
                table[chosen] = _figures(heads[chosen], seen)
                self._put_saturated(table, heads, block, chosen, seen.num_finite)
            table = table.reshape(shape)
            self._put_ratios(table, mean_squares.reshape(shape[:2]))
            for number, frame in enumerate(frames):
                self._put_dead(table[number], frame)
            # What is too large for float32 was finite all the same: infinity is spoken of in its own column.
            figures: NDArray[numpy.float32] = numpy.clip(table, -_LARGEST, _LARGEST).astype(numpy.float32)
        return figures

    def _gathered(self, frames: Sequence[Frame], chosen: _Counts, width: int) -> _Block:
        """The samples of some rows, one after the other, in memory that is used again and again."""
        width = min(width, frames[0].samples.shape[1])
        block = self._block[: len(chosen) * width].reshape(len(chosen), width)
        ends = numpy.searchsorted(chosen, numpy.arange(len(frames) + 1) * self._num_rows)
        for number in range(chosen[0] // self._num_rows, chosen[-1] // self._num_rows + 1):
            part = slice(ends[number], ends[number + 1])
            rows = chosen[part] - number * self._num_rows
            numpy.take(frames[number].samples[:, :width], rows, axis=0, out=block[part], mode="clip")
        return block

    def _look(self, block: _Block, num_sampled: _Counts) -> _Seen:
        """The first `num_sampled` of each row count. Sorts the block, with NaN for what does not count."""
        width = block.shape[1]
        is_absent = None
        if (num_sampled < width).any():
            is_absent = numpy.arange(width) >= num_sampled[:, None]
            block[is_absent] = 1  # finite, and not 0
        num_zeros = _num_zeros(block)
        num_nan = num_inf = numpy.zeros_like(num_sampled)
        wide = self._wide[: block.size].reshape(block.shape)
        wide[:] = block
        # A sum of float32 stays within float64: where it is not finite, one of the values is not.
        if not numpy.isfinite(wide.sum(axis=1)).all():
            num_nan, num_inf = numpy.isnan(block).sum(axis=1), numpy.isinf(block).sum(axis=1)
            is_other = ~numpy.isfinite(block)
            is_absent = is_other if is_absent is None else is_other | is_absent
        if is_absent is not None:
            block[is_absent] = numpy.nan
            wide[is_absent] = 0
        count = num_sampled - num_nan - num_inf
        mean = wide.sum(axis=1) / count
        mean_square = numpy.einsum("ij,ij->i", wide, wide) / count
        variance = mean_square - mean * mean
        # Where the spread is small beside the mean, all but the mean has been rounded away.
        narrow = numpy.flatnonzero(variance < _ROUNDED * mean_square)
        if len(narrow):
            around = numpy.nan_to_num(block[narrow] - mean[narrow, None])
            variance[narrow] = numpy.einsum("ij,ij->i", around, around) / count[narrow]
        block.sort(axis=1)  # NaN comes last
        return _Seen(
            num_finite=count,
            mean=mean,
            std=numpy.sqrt(variance * count / (count - 1)),
            mean_square=mean_square,
            low=block[:, 0].astype(numpy.float64),
            high=block[numpy.arange(len(block)), numpy.maximum(count - 1, 0)].astype(numpy.float64),
            zeros=num_zeros / num_sampled,
            nan=num_nan / num_sampled,
            inf=num_inf / num_sampled,
            quantiles=_quantiles(block, count),
        )

    def _put_saturated(
        self, table: _Floats, heads: NDArray[Any], block: _Block, chosen: _Counts, count: _Counts
    ) -> None:
        """Of rows that do not say it. `block` is sorted, with NaN for what does not count."""
        is_asked = self._is_bounded[chosen % self._num_rows] & ((heads["flags"][chosen] & HAS_ORDER) == 0)
        bounded = numpy.flatnonzero(is_asked)
        if not len(bounded):
            return
        start, low, high, end = self._bounds[chosen[bounded] % self._num_rows].T[:, :, None]
        values = block[bounded]
        saturated = ((values <= low) | (values >= high)).sum(axis=1) / count[bounded]
        # Beyond its range: a layer of this name with bounds of its own, of which nothing is known.
        is_other = ((values < start) | (values > end)).any(axis=1)
        table[chosen[bounded], COLUMN["saturated"]] = numpy.where(is_other, numpy.nan, saturated)

    def _put_ratios(self, table: _Floats, mean_squares: _Floats) -> None:
        updates, weights = self._updates, self._updated
        if not len(updates):
            return
        norm, estimates = table[:, :, COLUMN["norm"]], table[:, :, COLUMN[ESTIMATES]]
        is_sampled = _has(estimates[:, updates], NORM) | _has(estimates[:, weights], NORM)
        # Samples of both are taken at the same places, so they compare where one of them is not whole.
        ratio = numpy.where(
            is_sampled,
            numpy.sqrt(mean_squares[:, updates] / mean_squares[:, weights]),
            norm[:, updates] / norm[:, weights],
        )
        table[:, updates, COLUMN["ratio"]] = numpy.where(numpy.isfinite(ratio), ratio, numpy.nan)

    def _put_dead(self, table: _Floats, frame: Frame) -> None:
        if not frame.flags & HAS_UNITS:
            return
        for row in self._with_units:
            units = frame.units(row)
            if len(units) and frame.rows[row]["flags"] & IS_SEEN:
                table[row, COLUMN["dead"]] = 1 - numpy.count_nonzero(units) / len(units)
                if frame.rows[row]["flags"] & HAS_SOME_UNITS:
                    table[row, COLUMN[ESTIMATES]] += UNITS


def _num_zeros(block: _Block) -> _Counts:
    is_zero = block == 0
    counts = numpy.zeros(len(block), dtype=numpy.int64)
    some = numpy.flatnonzero(is_zero.any(axis=1))  # most tensors have none, and counting is slower
    counts[some] = is_zero[some].sum(axis=1)
    return counts


def _quantiles(block: _Block, count: _Counts) -> _Floats:
    """Of sorted rows, between two values in proportion, as NumPy does."""
    place = numpy.maximum(count - 1, 0)[:, None] * numpy.array(QUANTILES)
    before = place.astype(numpy.int64)
    after = numpy.minimum(before + 1, numpy.maximum(count - 1, 0)[:, None])
    low = numpy.take_along_axis(block, before, axis=1).astype(numpy.float64)
    high = numpy.take_along_axis(block, after, axis=1).astype(numpy.float64)
    quantiles: _Floats = low + (high - low) * (place - before)
    return quantiles


def _figures(heads: NDArray[Any], seen: _Seen) -> _Floats:
    """The columns of some rows, all but those that need to know the layer."""
    flags, num_elements = heads["flags"], heads["num_elements"]
    # A norm that another device could not compute in its own numbers is taken from the sample.
    has_norm = ((flags & HAS_NORM) != 0) & numpy.isfinite(heads["norm"])
    has_moments, has_order = (flags & HAS_MOMENTS) != 0, (flags & HAS_ORDER) != 0
    is_cut = heads["num_sampled"] < num_elements
    # A sample that is not the whole stands for all finite values.
    num_meant = num_elements * (1 - seen.nan - seen.inf)
    # Where nothing is finite, there is nothing to have a norm: 0 would say that all is 0.
    is_none_finite = heads["num_nan"] + heads["num_inf"] >= num_elements
    of_whole_norm = numpy.where(is_none_finite, numpy.nan, heads["norm"])
    norm = numpy.where(has_norm, of_whole_norm, numpy.sqrt(seen.mean_square * num_meant))
    figures = numpy.full((len(heads), len(COLUMNS)), numpy.nan)
    for name, of_whole, of_sample in (
        ("mean", heads["mean"], seen.mean),
        ("std", heads["std"], _spread(heads, seen, has_norm & is_cut)),
        ("min", heads["low"], seen.low),
        ("max", heads["high"], seen.high),
    ):
        figures[:, COLUMN[name]] = numpy.where(has_moments, of_whole, of_sample)
    figures[:, COLUMN["norm"]] = norm
    figures[:, COLUMN["zeros"]] = numpy.where(has_order, heads["zeros"], seen.zeros)
    figures[:, COLUMN["nan"]] = numpy.where(has_norm, heads["num_nan"] / num_elements, seen.nan)
    figures[:, COLUMN["inf"]] = numpy.where(has_norm, heads["num_inf"] / num_elements, seen.inf)
    figures[:, COLUMN["saturated"]] = numpy.where(has_order, heads["saturated"], numpy.nan)
    figures[:, _QUANTILES_AT] = numpy.where(has_order[:, None], heads["quantiles"], seen.quantiles)
    estimates = NORM * ~has_norm + MOMENTS * ~has_moments + ORDER * ~has_order
    figures[:, COLUMN[ESTIMATES]] = numpy.where(is_cut, estimates, 0)
    figures[:, COLUMN[NUM_VALUES]] = heads["num_sampled"]
    return figures


def _spread(heads: NDArray[Any], seen: _Seen, has_norm: NDArray[numpy.bool_]) -> _Floats:
    """Of a sample; where the norm of the whole is known and the mean is small, by that."""
    mean_square = heads["norm"] ** 2 / (heads["num_elements"] - heads["num_nan"] - heads["num_inf"])
    variance = mean_square - seen.mean**2
    is_better = has_norm & (variance > _SPREAD * mean_square) & numpy.isfinite(variance)
    return numpy.where(is_better, numpy.sqrt(variance), seen.std)


def _has(estimates: _Floats, group: int) -> NDArray[numpy.bool_]:
    found: NDArray[numpy.bool_] = (numpy.nan_to_num(estimates).astype(numpy.int64) & group) != 0
    return found


def _groups(heads: NDArray[Any], num_columns: int) -> Iterator[tuple[int, _Counts]]:
    """Rows that were seen, with samples of about the same size, not too many at once."""
    num_sampled = heads["num_sampled"].astype(numpy.int64)
    is_seen = ((heads["flags"] & IS_SEEN) != 0) & (num_sampled > 0)
    widths = numpy.array(_WIDTHS)[numpy.searchsorted(_WIDTHS, num_sampled)]
    for width in numpy.unique(widths[is_seen]).tolist():
        chosen = numpy.flatnonzero(is_seen & (widths == width))
        most = max(1, _PIECE_ELEMENTS // min(width, num_columns))
        for start in range(0, len(chosen), most):
            yield width, chosen[start : start + most]


def _most_elements(plan: Plan) -> int:
    return max(_PIECE_ELEMENTS, plan.sample_elements)
