"""Decide, while the model runs, which values are kept and where the pass may end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torcheer.capture.layer_numbers import Numbering
from torcheer.capture.model_walk import Selection
from torcheer.capture.module_scopes import muted
from torcheer.capture.tape import Tape

if TYPE_CHECKING:
    from torcheer.capture.forward_pass import ValueTreatment


class StopPass(BaseException):
    """Leaves the model once the last wanted layer is there. No `except Exception` of a model catches it."""


class Saver:
    """Told of each op as it is recorded; keeps what is wanted and ends the pass where asked."""

    def __init__(
        self,
        tape: Tape,
        numbering: Numbering,
        save: Selection,
        stop: Selection,
        treatment: ValueTreatment,
        keep_arguments: bool,
        view: Callable[[int], Any],
    ) -> None:
        self._tape = tape
        self._numbering = numbering
        self._save = save
        self._stop = stop
        self._treatment = treatment
        self._keep_arguments = keep_arguments
        self._view = view
        self._needs_labels = save.needs_labels or stop.needs_labels
        self._awaited = set(stop.awaited)
        self.treated: dict[int, Any] = {}
        self.saved: set[int] = set()
        self._chosen: set[int] = set()
        self._undecided: set[int] = set()
        self._by_module: set[int] = set()
        self.stopped_at: int | None = None

    def on_commit(self, index: int, tensor: Tensor) -> None:
        names: tuple[str, ...] = ()
        if self._needs_labels:
            self._numbering.follow()
            names = self._numbering.names_of(index)
        uncertain = self._needs_labels and not self._numbering.is_certain
        if self._is_wanted(self._save, index, names):
            self._chosen.add(index)
            self.save(index, tensor)
        elif uncertain and (self._save.may_match(names) or self._stop.may_match(names)):
            self._undecided.add(index)
            self.save(index, tensor)
        elif self._save.num_last:
            self.save(index, tensor)
            self._let_go(index - self._save.num_last)
        if not self._stop.is_empty:
            self._end_if_there(index, tensor, names)

    def on_module_exit(self, address: str, pass_num: int, outputs: Iterable[tuple[int, Tensor]]) -> None:
        names = {address, f"{address}:{pass_num}"}
        wanted = not self._save.addresses.isdisjoint(names)
        ends = not self._stop.addresses.isdisjoint(names)
        for index, tensor in outputs if wanted or ends else ():
            self._chosen.add(index)
            self._by_module.add(index)
            if index not in self.saved:
                self.save(index, tensor)
        if ends or self._was_last_awaited(*names):
            self._end_at_module(outputs)

    def save(self, index: int, tensor: Tensor) -> None:
        self.saved.add(index)
        if self._keep_arguments:
            self._save_arguments(index)
        if self._treatment.changes_values:
            self._treat(index, tensor)
        elif self._treatment.detach:
            self._tape.keep(index, tensor.detach())
        else:
            self._tape.keep(index, tensor)

    def _treat(self, index: int, tensor: Tensor) -> None:
        try:
            with muted(), torch.set_grad_enabled(torch.is_grad_enabled() and not self._treatment.detach):
                self.treated[index] = self._treatment.apply(tensor)
        except Exception as error:
            kind, shape = self._tape.records[index].trait.type, tuple(tensor.shape)
            error.add_note(
                f"torcheer: raised by activation_postfunc on the output of a {kind}, shape {shape}"
            )
            raise

    def _save_arguments(self, index: int) -> None:
        for parent in self._tape.records[index].parents:
            tensor = self._tape.memory.live(parent)
            # An in-place op has written over its own input: the tensor is another op's by now.
            is_unchanged = tensor is not None and self._tape.owner.get(id(tensor)) == parent
            if parent >= 0 and tensor is not None and is_unchanged and self._tape.values[parent] is None:
                self._tape.keep(parent, tensor.detach() if self._treatment.detach else tensor)

    def _is_wanted(self, selection: Selection, index: int, names: tuple[str, ...]) -> bool:
        if selection.everything:
            return True
        if selection.predicate is not None:
            with muted():
                return bool(selection.predicate(self._view(index)))
        return selection.matches(index, names, self._tape.addresses.get(index))

    def save_again(self, index: int, tensor: Tensor) -> None:
        """Another tensor goes on in the place of one that was saved."""
        if index in self.saved:
            self.save(index, tensor)

    def settle(self) -> None:
        """After the pass, when all labels are certain: keep what they mean, drop what was only possible."""
        if not self._needs_labels:
            return
        self._numbering.finish()
        names_of, addresses = self._numbering.names_of, self._tape.addresses
        by_label = {op for op in self.saved if self._save.matches(op, names_of(op), addresses.get(op))}
        sure = self._chosen if self._save.predicate else self._chosen & (by_label | self._by_module)
        num_first = len(self._tape.records) - self._save.num_last
        last = {self.stopped_at, *(op for op in self.saved if op >= num_first)}
        for op in self.saved - sure - by_label - last:
            self._drop(op)

    def _let_go(self, old: int) -> None:
        """Negative indices: only the last few ops are held until the end is known."""
        if old in self.saved and old not in self._chosen and old not in self._undecided:
            self._drop(old)

    def _drop(self, op: int) -> None:
        self.saved.discard(op)
        self.treated.pop(op, None)
        self._tape.drop(op)

    def _was_last_awaited(self, *there: int | str) -> bool:
        """Whether nothing is left to wait for, now that these have been there."""
        if self._awaited.isdisjoint(there):
            return False
        self._awaited.difference_update(there)
        return not self._awaited

    def _end_if_there(self, index: int, tensor: Tensor, names: tuple[str, ...]) -> None:
        if self._was_last_awaited(index):
            self._end(index, tensor)
        if not self._stop.labels or self._numbering.is_certain:
            if self._is_wanted(self._stop, index, names):
                self._end(index, tensor)
        elif self._stop.may_match(names):
            # Loops are being recognised: which layer this is may only be clear now, a little later.
            now = self._numbering.as_of_now()
            for op in range(index, -1, -1):
                if self._stop.matches(op, now.names_of(op)):
                    self.stopped_at = op
                    raise StopPass

    def _end(self, index: int, tensor: Tensor) -> None:
        if index not in self.saved:
            self.save(index, tensor)
        self.stopped_at = index
        raise StopPass

    def _end_at_module(self, outputs: Iterable[tuple[int, Tensor]]) -> None:
        self.stopped_at = max((index for index, _ in outputs), default=None)
        raise StopPass
