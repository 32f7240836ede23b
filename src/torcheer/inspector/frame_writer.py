"""Fill frames while a step runs: copy what is seen at once, so that it stays what it was.

This is the hot path of a watched training. What depends on shapes alone is worked out once for each row and
shape (`Pieces`), and tensors that look into the slots are made once and kept.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from torcheer.inspector.frame_format import (
    FIGURES,
    FIGURES_AT,
    FRAME,
    HAS_EXCERPTS,
    HAS_MOMENTS,
    HAS_NORM,
    HAS_ORDER,
    HAS_POSITIVE_INF,
    HAS_SOME_UNITS,
    HAS_UNITS,
    IS_SEEN,
    NUM_UNITS,
    NUM_UNITS_AT,
    ORDER,
    ORDER_AT,
    ROW_TYPE,
    Layout,
    Plan,
    bounds_of,
)
from torcheer.inspector.ring import Ring
from torcheer.inspector.sampling import (
    Moments,
    Pieces,
    Whole,
    all_figures,
    fine_dtype,
    flat_view,
    norms,
    pieces_of,
    plain,
    real_numbers,
    units_of,
    whole_figures,
)

_MOST_SHAPES = 8  # of a row, that are remembered
_SMALL_ELEMENTS = 1 << 16  # activations up to here are looked at unit by unit each time
_UNIT_SECONDS = 2.0  # between two looks at the units of larger ones
_WHOLE_SECONDS = 1.0  # in which mean and extremes of a large tensor are computed once, of all its values
_GOLDEN = 0.618034  # its multiples are spread evenly between whole numbers
_COPIED_BYTES = 1 << 30  # of weights as they were before an update, where nothing else is said
_STEADY = frozenset({"weight", "update", "state", "tensor"})  # roles of tensors that stay where they are
ReportRow = Callable[[Exception, int], None]


class Taken(NamedTuple):
    """What of a parameter was there before the optimizer changed it."""

    values: Tensor
    is_whole: bool  # else it is the sample alone
    ready: KnownTensor | None = None  # where there is room that is kept for it


class _Entry(NamedTuple):
    """A row whose sample is in its place, and all its numbers in one line; None where the sample is all."""

    row: int
    pieces: Pieces
    flat: Tensor | None


class FrameWriter:
    """Writes the frames of one plan into its ring, one at a time."""

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
        self._layout = Layout(plan)
        self._pieces: list[dict[Any, Pieces]] = [{} for _ in plan.rows]  # by shape, layout and dtype
        self.is_open = False  # a frame is being filled
        self._number = 0  # of that frame
        self._slot = memoryview(b"")
        self._which = 0
        self._flags = self._step = 0
        self._with_excerpts = self._with_units = False
        self._shift = 0
        self._units_at = 0.0
        self._now = self._interval = 0.0  # when this frame began, and how long after the last one
        self._whole_at = [-math.inf] * len(plan.rows)  # when mean and extremes were last computed
        self._due: set[int] = set()  # rows of this frame of which they are computed
        self._transfers: Transfers | None = None
        self._pending: deque[Transfers] = deque()  # frames that are complete but for what is on its way
        self._staged = Staged(self._layout)
        self._known = KnownTensors()

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
        self._number = number = self.ring.num_filled + len(self._pending)
        self._which = number % self.ring.num_slots
        self._slot = self.ring.slot(number)
        self._staged.begin()
        self._step, self._with_excerpts = step, with_excerpts
        self._flags = HAS_EXCERPTS if with_excerpts else 0
        self._shift = number * 7919  # over many frames, samples come from everywhere
        now = time.monotonic()
        self._now, self._interval = now, now - self._now
        self._due.clear()
        self._with_units = self._is_exact or now - self._units_at >= _UNIT_SECONDS
        if self._with_units:
            self._units_at = now
        self.is_open = True
        return True

    def abandon(self) -> None:
        self.is_open, self._transfers = False, None

    def finish(self) -> None:
        """Hand the frame to the child, as soon as all of it has come from wherever it is."""
        self._staged.copy_into(self._slot)
        now = time.time()
        FRAME.pack_into(self._slot, 0, self._number, self._step, now, self._flags)
        self.ring.note(self._number, self._step, now, self._staged.rows_seen())
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

    # --- rows ---------------------------------------------------------------------------------------

    def put(self, row: int, tensor: Tensor, unit_dim: int | None = None) -> None:
        """A tensor as it is now. `unit_dim` is that of its units, where it is asked which of them are 0."""
        try:
            tensor, pieces = self._dense(row, tensor)
            if not tensor.is_cpu:
                self._put_from_afar(row, pieces, tensor, unit_dim)
                return
            num_units = flags = 0
            if unit_dim is not None and pieces.num_elements and self._looks_at_units(pieces):
                num_units = self._put_units(row, real_numbers(tensor), unit_dim)
                flags = HAS_SOME_UNITS if num_units < tensor.shape[unit_dim] else 0
            entry = self._put_sample(row, pieces, tensor, self._shift)
            self._staged.put_head(row, pieces, self._figures(entry), num_units, flags)
        except BaseException:
            # Of an earlier call in this step there may be something: nothing is better than half of it.
            self._staged.clear_head(row)
            raise

    def _looks_at_units(self, pieces: Pieces) -> bool:
        return self._with_units or pieces.num_elements <= _SMALL_ELEMENTS

    def _put_sample(self, row: int, pieces: Pieces, tensor: Tensor, shift: int) -> _Entry:
        """The sample and the excerpt of a tensor."""
        if (excerpt := self._excerpt_source(pieces, tensor)) is not None:
            self._excerpt_target(row, pieces, tensor.dtype).copy_(excerpt)
        numbers = tensor if tensor.dtype in SHORT else real_numbers(tensor)
        sample = sample_of(pieces, numbers, shift % pieces.room)
        self._staged.sample_target(row, pieces).copy_(sample)
        return _Entry(row, pieces, flat_view(numbers) if pieces.needs_figures else None)

    def put_many(self, found: Sequence[tuple[int, Tensor]], report: ReportRow) -> None:
        """Several at once, which is faster."""
        copies: list[tuple[Tensor, Tensor]] = []
        entries: list[_Entry] = []
        for row, tensor in found:
            try:
                self._prepare(row, tensor, copies, entries)
            except Exception as error:
                report(error, row)
        _copy_all(copies)
        self._put_heads(entries, report)

    def _prepare(
        self, row: int, tensor: Tensor, copies: list[tuple[Tensor, Tensor]], entries: list[_Entry]
    ) -> None:
        is_steady = self.plan.rows[row].role in _STEADY
        ready = self._ready_of(row, tensor) if is_steady else None
        if ready is None:
            numbers, pieces = self._dense(row, tensor)
            if not numbers.is_cpu:
                self.put(row, numbers)
            else:
                entries.append(self._put_sample(row, pieces, numbers, 0))
            return
        pieces = ready.pieces
        if (excerpt := self._excerpt_source(pieces, ready.numbers)) is not None:
            copies.append((self._excerpt_target(row, pieces, ready.numbers.dtype), excerpt))
        copies.append((self._staged.sample_target(row, pieces), ready.sample))
        entries.append(_Entry(row, pieces, ready.flat if pieces.needs_figures else None))

    # --- figures of whole tensors -------------------------------------------------------------------

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
        """Whether it would be too late when the next frame comes."""
        at = self._whole_at[row]
        if self._now + self._interval <= at + _WHOLE_SECONDS and row not in self._due:
            return False
        self._due.add(row)  # of a layer that is called again in this step, the last call holds
        # Not all rows in the same frame: the first time, some count as if they had been read before.
        earlier = (row * _GOLDEN) % 1.0 * _WHOLE_SECONDS if at == -math.inf else 0.0
        self._whole_at[row] = self._now - earlier
        return True

    def _put_heads(self, entries: Sequence[_Entry], report: ReportRow) -> None:
        """Norms of all of them in one call; one that cannot be read must not keep the others from it."""
        light: list[_Entry] = []
        for entry in entries:
            try:
                if entry.flat is None:
                    self._staged.put_head(entry.row, entry.pieces, None)
                elif (found := self._more_figures(entry, entry.flat)) is None:
                    light.append(entry)
                else:
                    self._staged.put_head(entry.row, entry.pieces, found)
            except Exception as error:
                report(error, entry.row)
        found_norms = norms([entry.flat for entry in light if entry.flat is not None])
        for entry, whole in zip(light, found_norms, strict=True):
            self._staged.put_head(entry.row, entry.pieces, whole)

    # --- what an update changes ---------------------------------------------------------------------

    def take(self, found: Sequence[tuple[int, Tensor]], report: ReportRow) -> dict[int, Taken]:
        """What `put_changes` needs of tensors that are about to change: a copy, where there is memory."""
        taken: dict[int, Taken] = {}
        copies: list[tuple[Tensor, Tensor]] = []
        for row, tensor in found:
            try:
                ready = self._ready_of(row, tensor)
                before = None if ready is None else self._room_before(ready)
                if ready is None or before is None:
                    taken[row] = self._taken(row, tensor)
                else:
                    copies.append((before.flat, ready.flat))
                    taken[row] = Taken(before.numbers, True, ready)
            except Exception as error:
                report(error, row)
        _copy_all(copies)
        return taken

    def _room_before(self, ready: KnownTensor) -> Before | None:
        if ready.before is None:
            num_bytes = 4 * ready.flat.numel()
            if num_bytes > self._copied_bytes:
                return None
            self._copied_bytes -= num_bytes
            ready.before = room_before(ready)
        return ready.before

    def _taken(self, row: int, tensor: Tensor) -> Taken:
        tensor, pieces = self._dense(row, tensor)
        dtype = fine_dtype(tensor.dtype)
        if tensor.numel() * dtype.itemsize <= self._copied_bytes:
            return Taken(tensor.to(dtype, copy=True), True)
        return Taken(sample_of(pieces, tensor, 0).to(dtype, copy=True), False)

    def put_changes(self, found: Sequence[tuple[int, Taken, Tensor]], report: ReportRow) -> int:
        """What changed since `take`, of rows with the same shapes. Gives how many there were."""
        copies: list[tuple[Tensor, Tensor]] = []
        entries: list[_Entry] = []
        num_failed = 0
        for row, before, tensor in found:
            try:
                ready = before.ready
                if ready is None or ready.before is None or ready is not self._ready_of(row, tensor):
                    self._put_change(row, before, tensor)
                    continue
                room, pieces = ready.before, ready.pieces
                torch.sub(ready.flat, room.flat, out=room.flat)
                if (excerpt := self._excerpt_source(pieces, room.numbers)) is not None:
                    copies.append((self._excerpt_target(row, pieces, ready.numbers.dtype), excerpt))
                copies.append((self._staged.sample_target(row, pieces), room.sample))
                entries.append(_Entry(row, pieces, room.flat if pieces.needs_figures else None))
            except Exception as error:
                num_failed += 1
                report(error, row)
        _copy_all(copies)
        self._put_heads(entries, report)
        return len(found) - num_failed

    def _put_change(self, row: int, before: Taken, tensor: Tensor) -> None:
        tensor, pieces = self._dense(row, tensor)
        if before.is_whole:
            self._put_difference(row, tensor.to(fine_dtype(tensor.dtype)) - before.values)
            return
        change = sample_of(pieces, tensor, 0).to(fine_dtype(tensor.dtype)) - before.values
        change = change.abs() if change.is_complex() else change
        if not tensor.is_cpu:
            self._put_remote(row, pieces, tensor.dtype, (change, None, None))
            return
        self._staged.sample_target(row, pieces).copy_(change)
        self._staged.put_head(row, pieces, None)

    def _put_difference(self, row: int, change: Tensor) -> None:
        change, pieces = self._dense(row, change)
        if change.is_cpu:
            entry = self._put_sample(row, pieces, change, 0)
            self._staged.put_head(row, pieces, self._figures(entry))
        else:
            self._put_from_afar(row, pieces, change, None)

    # --- pieces -------------------------------------------------------------------------------------

    def _dense(self, row: int, tensor: Tensor) -> tuple[Tensor, Pieces]:
        """The numbers of a tensor without gaps between them, and how to take them."""
        tensor = plain(tensor)
        pieces = self._pieces_of(row, tensor)
        if not pieces.is_dense:  # a slice, or one number that stands for many
            tensor = tensor.contiguous()
            pieces = self._pieces_of(row, tensor)
        return tensor, pieces

    def _ready_of(self, row: int, tensor: Tensor) -> KnownTensor | None:
        """How to look into a tensor that stays where it is; None where it is not an ordinary one."""
        ready = self._known.find(row, tensor)
        if ready is None:
            return self._known.keep(row, tensor, *self._dense(row, tensor))
        if ready.pieces.is_wanting:
            self._note_wanted(row, ready.pieces)
        return ready

    def _pieces_of(self, row: int, tensor: Tensor) -> Pieces:
        key = (tensor.shape, tensor.stride(), tensor.dtype)
        pieces = self._pieces[row].get(key)
        if pieces is None:
            pieces = self._new_pieces(row, tensor)
            if len(self._pieces[row]) >= _MOST_SHAPES:
                self._pieces[row].clear()
            self._pieces[row][key] = pieces
        if pieces.is_wanting:
            self._note_wanted(row, pieces)
        return pieces

    def _note_wanted(self, row: int, pieces: Pieces) -> None:
        self.wanted_bytes[row] = max(self.wanted_bytes.get(row, 0), pieces.excerpt_bytes)

    def _new_pieces(self, row: int, tensor: Tensor) -> Pieces:
        known = self.plan.rows[row]
        num_bytes = tensor.numel() * tensor.element_size()
        is_too_large = num_bytes > known.excerpt_bytes
        excerpt_bytes = 0 if is_too_large and row in self._uncut else known.excerpt_bytes
        pieces = pieces_of(tensor, known.role, self.plan.sample_elements, excerpt_bytes)
        pieces.is_wanting = is_too_large
        return pieces

    def _excerpt_source(self, pieces: Pieces, tensor: Tensor) -> Tensor | None:
        if not self._with_excerpts or pieces.excerpt_shape is None:
            return None
        return tensor.as_strided(pieces.excerpt_shape, pieces.excerpt_stride, tensor.storage_offset())

    def _excerpt_target(self, row: int, pieces: Pieces, dtype: torch.dtype) -> Tensor:
        """Where the excerpt of a row goes in this slot."""
        target: Tensor | None = pieces.excerpt_targets.get(self._which)
        if target is None:
            # In inference mode it would become a tensor that nobody can write into afterwards.
            with torch.inference_mode(False) if torch.is_inference_mode_enabled() else nullcontext():
                place = self._layout.excerpts_at[row]
                target = _looking_at(self._slot, dtype, pieces.excerpt_shape or (), place)
                pieces.excerpt_targets[self._which] = target
        return target

    def _put_units(self, row: int, tensor: Tensor, unit_dim: int) -> int:
        alive = units_of(tensor, unit_dim, self.plan.rows[row].unit_bytes)
        place = self._layout.units_at[row]
        self._slot[place : place + alive.numel()] = alive.numpy().data
        self._flags |= HAS_UNITS
        return alive.numel()

    def _put_remote_units(self, row: int, tensor: Tensor, unit_dim: int) -> None:
        slot, place = self._slot, self._layout.units_at[row]
        head = self._layout.rows_at + row * ROW_TYPE.itemsize

        def put(host: Tensor) -> None:
            slot[place : place + host.numel()] = host.numpy().data
            NUM_UNITS.pack_into(slot, head + NUM_UNITS_AT, host.numel())

        if self._transfers is not None:
            self._transfers.add(units_of(tensor, unit_dim, self.plan.rows[row].unit_bytes), put)
            self._flags |= HAS_UNITS

    def _put_from_afar(self, row: int, pieces: Pieces, tensor: Tensor, unit_dim: int | None) -> None:
        numbers = real_numbers(tensor)
        sample = sample_of(pieces, numbers, self._shift % pieces.room)
        parts = sample, self._excerpt_source(pieces, tensor), numbers
        self._put_remote(row, pieces, tensor.dtype, parts)
        if unit_dim is not None and pieces.num_elements and self._with_units:
            self._put_remote_units(row, numbers, unit_dim)

    def _put_remote(
        self,
        row: int,
        pieces: Pieces,
        dtype: torch.dtype,
        parts: tuple[Tensor, Tensor | None, Tensor | None],
    ) -> None:
        """From another device: it is copied when the device comes to it, and nobody waits."""
        sample, excerpt, numbers = parts
        if self._transfers is None:
            self._transfers = Transfers()
        # When it comes, what is staged is that of a later frame: so it goes straight into the slot.
        place = self._layout.samples_at + 4 * row * self._layout.num_sampled
        sample_target = _looking_at(self._slot, torch.float32, sample.shape, place)
        self._transfers.add(sample.to(torch.float32), sample_target.copy_)
        if excerpt is not None:
            self._transfers.add(excerpt, self._excerpt_target(row, pieces, dtype).copy_)
        self._staged.put_head(row, pieces, None, 0)
        if numbers is not None and pieces.needs_figures:
            place, slot = self._layout.rows_at + row * ROW_TYPE.itemsize, self._slot
            self._transfers.add_figures(
                flat_view(numbers), lambda whole: write_head(slot, place, pieces, whole)
            )


def _copy_all(copies: list[tuple[Tensor, Tensor]]) -> None:
    if copies:
        torch._foreach_copy_([target for target, _ in copies], [source for _, source in copies])


def _looking_at(slot: memoryview, dtype: torch.dtype, shape: Sequence[int], place: int) -> Tensor:
    count = math.prod(shape)
    if not count:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(slot, dtype=dtype, count=count, offset=place).view(shape)


# --- staging --------------------------------------------------------------------------------------------


_NO_MOMENTS = Moments(0.0, 0.0, 0.0, 0.0)


class Staged:
    """What of one frame is there so far."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._heads = bytearray(layout.num_rows * ROW_TYPE.itemsize)
        self._no_heads = bytes(self._heads)
        # In inference mode it would become a tensor that nobody can write into afterwards.
        with torch.inference_mode(False):
            self._samples = torch.zeros((layout.num_rows, layout.num_sampled), device="cpu")
        self._array = self._samples.numpy()
        self._flags = numpy.frombuffer(self._heads, ROW_TYPE)["flags"]

    def begin(self) -> None:
        self._heads[:] = self._no_heads

    def sample_target(self, row: int, pieces: Pieces) -> Tensor:
        """Where the sample of a row goes, in the shape that it has."""
        target: Tensor | None = pieces.sample_target
        if target is None:
            shape = pieces.shape if pieces.is_whole else pieces.run_shape
            with torch.inference_mode(False):
                target = pieces.sample_target = self._samples[row, : pieces.num_sampled].view(shape)
        return target

    def clear_head(self, row: int) -> None:
        self._heads[row * ROW_TYPE.itemsize] = 0  # the flags

    def put_head(
        self, row: int, pieces: Pieces, whole: Whole | None, num_units: int = 0, flags: int = 0
    ) -> None:
        write_head(self._heads, row * ROW_TYPE.itemsize, pieces, whole, num_units, flags)

    def rows_seen(self) -> bytes:
        """A bit for each row."""
        return numpy.packbits(self._flags & IS_SEEN).tobytes()

    def copy_into(self, slot: memoryview) -> None:
        layout = self._layout
        slot[layout.rows_at : layout.rows_at + len(self._heads)] = self._heads
        numpy.frombuffer(slot, "<f4", self._array.size, layout.samples_at)[:] = self._array.reshape(-1)


def write_head(
    memory: bytearray | memoryview,
    place: int,
    pieces: Pieces,
    whole: Whole | None,
    num_units: int = 0,
    flags: int = 0,
) -> None:
    """The head of a row. `whole` is what is known of the whole tensor; the child samples the rest."""
    memory[place : place + FIGURES_AT] = pieces.head
    if whole is None:
        memory[place] |= flags
        FIGURES.pack_into(memory, place + FIGURES_AT, 0.0, *_NO_MOMENTS, 0, 0, num_units)
        return
    memory[place] |= flags | _flags_of(whole)
    moments, others = whole.moments or _NO_MOMENTS, (whole.num_nan, whole.num_inf)
    FIGURES.pack_into(memory, place + FIGURES_AT, whole.norm, *moments, *others, num_units)
    if whole.order is not None:
        zeros, saturated, quantiles = whole.order
        ORDER.pack_into(memory, place + ORDER_AT, zeros, saturated, *quantiles)


def _flags_of(whole: Whole) -> int:
    return (
        HAS_NORM
        | (HAS_POSITIVE_INF if whole.has_positive_inf else 0)
        | (0 if whole.moments is None else HAS_MOMENTS)
        | (0 if whole.order is None else HAS_ORDER)
    )


# --- tensors that stay where they are -------------------------------------------------------------------


SHORT = frozenset({torch.float32, torch.float16, torch.bfloat16})  # whose numbers are as good as float32
_ORDINARY = (Tensor, torch.nn.Parameter)


@dataclass(slots=True, kw_only=True)
class KnownTensor:
    """A tensor, where it was found, and views of what is taken of it."""

    tensor: Tensor
    data_ptr: int
    shape: torch.Size
    stride: tuple[int, ...]
    numbers: Tensor
    flat: Tensor  # the same in one line
    pieces: Pieces
    sample: Tensor
    before: Before | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Room for a tensor as it was before an update, in float32, and then for what the update changed."""

    flat: Tensor
    numbers: Tensor  # the same in the shape of the tensor
    sample: Tensor  # the same places as in the sample of the tensor


class KnownTensors:
    """What is known of the tensors of some rows."""

    def __init__(self) -> None:
        self._known: dict[int, KnownTensor] = {}

    def find(self, row: int, tensor: Tensor) -> KnownTensor | None:
        """What is known of the tensor of a row, where it is still the same, at the same place."""
        ready = self._known.get(row)
        # The views hold the memory that they look into: so nothing else can have come to this place.
        is_same = (
            ready is not None
            and ready.tensor is tensor
            and ready.data_ptr == tensor.data_ptr()
            and ready.shape == tensor.shape
            and ready.stride == tensor.stride()
        )
        return ready if is_same else None

    def keep(self, row: int, tensor: Tensor, numbers: Tensor, pieces: Pieces) -> KnownTensor | None:
        """None where it is no ordinary tensor. `numbers` are its own, and lie without gaps."""
        self._known.pop(row, None)
        if type(tensor) not in _ORDINARY or not numbers.is_cpu or numbers.dtype not in SHORT:
            return None
        if numbers.data_ptr() != tensor.data_ptr():  # they were copied
            return None
        numbers = numbers.detach()  # it may be asked for a gradient later
        ready = self._known[row] = KnownTensor(
            tensor=tensor,
            data_ptr=tensor.data_ptr(),
            shape=tensor.shape,
            stride=tensor.stride(),
            numbers=numbers,
            flat=flat_view(numbers),
            pieces=pieces,
            sample=sample_of(pieces, numbers, 0),
        )
        return ready


def room_before(ready: KnownTensor) -> Before:
    # In inference mode it would become a tensor that nobody can write into afterwards.
    with torch.inference_mode(False):
        flat = torch.empty(ready.flat.shape, dtype=torch.float32)
        numbers = flat.as_strided(ready.numbers.shape, ready.numbers.stride())
        return Before(flat=flat, numbers=numbers, sample=sample_of(ready.pieces, numbers, 0))


def sample_of(pieces: Pieces, numbers: Tensor, shift: int) -> Tensor:
    """All of a tensor that lies without gaps, or values from everywhere in it."""
    if pieces.is_whole:
        return numbers
    return numbers.as_strided(pieces.run_shape, pieces.run_stride, numbers.storage_offset() + shift)


# --- copies from another device -------------------------------------------------------------------------


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
            put(Whole(norm, num_nan, num_inf, num_positive > 0, Moments(*moments)))

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
