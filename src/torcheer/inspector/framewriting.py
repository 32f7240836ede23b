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

import numpy
import torch
from torch import Tensor

from torcheer.inspector.devices import Transfers
from torcheer.inspector.exact import Exact, exact_figures
from torcheer.inspector.frames import (
    FIGURES,
    FIGURES_AT,
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
from torcheer.inspector.tensornumbers import fine_dtype, flat_view, plain, real_numbers, units_of

_DTYPE_NAMES = {
    dtype: str(dtype).removeprefix("torch.")
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}
_NO_FIGURES = Exact(0.0, 0.0, 0.0, 0.0, 0, 0)
_SHORT = (torch.float32, torch.float16, torch.bfloat16)  # whose numbers are as good as float32
_MOST_SHAPES = 8  # of a row, that are remembered
_SMALL_ELEMENTS = 1 << 16  # activations up to here are looked at unit by unit each time
_UNIT_SECONDS = 0.5  # between two looks at the units of larger ones


class Taken(NamedTuple):
    """What of a parameter was there before the optimizer changed it."""

    sample: Tensor
    excerpt: Tensor | None


class FrameWriter:
    """Writes the frames of one plan into its ring, one at a time."""

    def __init__(self, ring: Ring, plan: Plan, uncut: Collection[int] = ()) -> None:
        """Rows in `uncut` have a whole excerpt or none."""
        self.ring, self.plan = ring, plan
        self._uncut = uncut
        self.wanted_bytes: dict[int, int] = {}  # rows whose excerpts would not fit
        self._layout = Layout(plan)
        self._pieces: list[dict[Any, Pieces]] = [{} for _ in plan.rows]  # by shape, layout and dtype
        self._number: int | None = None  # of the slot that is being filled
        self._slot = memoryview(b"")
        self._which = 0
        self._flags = self._step = 0
        self._with_excerpts = self._with_units = False
        self._shift = 0
        self._units_at = 0.0
        self._parts = Parts(len(plan.rows), plan.sample_elements // RUN)
        self._transfers: Transfers | None = None
        self._pending: deque[Transfers] = deque()  # frames that are complete but for what is on its way
        self._no_rows = bytes(self._layout.samples_at - self._layout.rows_at)

    @property
    def has_room(self) -> bool:
        num_waiting = self.ring.num_filled + len(self._pending) - self.ring.num_given_back
        return num_waiting < self.ring.num_slots

    @property
    def num_pending(self) -> int:
        return len(self._pending)

    @property
    def is_open(self) -> bool:
        return self._number is not None

    def begin(self, step: int, *, with_excerpts: bool) -> bool:
        """Take the next slot. False: the ring is full."""
        if not self.has_room:
            return False
        self._number = number = self.ring.num_filled + len(self._pending)
        self._which = number % self.ring.num_slots
        self._slot = self.ring.slot(number)
        self._slot[self._layout.rows_at : self._layout.samples_at] = self._no_rows
        self._parts.forget()
        self._step, self._with_excerpts = step, with_excerpts
        self._flags = HAS_EXCERPTS if with_excerpts else 0
        self._shift = number * 7919  # over many frames, samples come from everywhere
        now = time.monotonic()
        self._with_units = now - self._units_at >= _UNIT_SECONDS
        if self._with_units:
            self._units_at = now
        return True

    def abandon(self) -> None:
        self._number = self._transfers = None
        self._parts.forget()

    def finish(self) -> None:
        """Hand the frame to the child, as soon as all of it has come from wherever it is."""
        self._put_parts()
        FRAME.pack_into(self._slot, 0, self._number, self._step, time.time(), self._flags)
        self._number = None
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
        tensor, pieces = self._dense(row, tensor)
        if tensor.device.type != "cpu":
            self._put_from_afar(row, pieces, tensor, unit_dim)
            return
        self._clear_head(row)  # of an earlier call: where this one fails, nothing is better than half of it
        num_units = 0
        if unit_dim is not None and pieces.num_elements and self._looks_at_units(pieces):
            num_units = self._put_units(row, real_numbers(tensor), unit_dim)
        self._put_values(row, pieces, tensor, self._shift, num_units)

    def _looks_at_units(self, pieces: Pieces) -> bool:
        return self._with_units or pieces.num_elements <= _SMALL_ELEMENTS

    def _put_values(self, row: int, pieces: Pieces, tensor: Tensor, shift: int, num_units: int = 0) -> None:
        """The sample, the excerpt and the figures of a tensor."""
        shift %= pieces.room
        excerpt = self._excerpt_source(pieces, tensor)
        if excerpt is not None:
            self._targets(row, pieces, tensor.dtype)[1].copy_(excerpt)
        if pieces.is_part and tensor.dtype in _SHORT:
            offset = tensor.storage_offset() + shift
            part = tensor.as_strided(pieces.part_shape, pieces.run_stride, offset)
            self._parts.take(row, part, (pieces, num_units))  # all that follows is done once, for all rows
            return
        numbers = real_numbers(tensor)
        sample_target, _ = self._targets(row, pieces, tensor.dtype)
        sample_target.copy_(self._sample(pieces, numbers, shift))
        figures = exact_figures(flat_view(numbers)) if pieces.needs_figures else None
        self._put_head(row, pieces, figures, num_units)

    def _put_parts(self) -> None:
        """The samples and figures of all tensors of which a part was taken."""
        found = self._parts.found()
        if found is None:
            return
        samples = numpy.frombuffer(
            self._slot, "<f4", self._layout.num_rows * self._layout.num_sampled, self._layout.samples_at
        ).reshape(self._layout.num_rows, -1)
        samples[found.rows] = found.samples.numpy()
        for row, (pieces, num_units), figures in zip(
            found.rows,
            found.notes,
            found.figures([pieces.num_elements for pieces, _ in found.notes]),
            strict=True,
        ):
            self._put_head(row, pieces, figures, num_units)

    def put_many(
        self,
        found: Sequence[tuple[int, Tensor]],
        report: Callable[[Exception, int], None],
        *,
        exact: bool,
    ) -> None:
        """Several at once, which is faster; `exact` figures of the large ones, or samples alone."""
        copies: list[tuple[Tensor, Tensor]] = []
        heads: list[tuple[int, Pieces]] = []
        for row, tensor in found:
            try:
                self._prepare(row, tensor, exact, copies, heads)
            except Exception as error:
                report(error, row)
        if copies:
            torch._foreach_copy_([target for target, _ in copies], [source for _, source in copies])
        for row, pieces in heads:
            self._put_head(row, pieces, None, 0)

    def _prepare(
        self,
        row: int,
        tensor: Tensor,
        exact: bool,
        copies: list[tuple[Tensor, Tensor]],
        heads: list[tuple[int, Pieces]],
    ) -> None:
        tensor, pieces = self._dense(row, tensor)
        if tensor.device.type != "cpu":
            self.put(row, tensor)
            return
        if pieces.needs_figures and (exact or pieces.is_whole):
            self._put_values(row, pieces, tensor, 0)
            return
        numbers = real_numbers(tensor)
        sample_target, excerpt_target = self._targets(row, pieces, tensor.dtype)
        of_row = [(sample_target, self._sample(pieces, numbers, 0))]
        excerpt = self._excerpt_source(pieces, tensor)
        if excerpt is not None:
            of_row.append((excerpt_target, excerpt))
        heads.append((row, pieces))
        copies.extend(of_row)

    def take(self, row: int, tensor: Tensor) -> Taken:
        """What `put_change` needs of a tensor that is about to change."""
        tensor, pieces = self._dense(row, tensor)
        sample = self._sample(pieces, tensor, 0).to(fine_dtype(tensor.dtype), copy=True)
        excerpt = self._excerpt_source(pieces, tensor)
        return Taken(sample, None if excerpt is None else excerpt.clone())

    def put_change(self, row: int, before: Taken, tensor: Tensor) -> None:
        """What changed since `take`, of a row with the same shape."""
        tensor, pieces = self._dense(row, tensor)
        change = self._sample(pieces, tensor, 0).to(fine_dtype(tensor.dtype)) - before.sample
        change = change.abs() if change.is_complex() else change
        excerpt = self._excerpt_source(pieces, tensor)
        if excerpt is not None:
            excerpt = None if before.excerpt is None else excerpt - before.excerpt
        if tensor.device.type != "cpu":
            self._put_remote(row, pieces, tensor.dtype, (change, excerpt, None))
            return
        sample_target, excerpt_target = self._targets(row, pieces, tensor.dtype)
        sample_target.copy_(change)
        if excerpt is not None:
            excerpt_target.copy_(excerpt)
        self._put_head(row, pieces, None, 0)

    # --- pieces -------------------------------------------------------------------------------------

    def _dense(self, row: int, tensor: Tensor) -> tuple[Tensor, Pieces]:
        """The numbers of a tensor without gaps between them, and how to take them."""
        tensor = plain(tensor)
        pieces = self._pieces_of(row, tensor)
        if not pieces.is_dense:  # a slice, or one number that stands for many
            tensor = tensor.contiguous()
            pieces = self._pieces_of(row, tensor)
        return tensor, pieces

    def _pieces_of(self, row: int, tensor: Tensor) -> Pieces:
        known_pieces = self._pieces[row]
        key = (tensor.shape, tensor.stride(), tensor.dtype)
        pieces = known_pieces.get(key)
        if pieces is None:
            if len(known_pieces) >= _MOST_SHAPES:
                known_pieces.clear()
            known = self.plan.rows[row]
            outline = Outline(
                shape=tuple(tensor.shape),
                stride=tuple(tensor.stride()),
                dtype=_DTYPE_NAMES[tensor.dtype],
                item_bytes=tensor.element_size(),
            )
            num_bytes = tensor.numel() * tensor.element_size()
            is_too_large = num_bytes > known.excerpt_bytes and row in self._uncut
            excerpt_bytes = 0 if is_too_large else known.excerpt_bytes
            pieces = known_pieces[key] = pieces_of(
                outline, known.role, self.plan.sample_elements, excerpt_bytes
            )
        if pieces.excerpt_bytes > self.plan.rows[row].excerpt_bytes:
            self.wanted_bytes[row] = max(self.wanted_bytes.get(row, 0), pieces.excerpt_bytes)
        return pieces

    def _sample(self, pieces: Pieces, tensor: Tensor, shift: int) -> Tensor:
        if pieces.is_whole:
            return tensor
        return tensor.as_strided(pieces.run_shape, pieces.run_stride, tensor.storage_offset() + shift)

    def _excerpt_source(self, pieces: Pieces, tensor: Tensor) -> Tensor | None:
        if not self._with_excerpts or pieces.excerpt_shape is None:
            return None
        return tensor.as_strided(pieces.excerpt_shape, pieces.excerpt_stride, tensor.storage_offset())

    def _targets(self, row: int, pieces: Pieces, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        targets: tuple[Tensor, Tensor] | None = pieces.targets.get(self._which)
        if targets is None:
            # In inference mode it would become a tensor that nobody can write into afterwards.
            with torch.inference_mode(False) if torch.is_inference_mode_enabled() else nullcontext():
                targets = pieces.targets[self._which] = self._new_targets(row, pieces, dtype)
        return targets

    def _new_targets(self, row: int, pieces: Pieces, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        place = self._layout.samples_at + 4 * row * self._layout.num_sampled
        sample = _looking_at(self._slot, torch.float32, pieces.num_sampled, place)
        shape = pieces.shape if pieces.is_whole else pieces.run_shape
        excerpt = sample
        if pieces.excerpt_shape is not None:
            count = math.prod(pieces.excerpt_shape)
            excerpt = _looking_at(self._slot, dtype, count, self._layout.excerpts_at[row])
            excerpt = excerpt.view(pieces.excerpt_shape)
        return sample.view(shape), excerpt

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

    def _clear_head(self, row: int) -> None:
        self._slot[self._layout.rows_at + row * ROW_TYPE.itemsize] = 0  # the flags

    def _put_head(self, row: int, pieces: Pieces, figures: Exact | None, num_units: int) -> None:
        place = self._layout.rows_at + row * ROW_TYPE.itemsize
        self._slot[place : place + FIGURES_AT] = pieces.head if figures is None else pieces.head_of_all
        FIGURES.pack_into(self._slot, place + FIGURES_AT, *(figures or _NO_FIGURES), num_units)

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
        sample_target, excerpt_target = self._targets(row, pieces, dtype)
        self._transfers.add(sample.to(torch.float32), sample_target.copy_)
        if excerpt is not None:
            self._transfers.add(excerpt, excerpt_target.copy_)
        self._put_head(row, pieces, None, 0)
        if numbers is not None and pieces.needs_figures:
            place, slot = self._layout.rows_at + row * ROW_TYPE.itemsize, self._slot
            self._transfers.add_figures(flat_view(numbers), (slot, place, pieces.head_of_all))


def _looking_at(slot: memoryview, dtype: torch.dtype, count: int, place: int) -> Tensor:
    if not count:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(slot, dtype=dtype, count=count, offset=place)
