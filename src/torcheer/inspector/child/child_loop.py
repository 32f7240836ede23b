"""The loop of the child: take frames from the ring, compute figures, ask the alarms, store both.

It also calls the user's functions, and passes on what the user should read.
"""

from __future__ import annotations

import os
import select
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector import protocol
from torcheer.inspector.alarms import Alarms
from torcheer.inspector.child.lifetime import LEAST_SECONDS, Guard, Parent, Signals, words_of
from torcheer.inspector.child.run_writer import RunWriter, lost_calls, lost_frames, together
from torcheer.inspector.frame_format import (
    COLUMN,
    COLUMNS,
    DTYPES,
    QUANTILES,
    Frame,
    FrameFlag,
    Layout,
    Plan,
    RowFlag,
    bounds_of,
    read_frame,
)
from torcheer.inspector.ring import Ring
from torcheer.run import (
    ESTIMATES,
    MOMENTS,
    NORM,
    NUM_VALUES,
    ORDER,
    UNITS,
    Ending,
    Mark,
    Part,
    RunReader,
    RunWarning,
    is_loss,
)

if TYPE_CHECKING:
    from torch import Tensor

# --- The figures of all rows of some frames, in one go: mean, spread, norm, quantiles, and what is not
# finite.
#
# Figures of a whole tensor come with its row where it is larger than its sample. All else comes from the
# sample, and is marked as an estimate where the sample is not all.


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
        num_elements = max(_PIECE_ELEMENTS, plan.sample_elements)
        self._block = numpy.empty(num_elements, dtype=numpy.float32)
        self._wide = numpy.empty(num_elements)
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
        is_zero = block == 0
        num_zeros = numpy.zeros(len(block), dtype=numpy.int64)
        some = numpy.flatnonzero(is_zero.any(axis=1))  # most tensors have none, and counting is slower
        num_zeros[some] = is_zero[some].sum(axis=1)
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
        is_asked = self._is_bounded[chosen % self._num_rows] & ((heads["flags"][chosen] & RowFlag.ORDER) == 0)
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
        if not frame.flags & FrameFlag.UNITS:
            return
        for row in self._with_units:
            units = frame.units(row)
            if len(units) and frame.rows[row]["flags"] & RowFlag.SEEN:
                table[row, COLUMN["dead"]] = 1 - numpy.count_nonzero(units) / len(units)
                if frame.rows[row]["flags"] & RowFlag.SOME_UNITS:
                    table[row, COLUMN[ESTIMATES]] += UNITS


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
    has_norm = ((flags & RowFlag.NORM) != 0) & numpy.isfinite(heads["norm"])
    has_moments, has_order = (flags & RowFlag.MOMENTS) != 0, (flags & RowFlag.ORDER) != 0
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
    is_seen = ((heads["flags"] & RowFlag.SEEN) != 0) & (num_sampled > 0)
    widths = numpy.array(_WIDTHS)[numpy.searchsorted(_WIDTHS, num_sampled)]
    for width in numpy.unique(widths[is_seen]).tolist():
        chosen = numpy.flatnonzero(is_seen & (widths == width))
        most = max(1, _PIECE_ELEMENTS // min(width, num_columns))
        for start in range(0, len(chosen), most):
            yield width, chosen[start : start + most]


_SECONDS: Final = 0.5
_MOST_SHARE: Final = 0.01  # of the time may be spent on it
_MOST_POINTS: Final = 2000  # at a time, the latest ones


class Losses:
    """Scalars of this rank that other processes write, as far as they are losses."""

    def __init__(self, folder: str, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._reader: RunReader | None = None
        self._seen: dict[tuple[str, str], float] = {}  # the time of the last point, by part and name
        self._next = 0.0
        self.known_names: set[str] = set()  # which the training tells by itself
        self._since = time.time()  # what an earlier training logged says nothing about this one

    def new(self, *, at_once: bool = False) -> list[protocol.Numbers]:
        """What came since; nothing where it is not yet time to look, or a file cannot be read now."""
        started = time.monotonic()
        if started < self._next and not at_once:
            return []
        found: list[protocol.Numbers] = []
        with suppress(Exception):  # it is being written, moved or deleted: the next look may see more
            if self._reader is None:
                self._reader = RunReader(self._folder)
            else:
                self._reader.refresh()
            for part in self._parts(self._reader):
                found += self._new_in(part)
        now = time.monotonic()
        self._next = now + max(_SECONDS, (now - started) / _MOST_SHARE)
        return sorted(found, key=lambda numbers: numbers.time)

    @property
    def are_being_written(self) -> bool:
        """True if somebody logs something at this time, as of the last look."""
        if self._reader is None:
            return False
        return any(part.status().state == "running" for part in self._parts(self._reader))

    def _parts(self, reader: RunReader) -> list[Part]:
        of_rank = f"rank-{self._rank}"
        return [
            part
            for name, part in reader.parts().items()
            if (name == of_rank or name.startswith(of_rank + ".")) and part.status().pid != os.getpid()
        ]

    def _new_in(self, part: Part) -> list[protocol.Numbers]:
        found = []
        for key, entry in part.series().items():
            if key.kind != "scalar" or key.name in self.known_names or not is_loss(key.name):
                continue
            since = self._seen.get((part.name, key.name), self._since)
            if entry.last_time <= since:
                continue
            self._seen[part.name, key.name] = entry.last_time
            points = part.points(key.name, max(0, entry.count - _MOST_POINTS))
            found += [
                protocol.Numbers(step=step, time=at, values={key.name: value})
                for step, at, value in zip(*(column.tolist() for column in points), strict=True)
                if at > since
            ]
        return found


_MOST_CAUSES: Final = 200
_MOST_CHARACTERS: Final = 2000


class UserMessages:
    """Collects what is to be said, from any thread; the loop sends it."""

    def __init__(self, channel: protocol.Channel[protocol.ToChild]) -> None:
        self._channel = channel
        self._waiting: deque[protocol.Told | protocol.Raised | protocol.Lost] = deque()
        self._causes: set[str] = set()

    def tell(self, message: str, cause: str | None = None) -> None:
        cause = message if cause is None else cause
        if cause in self._causes or len(self._causes) >= _MOST_CAUSES:
            return
        self._causes.add(cause)
        self._waiting.append(protocol.Told(message=message[:_MOST_CHARACTERS]))

    def say(self, message: protocol.Raised | protocol.Lost) -> None:
        """An alarm, or what the run could not keep: the training counts it, too."""
        self._waiting.append(message)

    def send(self) -> None:
        """From the loop's thread alone."""
        while self._waiting:
            self._channel.send(self._waiting.popleft())
        if self._channel.num_waiting:
            self._channel.pump()

    def pass_on_warnings(self) -> None:
        """What a run warns of, the training's user is to read; all other warnings stay what they are."""
        show = warnings.showwarning

        def showwarning(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
            if issubclass(category, RunWarning):
                self.tell(str(message))
            else:
                show(message, category, *rest, **named)

        warnings.showwarning = showwarning
        warnings.simplefilter("always", RunWarning)


class Caller:
    """The user's callbacks, how often they failed, and the calls for which no time was left."""

    def __init__(self, callbacks: protocol.Callbacks | None, voice: UserMessages) -> None:
        self._callbacks = protocol.Callbacks() if callbacks is None else callbacks
        self._voice = voice
        self.num_failures = 0
        self._skipped: protocol.Lost | None = None  # since it was last asked for

    @property
    def is_wanted(self) -> bool:
        return self._callbacks.on_run is not None

    def call(self, frame: Frame, plan: Plan, deadline: float) -> None:
        """For all rows of a frame that have an excerpt. Those that are left when time is up are counted."""
        on_run = self._callbacks.on_run
        if on_run is None:
            return
        skipped: list[str] = []
        for index, row in enumerate(plan.rows):
            excerpt = frame.excerpt(index)
            if excerpt is None:
                continue
            if time.monotonic() > deadline:
                skipped.append(row.name)
                continue
            try:
                on_run(row.name, frame.step, tensor_of(excerpt, int(frame.rows["dtype"][index])))
            except BaseException as error:  # also sys.exit() of theirs: this process is not theirs to end
                self._note(error, f"at {row.name}, step {frame.step}")
        if skipped:
            self._skipped = together(self._skipped, lost_calls(skipped, frame.step))
            self._voice.tell("the training ended before the callback had seen all that was kept for it.")

    def take_skipped(self) -> protocol.Lost | None:
        """The calls that were not made since this was last asked, for the run."""
        skipped, self._skipped = self._skipped, None
        return skipped

    def close(self) -> None:
        """Nothing more comes."""
        if self._callbacks.on_closing is not None:
            try:
                self._callbacks.on_closing()
            except BaseException as error:
                self._note(error, "at the end")
        if self.num_failures > 1:
            self._voice.tell(f"the callback failed {self.num_failures:,} times in all.")

    def _note(self, error: BaseException, where: str) -> None:
        self.num_failures += 1
        words = words_of(error)
        self._voice.tell(
            f"the callback failed {where}: {words}. It is called again for the next tensor; this is told "
            "once, and counted.",
            cause=f"callback {type(error).__name__} {words.rpartition('(')[2]}",
        )


def tensor_of(excerpt: numpy.ndarray[Any, Any], code: int) -> Tensor:
    """A copy, as the type that it had."""
    import torch

    dtype = getattr(torch, DTYPES[code][0])
    whole = numpy.array(excerpt)  # the slot is filled anew soon
    # Types that NumPy has not: their bytes go to torch as whole numbers of the same size.
    return torch.from_numpy(whole.view("<i2") if whole.dtype == "<u2" else whole).view(dtype)


_BUSY_SECONDS: Final = 0.03  # between two looks at a ring that fills up fast
_CALM_SECONDS: Final = 0.3  # the same otherwise: several frames at a time cost less than one by one
_MUCH: Final = 0.25  # of the ring
_MOST_FRAMES: Final = 32  # at a time
_FOLLOWING_SECONDS: Final = 0.5  # after the end was asked for by a signal, in which the training may end, too
_LAST_LOSS_SECONDS: Final = 0.3  # a run is written a few times a second
_PATIENCE: Final = 30.0  # for a disk that stands still
_LAST_PATIENCE: Final = 0.3  # the same when the training is gone
_KILLED = Ending("died", "the training was killed")


class Loop:
    """One child, from its job to its end."""

    def __init__(
        self,
        channel: protocol.Channel[protocol.ToChild],
        job: protocol.Job,
        callbacks: protocol.Callbacks | None,
        signals: Signals,
    ) -> None:
        self._channel, self._job, self._signals = channel, job, signals
        self._voice = UserMessages(channel)
        self._voice.pass_on_warnings()
        self._parent = Parent(job.parent)
        self._run_writer = RunWriter(job, self._voice)
        self._caller = Caller(callbacks, self._voice)
        self._alarms = Alarms(job.thresholds)
        self._losses: Losses | None = None
        if job.run is not None and job.follows_losses and job.thresholds is not None:
            self._losses = Losses(job.run, job.rank)
        self._source: Source | None = None
        self._old: list[Source] = []  # emptied, and not yet on disk
        self._flushes: list[tuple[int, Mark]] = []
        self._ending: Ending | None = None
        self.was_told_to_close = False
        self._deadline = float("inf")  # of callbacks, when the training is gone
        self._news_at = time.monotonic()
        self._is_filling = True
        self._poll = select.poll()
        self._poll.register(channel.fileno(), select.POLLIN)
        self._poll.register(signals.fileno(), select.POLLIN)
        if self._parent.descriptor is not None:
            self._poll.register(self._parent.descriptor, select.POLLIN)
        # In the guard's thread, where the training is gone and the loop hangs.
        self._guard = Guard(self._parent, lambda: self._close_files(self._ending or _KILLED))

    def run(self) -> None:
        """Until the end. What goes wrong in here is told, and it goes on."""
        while self._ending is None:
            try:
                self._turn()
            except Exception as error:
                self._tell_fault(error)
                time.sleep(_BUSY_SECONDS)  # where it happens each time, it must not take all of a core
                self._look_for_the_end()
        self._finish(self._ending)

    def _turn(self) -> None:
        self._poll.poll(1000 * (_BUSY_SECONDS if self._is_filling else _CALM_SECONDS))
        self._signals.calm()
        self._hear()
        self._is_filling = (
            self._source is not None and self._source.ring.num_waiting > _MUCH * self._source.plan.num_slots
        )
        self._empty()
        self._follow_losses()
        self._run_writer.tick()
        for ticket, mark in self._flushes:
            if mark.is_done:
                self._channel.send(protocol.Flushed(ticket=ticket))
        self._flushes = [(ticket, mark) for ticket, mark in self._flushes if not mark.is_settled]
        self._let_go()
        self._voice.send()
        self._look_for_the_end()

    def _hear(self) -> None:
        for message in self._channel.hear():
            if isinstance(message, protocol.NewPlan):
                self._begin(message)
            elif isinstance(message, protocol.Numbers):
                self._note_numbers(message)
            elif isinstance(message, protocol.Flush):
                self._empty()
                self._flushes.append((message.ticket, self._run_writer.write(at_once=True)))
            elif isinstance(message, protocol.Close):
                self.was_told_to_close = True
                self._ending = Ending("died", message.reason) if message.reason else Ending("finished")

    def _begin(self, message: protocol.NewPlan) -> None:
        self._empty()
        source = Source(message.plan, self._channel.take_descriptor())
        self._run_writer.begin(message.plan, source.ring)
        if self._source is not None:
            self._old.append(self._source)
        self._source = source
        self._news_at = time.monotonic()
        self._alarms.renew(message.plan)

    def _note_numbers(self, numbers: protocol.Numbers) -> None:
        named = self._job.named(numbers)
        if self._losses is not None:  # which need not find them in the run
            self._losses.known_names.update(named.values)
        self._raise(self._alarms.look_at_numbers(numbers))
        if not numbers.are_kept:
            self._run_writer.numbers(named)

    def _follow_losses(self, *, at_once: bool = False) -> None:
        """Those that the training logs into the run by itself."""
        if self._losses is not None and self._source is not None:
            for numbers in self._losses.new(at_once=at_once):
                self._raise(self._alarms.look_at_numbers(numbers))

    def _raise(self, alarms: Iterable[protocol.Raised]) -> None:
        for alarm in alarms:
            self._run_writer.alarm(alarm)
            self._voice.say(alarm)

    def _empty(self, deadline: float = float("inf")) -> None:
        """All that waits; one frame at a time where there is a callback, for which the ring has to wait."""
        source = self._source
        most = 1 if self._caller.is_wanted else _MOST_FRAMES
        while source is not None and time.monotonic() < deadline:
            frames = source.frames(most)
            if not frames:
                return
            self._news_at = time.monotonic()
            self._take(source, frames)
            if self._caller.is_wanted:  # callbacks may take long, and the rest must not wait for all of them
                self._run_writer.tick()
                self._voice.send()
                if self._parent.is_gone and self._deadline == float("inf"):
                    self._deadline = time.monotonic() + LEAST_SECONDS

    def _take(self, source: Source, frames: list[Frame]) -> None:
        looked = None
        try:
            table = source.figures.table(frames)
            looked = self._run_writer.look(frames, table)
            for frame, figures in zip(frames, table, strict=True):
                self._raise(self._alarms.look(frame, figures))
        except Exception as error:
            if len(frames) > 1:  # one of them is to blame: the others are looked at
                for frame in frames:
                    self._take(source, [frame])
                return
            self._tell_fault(error)
            numbers = [frame.number for frame in frames]
            self._run_writer.lost(lost_frames(source.ring, source.plan, numbers, "error"))
        if self._caller.is_wanted:
            started = time.process_time()
            for frame in frames:
                self._caller.call(frame, source.plan, self._deadline)
            source.leave_out(time.process_time() - started)
        # Given back first: what is given back and not on disk when this process is killed counts as lost, and
        # what is not given back is read by the next one. So nothing is there twice.
        source.give_back(len(frames))
        if looked is not None:
            self._run_writer.keep(looked)

    # --- the end ---------------------------------------------------------------------------------------

    def _look_for_the_end(self) -> None:
        if self._ending is not None:
            return
        if self._parent.is_gone:
            self._ending = _KILLED
        elif self._signals.is_terminated or not self._channel.is_open:
            # A whole group of processes was told to end, or the training has let go of us. Whether it is
            # dying, too, shows in a moment.
            self._ending = _KILLED if self._parent.wait(_FOLLOWING_SECONDS) else Ending("finished")
        elif 0 < self._job.idle_seconds < time.monotonic() - self._news_at:
            self._channel.send(protocol.Idle())
            self._ending = Ending("finished")

    def _finish(self, ending: Ending) -> None:
        is_killed = self._parent.is_gone
        self._deadline = time.monotonic() + LEAST_SECONDS if is_killed else float("inf")
        try:
            self._hear()  # its last words may say why it ends
            ending = self._ending or ending
            self._empty(self._deadline)
            self._follow_losses(at_once=True)
            if self._losses is not None and self._losses.are_being_written and not is_killed:
                # What a training dies of, it often logs last, and that is written a moment later.
                self._parent.wait(_LAST_LOSS_SECONDS)
                self._follow_losses(at_once=True)
        except Exception as error:
            self._tell_fault(error)
        self._close_files(ending)
        self._guard.is_done()
        self._caller.close()
        self._say_the_rest()

    def _close_files(self, ending: Ending) -> None:
        is_killed = self._parent.is_gone
        if is_killed and self._source is not None:  # else what waits is for the next child
            self._run_writer.lost(self._source.give_up())
        self._run_writer.lost(self._caller.take_skipped())
        self._run_writer.end(ending, _LAST_PATIENCE if is_killed else _PATIENCE)

    def _say_the_rest(self) -> None:
        end = time.monotonic() + 0.5
        self._voice.send()
        while self._channel.num_waiting and self._channel.is_open and time.monotonic() < end:
            protocol.wait_for(self._channel.fileno(), 0.1, reading=False, writing=True)
            self._channel.pump()

    def _let_go(self) -> None:
        """Rings that are empty and on disk."""
        if self._old:
            gone = [source for source in self._old if source.ring.num_kept >= source.ring.num_given_back]
            self._old = [source for source in self._old if source not in gone]
            for source in gone:
                source.ring.close()

    def _tell_fault(self, error: BaseException) -> None:
        self._voice.tell(
            f"the process that watches the training: {words_of(error)}. It goes on, and counts what is "
            "missing.",
            cause=f"fault {type(error).__name__}",
        )


class Source:
    """A plan, its ring, and what computes its figures."""

    def __init__(self, plan: Plan, descriptor: int) -> None:
        """Takes over the descriptor."""
        self.plan = plan
        self._layout = Layout(plan)
        self.ring = Ring(descriptor, plan.num_slots, self._layout.num_bytes, len(plan.rows))
        self.figures = Figures(plan)
        # Where a child before this one computed already, its time stays counted.
        self._busy_before = self.ring.busy_seconds - time.process_time()

    def frames(self, most: int) -> list[Frame]:
        """The oldest that wait."""
        first = self.ring.num_given_back
        count = min(self.ring.num_waiting, most)
        return [read_frame(self.ring.slot(first + index), self._layout) for index in range(count)]

    def give_back(self, count: int) -> None:
        self.ring.give_back(count)
        self.ring.note_busy(max(0.0, self._busy_before + time.process_time()))

    def leave_out(self, seconds: float) -> None:
        """Time of a processor that is the user's own, and not the cost of watching."""
        self._busy_before -= seconds

    def give_up(self) -> protocol.Lost | None:
        """All that waits will never be read."""
        first, last = self.ring.num_given_back, self.ring.num_filled
        lost = lost_frames(self.ring, self.plan, range(first, last), "killed")
        self.ring.give_back(last - first)
        return lost
