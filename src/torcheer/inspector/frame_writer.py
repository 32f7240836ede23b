"""Fill frames while a step runs: copy what is seen at once, so that it stays what it was.

This is the hot path of a watched training. What depends on shapes alone is worked out once for each row and
shape (`Pieces`), and tensors that look into the slots are made once and kept.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy
import torch
from torch import Tensor

from torcheer.inspector.frame_format import (
    FRAME,
    ROW_TYPE,
    FrameFlag,
    Layout,
    Plan,
    RowFlag,
    Whole,
    bounds_of,
    write_head,
    write_num_units,
)
from torcheer.inspector.ring import Ring
from torcheer.inspector.sampling import (
    Pieces,
    all_figures,
    fine_dtype,
    flat_view,
    norms,
    pieces_of,
    plain,
    real_numbers,
    sample_of,
    units_of,
    whole_figures,
)

_MOST_SHAPES: Final = 8  # of a row, that are remembered
_SMALL_ELEMENTS: Final = 1 << 16  # activations up to here are looked at unit by unit each time
_UNIT_SECONDS: Final = 2.0  # between two looks at the units of larger ones
_WHOLE_SECONDS: Final = 1.0  # in which mean and extremes of a large tensor are computed once, of all values
_GOLDEN: Final = 0.618034  # its multiples are spread evenly between whole numbers
_COPIED_BYTES: Final = 1 << 30  # of weights as they were before an update, where nothing else is said
_STEADY: Final = frozenset({"weight", "update", "state", "tensor"})  # tensors that stay where they are
_SHORT: Final = frozenset({torch.float32, torch.float16, torch.bfloat16})  # as good as float32
ReportRow = Callable[[Exception, int], None]
_Copies = list[tuple[Tensor, Tensor]]  # targets and sources


class _Views(NamedTuple):
    """A tensor, all its numbers in one line, and its sample."""

    numbers: Tensor
    flat: Tensor
    sample: Tensor


@dataclass(slots=True, kw_only=True)
class _Known:
    """A tensor that stays where it is, and views of what is taken of it."""

    tensor: Tensor
    place: tuple[Any, ...]  # where it was found, its shape and its strides
    pieces: Pieces
    views: _Views
    before: _Views | None = None  # room for it as it was before an update, then for what that changed


class _Taken(NamedTuple):
    """What of a parameter was there before the optimizer changed it."""

    values: Tensor
    is_whole: bool  # else it is the sample alone
    known: _Known | None = None  # where there is room that is kept for it


class _Entry(NamedTuple):
    """A row whose sample is in its place, and all its numbers in one line; None where the sample is all."""

    row: int
    pieces: Pieces
    flat: Tensor | None


class FrameWriter:
    """Writes the frames of one plan into its ring, one at a time.

    Heads and samples are put together in memory of this process, and copied into the slot at the end.
    """

    def __init__(
        self,
        ring: Ring,
        plan: Plan,
        uncut: Collection[int] = (),
        *,
        exact: bool = False,
        copied_bytes: int = _COPIED_BYTES,
    ) -> None:
        """Rows in `uncut` have a whole excerpt or none. `exact`: all figures are of whole tensors."""
        self.ring, self.plan = ring, plan
        self._uncut, self._is_exact = uncut, exact
        self._copied_bytes = copied_bytes  # that are left for weights as they were before an update
        self.wanted_bytes: dict[int, int] = {}  # rows whose excerpts would not fit
        self._layout = layout = Layout(plan)
        self._pieces: list[dict[Any, Pieces]] = [{} for _ in plan.rows]  # by shape, layout and dtype
        self._known: dict[int, _Known] = {}  # by row
        self._taken: dict[int, _Taken] = {}  # by row, of the step that is under way
        self.is_open = False  # a frame is being filled
        self._number = 0  # of that frame
        self._slot = memoryview(b"")
        self._flags = self._step = 0
        self._with_excerpts = self._with_units = False
        self._units_at = 0.0
        self._now = self._interval = 0.0  # when this frame began, and how long after the last one
        self._whole_at = [-math.inf] * len(plan.rows)  # when mean and extremes were last computed
        self._due: set[int] = set()  # rows of this frame of which they are computed
        self._transfers: Transfers | None = None
        self._pending: deque[Transfers] = deque()  # frames that are complete but for what is on its way
        self._heads = bytearray(layout.num_rows * ROW_TYPE.itemsize)
        self._no_heads = bytes(self._heads)
        # In inference mode it would become a tensor that nobody can write into afterwards.
        with torch.inference_mode(False):
            self._samples = torch.zeros((layout.num_rows, layout.num_sampled), device="cpu")

    @property
    def has_room(self) -> bool:
        num_waiting = self.ring.num_filled + len(self._pending) - self.ring.num_given_back
        return num_waiting < self.ring.num_slots

    @property
    def num_pending(self) -> int:
        return len(self._pending)

    def begin(self, step: int, *, with_excerpts: bool) -> bool:
        """Take the next slot. False: the ring is full."""
        if not self.has_room:
            return False
        self._number = self.ring.num_filled + len(self._pending)
        self._slot = self.ring.slot(self._number)
        self._heads[:] = self._no_heads
        self._step, self._with_excerpts = step, with_excerpts
        self._flags = FrameFlag.EXCERPTS if with_excerpts else 0
        now = time.monotonic()
        self._now, self._interval = now, now - self._now
        self._due.clear()
        self._taken.clear()
        self._with_units = self._is_exact or now - self._units_at >= _UNIT_SECONDS
        if self._with_units:
            self._units_at = now
        self.is_open = True
        return True

    def abandon(self) -> None:
        self.is_open, self._transfers = False, None

    def finish(self) -> None:
        """Hand the frame to the child, as soon as all of it has come from wherever it is."""
        layout, samples = self._layout, self._samples.numpy().reshape(-1)
        self._slot[layout.rows_at : layout.rows_at + len(self._heads)] = self._heads
        numpy.frombuffer(self._slot, "<f4", samples.size, layout.samples_at)[:] = samples
        now = time.time()
        FRAME.pack_into(self._slot, 0, self._number, self._step, now, self._flags)
        is_seen = numpy.frombuffer(self._heads, ROW_TYPE)["flags"] & RowFlag.SEEN
        self.ring.note(self._number, self._step, now, numpy.packbits(is_seen).tobytes())
        self.is_open = False
        transfers, self._transfers = self._transfers, None
        if transfers is None and not self._pending:
            self.ring.publish()
            return
        transfers = transfers or Transfers()
        transfers.mark()
        self._pending.append(transfers)
        self.settle()

    def settle(self) -> bool:
        """Publish what has come from other devices, in order. False: something is still on its way."""
        while self._pending:
            if not self._pending[0].is_done():
                return False
            self._pending.popleft().put()
            self.ring.publish()
        return True

    def put(self, row: int, tensor: Tensor, unit_dim: int | None = None) -> None:
        """A tensor as it is now. `unit_dim` is that of its units, where it is asked which of them are 0."""
        try:
            tensor, pieces = self._dense(row, tensor)
            shift = self._number * 7919 % pieces.room  # over many frames, samples come from everywhere
            if not pieces.num_elements or not (self._with_units or pieces.num_elements <= _SMALL_ELEMENTS):
                unit_dim = None
            if not tensor.is_cpu:
                self._put_remote(row, pieces, tensor, shift, unit_dim)
                return
            num_units = flags = 0
            if unit_dim is not None:
                alive = units_of(real_numbers(tensor), unit_dim, self.plan.rows[row].unit_bytes)
                place, num_units = self._layout.units_at[row], alive.numel()
                self._slot[place : place + num_units] = alive.numpy().data
                self._flags |= FrameFlag.UNITS
                flags = RowFlag.SOME_UNITS if num_units < tensor.shape[unit_dim] else 0
            entry = self._put_sample(row, pieces, tensor, shift)
            self._put_head(row, pieces, self._figures(entry), num_units, flags)
        except BaseException:
            # Of an earlier call in this step there may be something: nothing is better than half of it.
            self._heads[row * ROW_TYPE.itemsize] = 0  # the flags
            raise

    def _put_sample(self, row: int, pieces: Pieces, tensor: Tensor, shift: int) -> _Entry:
        """The sample and the excerpt of a tensor."""
        if (excerpt := self._excerpt_source(pieces, tensor)) is not None:
            self._excerpt_target(row, pieces, tensor.dtype).copy_(excerpt)
        numbers = tensor if tensor.dtype in _SHORT else real_numbers(tensor)
        self._sample_target(row, pieces).copy_(sample_of(pieces, numbers, shift))
        return _Entry(row, pieces, flat_view(numbers) if pieces.needs_figures else None)

    def put_many(self, found: Sequence[tuple[int, Tensor]], report: ReportRow) -> None:
        """Several at once, which is faster."""
        copies: _Copies = []
        entries: list[_Entry] = []
        for row, tensor in found:
            try:
                known = self._known_at(row, tensor) if self.plan.rows[row].role in _STEADY else None
                if known is not None:
                    entries.append(self._listed(row, known, known.views, copies))
                    continue
                numbers, pieces = self._dense(row, tensor)
                if numbers.is_cpu:
                    entries.append(self._put_sample(row, pieces, numbers, 0))
                else:
                    self._put_remote(row, pieces, numbers, 0)
            except Exception as error:
                report(error, row)
        _copy_all(copies)
        self._put_heads(entries, report)

    def _listed(self, row: int, known: _Known, source: _Views, copies: _Copies) -> _Entry:
        """Sample and excerpt of a tensor for which there are views: they are copied with those of others."""
        pieces = known.pieces
        if (excerpt := self._excerpt_source(pieces, source.numbers)) is not None:
            copies.append((self._excerpt_target(row, pieces, known.tensor.dtype), excerpt))
        copies.append((self._sample_target(row, pieces), source.sample))
        return _Entry(row, pieces, source.flat if pieces.needs_figures else None)

    def _put_head(
        self, row: int, pieces: Pieces, whole: Whole | None, num_units: int = 0, flags: int = 0
    ) -> None:
        write_head(self._heads, row * ROW_TYPE.itemsize, pieces.head, whole, num_units, flags)

    def _put_heads(self, entries: Sequence[_Entry], report: ReportRow) -> None:
        """Norms of all of them in one call; one that cannot be read must not keep the others from it."""
        light: list[tuple[_Entry, Tensor]] = []
        for entry in entries:
            try:
                found = None if entry.flat is None else self._more_figures(entry, entry.flat)
                if entry.flat is not None and found is None:
                    light.append((entry, entry.flat))
                else:
                    self._put_head(entry.row, entry.pieces, found)
            except Exception as error:
                report(error, entry.row)
        for (entry, _), whole in zip(light, norms([flat for _, flat in light]), strict=True):
            self._put_head(entry.row, entry.pieces, whole)

    def _figures(self, entry: _Entry) -> Whole | None:
        if entry.flat is None:
            return None
        found = self._more_figures(entry, entry.flat)
        return norms([entry.flat])[0] if found is None else found

    def _more_figures(self, entry: _Entry, flat: Tensor) -> Whole | None:
        """None where it is enough to know the norm this time."""
        if self._is_exact:
            return all_figures(flat, bounds_of(self.plan.rows[entry.row]))
        if not entry.pieces.is_large or self._is_due(entry.row):
            return whole_figures(flat)
        return None

    def _is_due(self, row: int) -> bool:
        """True if it would be too late when the next frame comes."""
        at = self._whole_at[row]
        if self._now + self._interval <= at + _WHOLE_SECONDS and row not in self._due:
            return False
        self._due.add(row)  # of a layer that is called again in this step, the last call holds
        # Not all rows in the same frame: the first time, some count as if they had been read before.
        earlier = (row * _GOLDEN) % 1.0 * _WHOLE_SECONDS if at == -math.inf else 0.0
        self._whole_at[row] = self._now - earlier
        return True

    def take(self, found: Sequence[tuple[int, Tensor]], report: ReportRow) -> None:
        """Keep what `put_changes` needs of tensors that are about to change: a copy, if memory allows."""
        copies: _Copies = []
        for row, tensor in found:
            try:
                known = self._known_at(row, tensor)
                before = None if known is None else self._room_before(known)
                if known is not None and before is not None:
                    copies.append((before.flat, known.views.flat))
                    self._taken[row] = _Taken(before.numbers, True, known)
                    continue
                numbers, pieces = self._dense(row, tensor)
                dtype = fine_dtype(numbers.dtype)
                is_whole = numbers.numel() * dtype.itemsize <= self._copied_bytes
                values = numbers if is_whole else sample_of(pieces, numbers, 0)
                self._taken[row] = _Taken(values.to(dtype, copy=True), is_whole)
            except Exception as error:
                report(error, row)
        _copy_all(copies)

    def _room_before(self, known: _Known) -> _Views | None:
        if known.before is None:
            views = known.views
            num_bytes = 4 * views.flat.numel()
            if num_bytes > self._copied_bytes:
                return None
            self._copied_bytes -= num_bytes
            with torch.inference_mode(False):
                flat = torch.empty(views.flat.shape, dtype=torch.float32)
                numbers = flat.as_strided(views.numbers.shape, views.numbers.stride())
                known.before = _Views(numbers, flat, sample_of(known.pieces, numbers, 0))
        return known.before

    def put_changes(self, found: Sequence[tuple[int, Tensor]], report: ReportRow) -> int:
        """What changed of those of which something was taken. Gives how many there were."""
        copies: _Copies = []
        entries: list[_Entry] = []
        num_put = 0
        for row, tensor in found:
            if (taken := self._taken.pop(row, None)) is None:
                continue
            try:
                known = taken.known
                if known is None or known.before is None or known is not self._known_at(row, tensor):
                    self._put_change(row, taken, tensor)
                else:
                    torch.sub(known.views.flat, known.before.flat, out=known.before.flat)
                    entries.append(self._listed(row, known, known.before, copies))
                num_put += 1
            except Exception as error:
                report(error, row)
        _copy_all(copies)
        self._put_heads(entries, report)
        return num_put

    def _put_change(self, row: int, taken: _Taken, tensor: Tensor) -> None:
        tensor, pieces = self._dense(row, tensor)
        dtype = fine_dtype(tensor.dtype)
        if taken.is_whole:
            change, pieces = self._dense(row, tensor.to(dtype) - taken.values)
            if change.is_cpu:
                self._put_head(row, pieces, self._figures(self._put_sample(row, pieces, change, 0)))
            else:
                self._put_remote(row, pieces, change, 0)
            return
        change = sample_of(pieces, tensor, 0).to(dtype) - taken.values
        change = change.abs() if change.is_complex() else change
        if change.is_cpu:
            self._sample_target(row, pieces).copy_(change)
            self._put_head(row, pieces, None)
        else:
            self._put_remote_sample(row, pieces, change)

    def _dense(self, row: int, tensor: Tensor) -> tuple[Tensor, Pieces]:
        """The numbers of a tensor without gaps between them, and how to take them."""
        tensor = plain(tensor)
        pieces = self._pieces_of(row, tensor)
        if not pieces.is_dense:  # a slice, or one number that stands for many
            tensor = tensor.contiguous()
            pieces = self._pieces_of(row, tensor)
        return tensor, pieces

    def _known_at(self, row: int, tensor: Tensor) -> _Known | None:
        """How to look into a tensor that stays where it is; None where it is not an ordinary one."""
        known, place = self._known.get(row), (tensor.data_ptr(), tensor.shape, tensor.stride())
        # The views hold the memory that they look into: so nothing else can have come to this place.
        if known is not None and known.tensor is tensor and known.place == place:
            return known
        self._known.pop(row, None)
        numbers, pieces = self._dense(row, tensor)
        is_ordinary = type(tensor) in (Tensor, torch.nn.Parameter) and numbers.is_cpu
        if not is_ordinary or numbers.dtype not in _SHORT or numbers.data_ptr() != tensor.data_ptr():
            return None
        numbers = numbers.detach()  # it may be asked for a gradient later
        views = _Views(numbers, flat_view(numbers), sample_of(pieces, numbers, 0))
        known = self._known[row] = _Known(tensor=tensor, place=place, pieces=pieces, views=views)
        return known

    def _pieces_of(self, row: int, tensor: Tensor) -> Pieces:
        key = (tensor.shape, tensor.stride(), tensor.dtype)
        pieces = self._pieces[row].get(key)
        if pieces is None:
            known, num_bytes = self.plan.rows[row], tensor.numel() * tensor.element_size()
            excerpt_bytes = known.excerpt_bytes
            if num_bytes > excerpt_bytes:
                self.wanted_bytes[row] = max(self.wanted_bytes.get(row, 0), num_bytes)
                excerpt_bytes = 0 if row in self._uncut else excerpt_bytes
            pieces = pieces_of(tensor, known.role, self.plan.sample_elements, excerpt_bytes)
            if len(self._pieces[row]) >= _MOST_SHAPES:
                self._pieces[row].clear()
            self._pieces[row][key] = pieces
        return pieces

    def _sample_target(self, row: int, pieces: Pieces) -> Tensor:
        """Where the sample of a row goes, in the shape that it has."""
        target: Tensor | None = pieces.sample_target
        if target is None:
            shape = pieces.shape if pieces.is_whole else pieces.run_shape
            with torch.inference_mode(False):
                target = pieces.sample_target = self._samples[row, : pieces.num_sampled].view(shape)
        return target

    def _excerpt_source(self, pieces: Pieces, tensor: Tensor) -> Tensor | None:
        if not self._with_excerpts or pieces.excerpt_shape is None:
            return None
        return tensor.as_strided(pieces.excerpt_shape, pieces.excerpt_stride, tensor.storage_offset())

    def _excerpt_target(self, row: int, pieces: Pieces, dtype: torch.dtype) -> Tensor:
        """Where the excerpt of a row goes in this slot."""
        which = self._number % self.ring.num_slots
        target: Tensor | None = pieces.excerpt_targets.get(which)
        if target is None:
            with torch.inference_mode(False):
                place = self._layout.excerpts_at[row]
                target = _looking_at(self._slot, dtype, pieces.excerpt_shape or (), place)
                pieces.excerpt_targets[which] = target
        return target

    def _put_remote(
        self, row: int, pieces: Pieces, tensor: Tensor, shift: int, unit_dim: int | None = None
    ) -> None:
        """It is copied when the device comes to it, and nobody waits."""
        numbers, slot = real_numbers(tensor), self._slot
        transfers = self._put_remote_sample(row, pieces, sample_of(pieces, numbers, shift))
        if (excerpt := self._excerpt_source(pieces, tensor)) is not None:
            transfers.add(excerpt, self._excerpt_target(row, pieces, tensor.dtype).copy_)
        head = self._layout.rows_at + row * ROW_TYPE.itemsize
        if pieces.needs_figures:
            transfers.add_figures(
                flat_view(numbers), lambda whole: write_head(slot, head, pieces.head, whole)
            )
        if unit_dim is not None:
            place = self._layout.units_at[row]

            def put_units(host: Tensor) -> None:
                slot[place : place + host.numel()] = host.numpy().data
                write_num_units(slot, head, host.numel())

            transfers.add(units_of(numbers, unit_dim, self.plan.rows[row].unit_bytes), put_units)
            self._flags |= FrameFlag.UNITS

    def _put_remote_sample(self, row: int, pieces: Pieces, sample: Tensor) -> Transfers:
        if self._transfers is None:
            self._transfers = Transfers()
        # When it comes, what is put together here is a later frame: so it goes straight into the slot.
        place = self._layout.samples_at + 4 * row * self._layout.num_sampled
        target = _looking_at(self._slot, torch.float32, sample.shape, place)
        self._transfers.add(sample.to(torch.float32), target.copy_)
        self._put_head(row, pieces, None)
        return self._transfers


def _copy_all(copies: _Copies) -> None:
    if copies:
        torch._foreach_copy_([target for target, _ in copies], [source for _, source in copies])


def _looking_at(slot: memoryview, dtype: torch.dtype, shape: Sequence[int], place: int) -> Tensor:
    count = math.prod(shape)
    if not count:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(slot, dtype=dtype, count=count, offset=place).view(shape)


class Transfers:
    """What of one frame is on its way. The frame is complete when all of it has come."""

    def __init__(self) -> None:
        self._parts: list[tuple[Tensor, Callable[[Tensor], Any]]] = []
        self._devices: set[torch.device] = set()
        self._events: list[Any] = []

    def add(self, source: Tensor, put: Callable[[Tensor], Any]) -> None:
        """Copy into memory of the host now, and call `put` with that when the frame is complete."""
        source = source.contiguous()
        # From memory that is not pinned, the copy would be waited for.
        is_pinned = source.device.type == "cuda"
        host = torch.empty(source.shape, dtype=source.dtype, device="cpu", pin_memory=is_pinned)
        host.copy_(source, non_blocking=True)
        self._devices.add(source.device)
        self._parts.append((host, put))

    def add_figures(self, flat: Tensor, put: Callable[[Whole], Any]) -> None:
        """The figures of a whole tensor: there, reading all of it takes little time."""
        is_finite = flat.isfinite()
        num = is_finite.sum()
        finite = flat.where(is_finite, 0.0)
        mean = finite.sum() / num
        spread = torch.linalg.vector_norm((flat - mean).where(is_finite, 0.0))
        low, high = flat.where(is_finite, torch.inf).amin(), flat.where(is_finite, -torch.inf).amax()
        figures = torch.stack(
            [torch.linalg.vector_norm(finite), mean, spread / (num - 1).clamp(min=0).sqrt(), low, high]
        )
        counts = torch.stack([flat.isnan().sum(), flat.isinf().sum(), (flat == torch.inf).sum()])
        found: list[list[int]] = []
        self.add(counts, lambda host: found.append(host.tolist()))

        def put_whole(host: Tensor) -> None:
            norm, *moments = host.tolist()
            num_nan, num_inf, num_positive = found[0]
            put(Whole(norm, num_nan, num_inf, num_positive > 0, tuple(moments)))

        self.add(figures, put_whole)

    def mark(self) -> None:
        """All of it is queued."""
        for device in self._devices:
            if device.type != "cpu":
                stream: Any = torch.accelerator.current_stream(device)
                self._events.append(stream.record_event())

    def is_done(self) -> bool:
        return all(event.query() for event in self._events)

    def put(self) -> None:
        """It is there: into the frame with it."""
        for host, put in self._parts:
            put(host)
