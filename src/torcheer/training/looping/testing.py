"""Test a model on the items of a test set, and say of each what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from torcheer.capture import Batch, detached, moved, split
from torcheer.errors import InputError
from torcheer.training.evaluations.answers import scores_in
from torcheer.training.looping.itemerrors import Judge, Judged
from torcheer.training.looping.layervalues import LayerValues
from torcheer.training.looping.quietly import as_it_was_after
from torcheer.training.looping.setup import Setup, Statistic
from torcheer.training.looping.tallies import Tally, each_of, seen
from torcheer.training.losses import loss_in
from torcheer.training.stepping import Stepper
from torcheer.training.telling import warn

OUTPUT: Final = "Output"
TARGET: Final = "Target"
_TAKEN: Final = frozenset((OUTPUT, TARGET, *"run epoch trial name target answer loss error".split()))
_MOST_UNITS: Final = 1 << 14  # of one cell: a picture of 128 × 128
_MOST_BYTES: Final = 16 << 20  # of the tensors of one test

Columns = dict[str, Any]  # each a list or a tensor, with an element for each item
Part = dict[str, Tensor]  # of one batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of a test: the items one by one, and what they come to."""

    columns: Columns
    figures: dict[str, float]
    num_items: int
    seconds: float
    is_whole: bool  # False where it was stopped before the end

    def rows(self) -> list[dict[str, Any]]:
        """A tensor of several numbers stays one."""
        return [
            {name: _cell(column[row]) for name, column in self.columns.items()}
            for row in range(self.num_items)
        ]


def _cell(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value


class Tester:
    """Tests one model, in the middle of its training, without a trace."""

    def __init__(self, setup: Setup, judge: Judge, stepper: Stepper) -> None:
        self._setup = setup
        self._judge = judge
        self._device = stepper.device
        self._autocast = stepper.autocast or nullcontext()
        self._layers = LayerValues(setup)
        self._left_out: set[str] = set()  # columns that were told to have no room, or no one shape

    def test(
        self,
        batches: Iterable[Any],
        first_item: int,
        after_batch: Callable[[], bool],
        look: Callable[[Batch], None] | None = None,
    ) -> Tested:
        """`after_batch` says whether to stop. `look` is shown the first batch, while the model is tested."""
        start = time.perf_counter()
        tally, parts = Tally.of(self._setup), list[Part]()
        first: Batch | None = None
        is_whole = True
        with as_it_was_after(self._setup), torch.no_grad():
            self._setup.model.eval()
            for given in batches:
                batch = self._taken(given)
                first = first or batch
                with self._autocast:
                    parts.append(self._columns(batch, tally))
                if after_batch():
                    is_whole = False
                    break
            if look is not None and first is not None and is_whole:
                look(first)
        columns = self._joined(parts)
        numbers = range(first_item, first_item + tally.num_items)
        names = self._setup.item_names
        described: Columns = {"trial": list(numbers)}
        if names is not None:
            described["name"] = [names[number] if number < len(names) else "" for number in numbers]
        return Tested(
            columns={**described, **columns},
            figures=tally.figures(),
            num_items=tally.num_items,
            seconds=time.perf_counter() - start,
            is_whole=is_whole,
        )

    def _taken(self, given: Any) -> Batch:
        inputs, targets, feed = split(given, whole=self._setup.loss is None)
        return Batch(moved(inputs, self._device), moved(targets, self._device), feed)

    def _columns(self, batch: Batch, tally: Tally) -> Part:
        setup, number = self._setup, batch.num_items
        outputs, layers = self._layers.run(batch)
        outputs = detached(outputs)
        loss = setup.loss(outputs, batch.targets) if setup.loss is not None else loss_in(outputs)
        found = seen(setup, self._judge, outputs, batch.targets, _one_number(loss), number)
        tally.add(found)
        judged = found.judged
        columns = _tensors(layers, scores_in(outputs), _shown_targets(judged, outputs, batch.targets), number)
        if judged.targets is not None and judged.answers is not None:
            columns |= {"target": judged.targets.cpu(), "answer": judged.answers.cpu()}
        columns |= self._each({} if setup.loss is None else {"loss": setup.loss}, outputs, batch)
        if setup.loss is None and number == 1:
            columns["loss"] = torch.tensor([found.loss], dtype=torch.float64)
        if judged.wrong is not None:
            columns["error"] = judged.wrong.long().cpu()
        return columns | self._each(setup.statistics, outputs, batch)

    def _each(self, functions: Mapping[str, Statistic], outputs: Any, batch: Batch) -> Part:
        """What functions of outputs and targets give for each item."""
        found = {
            name: each_of(function, outputs, batch.targets, batch.num_items)
            for name, function in functions.items()
        }
        return {name: column for name, column in found.items() if column is not None}

    # --- batches side by side ----------------------------------------------------------------------------

    def _joined(self, parts: list[Part]) -> Part:
        """Columns over all batches: those that all of them have, in one shape, as far as there is room."""
        if not parts:
            return {}
        joined: Part = {}
        room = _MOST_BYTES
        for name in _by_need(parts[0]):
            tensors = [part[name] for part in parts if name in part]
            if len(tensors) < len(parts) or len({one.shape[1:] for one in tensors}) > 1:
                self._leave_out(name, "is not of one shape over all batches")
                continue
            num_bytes = sum(one.numel() * one.element_size() for one in tensors)
            if tensors[0].ndim > 1 and num_bytes > room:
                self._leave_out(name, f"takes more than the {_MOST_BYTES >> 20} MB that a test may keep")
                continue
            room -= num_bytes if tensors[0].ndim > 1 else 0
            joined[name] = torch.cat(tensors)
        return {name: joined[name] for name in parts[0] if name in joined}

    def _leave_out(self, name: str, reason: str) -> None:
        if name not in self._left_out:
            self._left_out.add(name)
            warn(f"the column {name!r} of the test trials is left out: it {reason}.")


def _one_number(loss: Any) -> Tensor:
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        what = f"shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
        raise InputError(f"the loss of a test batch is {what}, and one number is wanted: take its mean.")
    return loss.detach().reshape(())


def _shown_targets(judged: Judged, outputs: Any, targets: Any) -> Any:
    """Of classes, as the outputs should have been: one at the class, zeros else."""
    scores = scores_in(outputs)
    if judged.targets is None or not isinstance(scores, Tensor) or scores.ndim != 2:
        return targets
    num_classes = scores.shape[1]
    if not num_classes or bool(((judged.targets < 0) | (judged.targets >= num_classes)).any()):
        return targets
    return one_hot(judged.targets.long(), num_classes).to(torch.uint8)


def _by_need(columns: Part) -> list[str]:
    """Numbers, then what the model gave and should have given, then layers, the smaller ones first."""

    def need(name: str) -> tuple[bool, bool, int]:
        column = columns[name]
        return column.ndim > 1, name not in (OUTPUT, TARGET), prod(column.shape[1:])

    return sorted(columns, key=need)


def _tensors(layers: dict[str, Tensor], outputs: Any, targets: Any, num_items: int) -> Part:
    """Cells with more than one number. A layer that is the output, bit by bit, is there once."""
    columns: Columns = {
        f"{name} (layer)" if name in _TAKEN else name: value
        for name, value in layers.items()
        if not _is_same(value, outputs)
    }
    columns |= {OUTPUT: outputs, TARGET: targets}
    return {
        name: value.detach().cpu()
        for name, value in columns.items()
        if isinstance(value, Tensor)
        and value.ndim > 1
        and len(value) == num_items
        and 0 < prod(value.shape[1:]) <= _MOST_UNITS
    }


def _is_same(value: Tensor, outputs: Any) -> bool:
    if not isinstance(outputs, Tensor) or value.shape != outputs.shape or value.dtype != outputs.dtype:
        return False
    return torch.equal(value.nan_to_num(), outputs.nan_to_num())
