"""Which items a model got wrong, and what all items come to.

    classes           the highest score is not that of the target, at any place of the item
    bits, 0 or 1      any unit is on the wrong side of 0.5, or of 0 where the loss takes logits
    bits, -1 or 1     any unit has the wrong sign
    other targets     nothing is right or wrong: there are no errors

What it is, the first batch of a run decides. A function of yours in the setup decides otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.training.evaluation.predictions import IGNORED, class_dim_of, scores_in
from torcheer.training.loop.setup import AUTOMATIC, ErrorFunction, Setup, Statistic
from torcheer.training.loss_functions import LossFunction, kind_of

Form = Literal["classes", "bits", "signs", "values"]


class Judged(NamedTuple):
    """What is to be said of each item of a batch. None: nothing can be said."""

    wrong: Tensor | None  # bool
    targets: Tensor | None  # the numbers of classes
    answers: Tensor | None


_NOTHING: Final = Judged(None, None, None)


class Judge:
    """Decides over the batches of one run. `errors`: `"auto"`, a function of outputs and targets, or None."""

    def __init__(self, errors: str | ErrorFunction | None, loss: LossFunction | None) -> None:
        self._function = errors if callable(errors) else None
        self._kind = kind_of(loss)
        self._has_loss = loss is not None
        self._form: Form | None = None if errors == AUTOMATIC else "values"

    @property
    def may_judge(self) -> bool:
        """False where it is clear that nothing is right or wrong."""
        return self._function is not None or self._form != "values"

    def judged(self, outputs: Any, targets: Any, num_items: int) -> Judged:
        """Raises InputError where a function of the user's gives something else than truths."""
        scores = scores_in(outputs)
        if self._function is not None:
            wrong = torch.as_tensor(self._function(outputs, targets))
            if wrong.shape != (num_items,):
                raise InputError(
                    f"`errors` of the setup gives shape {tuple(wrong.shape)} for {num_items} items: return, "
                    "for each item, whether it is wrong."
                )
            form = self._form_of(scores, targets, num_items)
            by_class = self._by_class(scores, targets) if form == "classes" else _NOTHING
            return by_class._replace(wrong=wrong.detach().bool())
        if self._form is None:
            self._form = self._form_of(scores, targets, num_items)
        # A later batch may have something else in it: then nothing is said of it.
        if self._form == "values" or not isinstance(scores, Tensor) or not isinstance(targets, Tensor):
            return _NOTHING
        if self._form == "classes":
            return self._by_class(scores, targets)
        if scores.numel() != targets.numel():
            return _NOTHING
        middle = 0.5 if self._form == "bits" else 0.0
        said = scores > (0.0 if self._kind == "logits" else middle)
        wrong = (said.reshape(targets.shape) != (targets > middle)) | scores.isnan().reshape(targets.shape)
        return Judged(wrong.reshape(num_items, -1).any(1), None, None)

    def _form_of(self, scores: Any, targets: Any, num_items: int) -> Form:
        if not isinstance(scores, Tensor) or not isinstance(targets, Tensor) or not targets.numel():
            return "values"
        if not scores.ndim or len(scores) != num_items or not targets.ndim or len(targets) != num_items:
            return "values"
        if not self._has_loss and scores.ndim > 2:
            return "values"  # a model of language shifts its targets by one place
        if class_dim_of(scores, targets, self._kind) is not None:
            return "classes"
        if scores.numel() != targets.numel() or scores.is_complex() or targets.is_complex():
            return "values"
        if bool(((targets == 0) | (targets == 1)).all()):
            return "bits"
        return "signs" if bool((targets.abs() == 1).all()) else "values"

    def _by_class(self, scores: Tensor, targets: Tensor) -> Judged:
        dim = class_dim_of(scores, targets, self._kind)
        if dim is None:
            return _NOTHING
        wanted = targets.argmax(dim) if targets.is_floating_point() else targets
        said = scores.argmax(dim).reshape(wanted.shape)
        # NaN says nothing, though argmax takes it for the highest.
        wrong = ((said != wanted) | scores.isnan().any(dim).reshape(wanted.shape)) & (wanted != IGNORED)
        if wanted.ndim == 1:
            return Judged(wrong, wanted, said)
        wrong = wrong.reshape(len(wrong), -1)
        # (items, 1) is one class for each item, too.
        if wrong.shape[1] == 1:
            return Judged(wrong[:, 0], wanted.reshape(-1), said.reshape(-1))
        return Judged(wrong.any(1), None, None)


# --- sums of an epoch or a test -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One batch: what the model did with it, as plain numbers."""

    num_items: int
    loss: float  # as the loss function has it
    judged: Judged
    statistics: Mapping[str, float]  # means over the items

    @property
    def num_wrong(self) -> int | None:
        return None if self.judged.wrong is None else int(self.judged.wrong.sum())

    @property
    def accuracy(self) -> float | None:
        wrong = self.num_wrong
        return None if wrong is None or not self.num_items else (self.num_items - wrong) / self.num_items


def seen(setup: Setup, judge: Judge, outputs: Any, targets: Any, loss: Tensor, num_items: int) -> Seen:
    with torch.no_grad():
        statistics = {
            name: mean_of(name, function(outputs, targets)) for name, function in setup.statistics.items()
        }
        judged = judge.judged(outputs, targets, num_items)
    return Seen(num_items=num_items, loss=loss.item(), judged=judged, statistics=statistics)


def mean_of(name: str, value: Any) -> float:
    found = torch.as_tensor(value)
    if not found.numel():
        return float("nan")
    if found.is_complex() or found.ndim > 1:
        raise InputError(
            f"the statistic {name!r} gives shape {tuple(found.shape)}: return one number for each item, or "
            "their mean."
        )
    return float(found.detach().double().mean())


def item_of(value: Any, number: int, num_items: int) -> Any:
    """One item of something that a batch holds, or a model gave for it, as if it were alone."""
    if isinstance(value, Tensor):
        return value[number : number + 1] if value.ndim and len(value) == num_items else value
    if isinstance(value, Mapping):
        return {key: item_of(part, number, num_items) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(item_of(part, number, num_items) for part in value))
    if isinstance(value, tuple) or (
        isinstance(value, list) and any(isinstance(one, Tensor) for one in value)
    ):
        return type(value)(item_of(part, number, num_items) for part in value)
    if isinstance(value, list) and len(value) == num_items:
        return value[number : number + 1]
    return value


def each_of(function: Statistic, outputs: Any, targets: Any, num_items: int) -> Tensor | None:
    """The value of each item: of a function that gives means, by calling it for each. None: it cannot."""
    whole = torch.as_tensor(function(outputs, targets)).detach()
    if whole.shape == (num_items,):
        return whole.double().cpu()
    if num_items == 1:
        return whole.double().cpu().reshape(-1)[:1]
    try:
        values = [
            float(function(item_of(outputs, number, num_items), item_of(targets, number, num_items)))
            for number in range(num_items)
        ]
    except Exception:  # it wants more than one item, or something that cannot be taken apart
        return None
    return torch.tensor(values, dtype=torch.float64)


@dataclass(slots=True)
class Tally:
    """The sums of an epoch, or of a test, as it goes."""

    is_summed: bool  # the loss of a batch is the sum over its items, not their mean
    num_items: int = 0
    num_batches: int = 0
    _loss: float = 0.0
    _errors: int | None = 0
    _statistics: dict[str, float] = field(default_factory=dict)
    _grad_norm: float = 0.0
    _num_norms: int = 0

    def add(self, batch: Seen, grad_norm: float | None = None) -> None:
        self.num_items += batch.num_items
        self.num_batches += 1
        self._loss += batch.loss * (1 if self.is_summed else batch.num_items)
        wrong = batch.num_wrong
        self._errors = None if self._errors is None or wrong is None else self._errors + wrong
        for name, value in batch.statistics.items():
            self._statistics[name] = self._statistics.get(name, 0.0) + value * batch.num_items
        if grad_norm is not None:
            self._grad_norm += grad_norm
            self._num_norms += 1

    @property
    def grad_norm(self) -> float | None:
        """The mean over the trials that changed the weights."""
        return self._grad_norm / self._num_norms if self._num_norms else None

    def figures(self) -> dict[str, float]:
        """Loss, errors, accuracy and the statistics: those that there are."""
        if not self.num_items:
            return {}
        found: dict[str, float] = {"loss": self._loss / self.num_items}
        if self._errors is not None:
            found["errors"] = self._errors
            found["accuracy"] = (self.num_items - self._errors) / self.num_items
        return found | {name: value / self.num_items for name, value in self._statistics.items()}
