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
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torcheer.inspector.devices import Transfers
from torcheer.inspector.exact import exact_figures
from torcheer.inspector.frames import (
    FRAME,
    HAS_EXCERPTS,
    HAS_UNITS,
    NUM_UNITS,
    NUM_UNITS_AT,
    ROW_TYPE,
    Layout,
)
from torcheer.inspector.parts import Parts
from torcheer.inspector.pieces import RUN, Outline, Pieces, pieces_of
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan
from torcheer.inspector.staging import Staged
from torcheer.inspector.steady import SHORT, Ready, Steady
from torcheer.inspector.tensornumbers import fine_dtype, flat_view, plain, real_numbers, units_of

_DTYPE_NAMES = {
    dtype: str(dtype).removeprefix("torch.")
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}
_MOST_SHAPES = 8  # of a row, that are remembered
_SMALL_ELEMENTS = 1 << 16  # activations up to here are looked at unit by unit each time
_UNIT_SECONDS = 2.0  # between two looks at the units of larger ones
_STEADY = frozenset({"weight", "update", "state", "tensor"})  # roles of tensors that stay where they are
ReportRow = Callable[[Exception, int], None]


class Taken(NamedTuple):
    """What of a parameter was there before the optimizer changed it."""

    sample: Tensor
    excerpt: Tensor | None
    ready: Ready | None = None  # where the sample is in the room that is kept for it


class FrameWriter:
    """Writes the frames of one plan into its ring, one at a time."""

    def __init__(self, ring: Ring, plan: Plan, uncut: Collection[int] = ()) -> None:
        """Rows in `uncut` have a whole excerpt or none."""
        self.ring, self.plan = ring, plan
        self._uncut = uncut
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
        self._parts = Parts(len(plan.rows), plan.sample_elements // RUN)
        self._transfers: Transfers | None = None
        self._pending: deque[Transfers] = deque()  # frames that are complete but for what is on its way
        self._staged = Staged(self._layout)
        self._steady = Steady()

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
        self._parts.forget_all()
        self._step, self._with_excerpts = step, with_excerpts
        self._flags = HAS_EXCERPTS if with_excerpts else 0
        self._shift = number * 7919  # over many frames, samples come from everywhere
        now = time.monotonic()
        self._with_units = now - self._units_at >= _UNIT_SECONDS
        if self._with_units:
            self._units_at = now
        self.is_open = True
        return True

    def abandon(self) -> None:
        self.is_open, self._transfers = False, None
        self._parts.forget_all()

    def finish(self) -> None:
        """Hand the frame to the child, as soon as all of it has come from wherever it is."""
        self._put_parts()
        self._staged.copy_into(self._slot)
        FRAME.pack_into(self._slot, 0, self._number, self._step, time.time(), self._flags)
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
            num_units = 0
            if unit_dim is not None and pieces.num_elements and self._looks_at_units(pieces):
                num_units = self._put_units(row, real_numbers(tensor), unit_dim)
            self._put_values(row, pieces, tensor, self._shift, num_units)
        except BaseException:
            # Of an earlier call in this step there may be something: nothing is better than half of it.
            self._parts.forget(row)
            self._staged.clear_head(row)
            raise

    def _looks_at_units(self, pieces: Pieces) -> bool:
        return self._with_units or pieces.num_elements <= _SMALL_ELEMENTS

    def _put_values(self, row: int, pieces: Pieces, tensor: Tensor, shift: int, num_units: int = 0) -> None:
        """The sample, the excerpt and the figures of a tensor."""
        shift %= pieces.room
        if self._with_excerpts and (excerpt := self._excerpt_source(pieces, tensor)) is not None:
            self._excerpt_target(row, pieces, tensor.dtype).copy_(excerpt)
        if pieces.is_part and tensor.dtype in SHORT:
            offset = tensor.storage_offset() + shift
            part = tensor.as_strided(pieces.part_shape, pieces.run_stride, offset)
            self._parts.place_of(row, (pieces, num_units)).copy_(part)  # the rest is done once, for all rows
            return
        self._parts.forget(row)  # of an earlier call in this step, with another shape
        numbers = real_numbers(tensor)
        self._staged.sample_target(row, pieces).copy_(self._sample(pieces, numbers, shift))
        figures = exact_figures(flat_view(numbers)) if pieces.needs_figures else None
        self._staged.put_head(row, pieces, figures, num_units)

    def _put_parts(self) -> None:
        """The samples and figures of all tensors of which a part was taken."""
        found = self._parts.found()
        if found is None:
            return
        self._staged.put_samples(found.rows, found.samples)
        for row, (pieces, num_units), figures in zip(
            found.rows,
            found.notes,
            found.figures([pieces.num_elements for pieces, _ in found.notes]),
            strict=True,
        ):
            self._staged.put_head(row, pieces, figures, num_units)

    def put_many(self, found: Sequence[tuple[int, Tensor]], report: ReportRow, *, exact: bool) -> None:
        """Several at once, which is faster; `exact` figures of the large ones, or samples alone."""
        copies: list[tuple[Tensor, Tensor]] = []
        heads: list[tuple[int, Pieces]] = []
        for row, tensor in found:
            try:
                self._prepare(row, tensor, exact, copies, heads)
            except Exception as error:
                report(error, row)
        _copy_all(copies)
        for row, pieces in heads:
            self._staged.put_head(row, pieces, None, 0)

    def _prepare(
        self,
        row: int,
        tensor: Tensor,
        exact: bool,
        copies: list[tuple[Tensor, Tensor]],
        heads: list[tuple[int, Pieces]],
    ) -> None:
        is_steady = self.plan.rows[row].role in _STEADY
        ready = self._ready_of(row, tensor) if is_steady else None
        numbers, pieces = self._dense(row, tensor) if ready is None else (ready.numbers, ready.pieces)
        if not numbers.is_cpu:
            self.put(row, numbers)
            return
        of_row = []
        if self._with_excerpts and (excerpt := self._excerpt_source(pieces, numbers)) is not None:
            of_row.append((self._excerpt_target(row, pieces, numbers.dtype), excerpt))
        if exact and ready is not None and ready.part is not None:
            of_row.append((self._parts.place_of(row, (pieces, 0)), ready.part))
        elif pieces.needs_figures and (exact or pieces.is_whole):
            self._put_values(row, pieces, numbers, 0)
            return
        else:
            sample = self._sample(pieces, real_numbers(numbers), 0) if ready is None else ready.sample
            of_row.append((self._staged.sample_target(row, pieces), sample))
            heads.append((row, pieces))
        copies.extend(of_row)

    def take(self, found: Sequence[tuple[int, Tensor]], report: ReportRow) -> dict[int, Taken]:
        """What `put_changes` needs of tensors that are about to change."""
        taken: dict[int, Taken] = {}
        copies: list[tuple[Tensor, Tensor]] = []
        for row, tensor in found:
            try:
                # The change of an excerpt is rarely asked for.
                ready = None if self._with_excerpts else self._ready_of(row, tensor)
                if ready is None:
                    taken[row] = self._taken(row, tensor)
                else:
                    if ready.before is None:
                        ready.before = torch.empty(ready.sample.shape, dtype=torch.float32)
                    copies.append((ready.before, ready.sample))
                    taken[row] = Taken(ready.before, None, ready)
            except Exception as error:
                report(error, row)
        _copy_all(copies)
        return taken

    def _taken(self, row: int, tensor: Tensor) -> Taken:
        tensor, pieces = self._dense(row, tensor)
        sample = self._sample(pieces, tensor, 0).to(fine_dtype(tensor.dtype), copy=True)
        excerpt = self._excerpt_source(pieces, tensor)
        return Taken(sample, None if excerpt is None else excerpt.clone())

    def put_changes(self, found: Sequence[tuple[int, Taken, Tensor]], report: ReportRow) -> int:
        """What changed since `take`, of rows with the same shapes. Gives how many there were."""
        steady: list[tuple[int, Ready]] = []
        befores: list[Tensor] = []
        num_failed = 0
        for row, before, tensor in found:
            try:
                if before.ready is not None and before.ready is self._ready_of(row, tensor):
                    steady.append((row, before.ready))
                    befores.append(before.sample)
                else:
                    self._put_change(row, before, tensor)
            except Exception as error:
                num_failed += 1
                report(error, row)
        if steady:
            targets = [self._staged.sample_target(row, ready.pieces) for row, ready in steady]
            torch._foreach_copy_(targets, [ready.sample for _, ready in steady])
            torch._foreach_sub_(targets, befores)
            for row, ready in steady:
                self._staged.put_head(row, ready.pieces, None, 0)
        return len(found) - num_failed

    def _put_change(self, row: int, before: Taken, tensor: Tensor) -> None:
        tensor, pieces = self._dense(row, tensor)
        change = self._sample(pieces, tensor, 0).to(fine_dtype(tensor.dtype)) - before.sample
        change = change.abs() if change.is_complex() else change
        excerpt = self._excerpt_source(pieces, tensor)
        if excerpt is not None:
            excerpt = None if before.excerpt is None else excerpt - before.excerpt
        if not tensor.is_cpu:
            self._put_remote(row, pieces, tensor.dtype, (change, excerpt, None))
            return
        self._staged.sample_target(row, pieces).copy_(change)
        if excerpt is not None:
            self._excerpt_target(row, pieces, tensor.dtype).copy_(excerpt)
        self._staged.put_head(row, pieces, None, 0)

    # --- pieces -------------------------------------------------------------------------------------

    def _dense(self, row: int, tensor: Tensor) -> tuple[Tensor, Pieces]:
        """The numbers of a tensor without gaps between them, and how to take them."""
        tensor = plain(tensor)
        pieces = self._pieces_of(row, tensor)
        if not pieces.is_dense:  # a slice, or one number that stands for many
            tensor = tensor.contiguous()
            pieces = self._pieces_of(row, tensor)
        return tensor, pieces

    def _ready_of(self, row: int, tensor: Tensor) -> Ready | None:
        """How to look into a tensor that stays where it is; None where it is not an ordinary one."""
        ready = self._steady.find(row, tensor)
        if ready is None:
            return self._steady.keep(row, tensor, *self._dense(row, tensor))
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
        outline = Outline(
            shape=tuple(tensor.shape),
            stride=tuple(tensor.stride()),
            dtype=_DTYPE_NAMES[tensor.dtype],
            item_bytes=tensor.element_size(),
        )
        num_bytes = tensor.numel() * tensor.element_size()
        is_too_large = num_bytes > known.excerpt_bytes
        excerpt_bytes = 0 if is_too_large and row in self._uncut else known.excerpt_bytes
        pieces = pieces_of(outline, known.role, self.plan.sample_elements, excerpt_bytes)
        pieces.is_wanting = is_too_large
        return pieces

    def _sample(self, pieces: Pieces, tensor: Tensor, shift: int) -> Tensor:
        if pieces.is_whole:
            return tensor
        return tensor.as_strided(pieces.run_shape, pieces.run_stride, tensor.storage_offset() + shift)

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
        sample = self._sample(pieces, numbers, self._shift % pieces.room)
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
            self._transfers.add_figures(flat_view(numbers), (slot, place, pieces.head_of_all))


def _copy_all(copies: list[tuple[Tensor, Tensor]]) -> None:
    if copies:
        torch._foreach_copy_([target for target, _ in copies], [source for _, source in copies])


def _looking_at(slot: memoryview, dtype: torch.dtype, shape: Sequence[int], place: int) -> Tensor:
    count = math.prod(shape)
    if not count:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(slot, dtype=dtype, count=count, offset=place).view(shape)
