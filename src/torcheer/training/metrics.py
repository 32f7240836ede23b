"""How well a model does, besides its loss: by name, by a function, or by an object that counts.

metrics="accuracy"                                   a name, or several
metrics={"error": lambda outputs, targets: …}        the value of a batch; its mean over all items counts
metrics={"f1": torchmetrics.F1Score(…)}              anything with update, compute and reset
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.errors import InputError
from torcheer.models import moved
from torcheer.training.evaluation.predictions import (
    answers_of,
    form_of,
    said_class,
    said_yes_or_no,
    scores_in,
)
from torcheer.training.trainer.fit_arguments import LossFunction, LossKind, kind_of


def numbers_of(values: Sequence[float | Tensor]) -> list[float]:
    """As plain numbers. To read one from a GPU means to wait for it, so they are read together."""
    waited_for = [value for value in values if isinstance(value, Tensor) and not value.is_cpu]
    if not waited_for:
        return [float(value) for value in values]
    device = waited_for[0].device
    alike = [value.detach().reshape(()).to(device, torch.float32) for value in waited_for]
    numbers = iter(torch.stack(alike).tolist())
    return [
        next(numbers) if isinstance(value, Tensor) and not value.is_cpu else float(value) for value in values
    ]


def array_of(values: Sequence[float | Tensor]) -> NDArray[numpy.float64]:
    return numpy.array(numbers_of(values), dtype=numpy.float64)


_TOP = re.compile(r"top-?([1-9][0-9]*)")


class Averaged:
    """The mean of a function over all items; a function may say itself how many of them counted."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function
        self.reset()

    def update(self, outputs: Any, targets: Any, num_items: int) -> float | Tensor:
        """Take in a batch. Gives its own value."""
        value = self._function(outputs, targets)
        weight: float | Tensor = float(num_items)
        if isinstance(value, tuple):
            value, weight = value
        number = _checked(value)
        self._values.append(number)
        self._weights.append(weight)
        return number

    def compute(self) -> float:
        return weighted_mean(array_of(self._values), array_of(self._weights))

    def reset(self) -> None:
        self._values: list[float | Tensor] = []
        self._weights: list[float | Tensor] = []

    def state_dict(self) -> dict[str, Any]:
        return {"values": array_of(self._values), "weights": array_of(self._weights)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._values, self._weights = (list(state.get(name, ())) for name in ("values", "weights"))


class Counted:
    """An object that counts by itself, as those of torchmetrics do.

    What it has counted is in checkpoints where it can be had: as torchmetrics has it, or by methods
    `state_dict` and `load_state_dict`.
    """

    def __init__(self, counter: Any) -> None:
        self._counter = counter

    def update(self, outputs: Any, targets: Any, num_items: int) -> float | Tensor | None:
        """Take in a batch. It says nothing of that batch alone."""
        self._counter.update(scores_in(outputs), targets)
        return None

    def compute(self) -> float:
        return float(_checked(self._counter.compute()))

    def reset(self) -> None:
        self._counter.reset()

    def state_dict(self) -> dict[str, Any]:
        counter = self._counter
        if hasattr(counter, "metric_state"):  # torchmetrics leaves it out of its state_dict
            return {"counted": dict(counter.metric_state), "num_updates": counter._update_count}
        can_keep = all(callable(getattr(counter, name, None)) for name in ("state_dict", "load_state_dict"))
        return {"own": counter.state_dict()} if can_keep else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.reset()
        counter = self._counter
        for name, value in state.get("counted", {}).items():
            setattr(counter, name, moved(value, counter.device))
        if "num_updates" in state:
            counter._update_count = int(state["num_updates"])
        if "own" in state:
            counter.load_state_dict(state["own"])


Metric = Averaged | Counted


def metrics_of(given: Any, loss: LossFunction | None, device: torch.device) -> dict[str, Metric]:
    """Metrics by name, ready to count."""
    kind = kind_of(loss)
    named = {} if given is None else _by_name(given)
    return {name: _metric(name, one, kind, device) for name, one in named.items()}


def _by_name(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {str(name): one for name, one in given.items()}
    if isinstance(given, str) or callable(given) or hasattr(given, "update"):
        given = [given]
    if not isinstance(given, Iterable):
        raise InputError(f"metrics is a {type(given).__name__}: give names such as 'accuracy', or functions.")
    return {one if isinstance(one, str) else _name_of(one): one for one in given}


def _name_of(one: Any) -> str:
    name = str(getattr(one, "__name__", None) or type(one).__name__)
    if name == "<lambda>":
        raise InputError("a metric is a lambda without a name: give {'name': lambda outputs, targets: ...}.")
    return name


def _metric(name: str, one: Any, kind: LossKind | None, device: torch.device) -> Metric:
    if isinstance(one, str):
        return Averaged(named_metric(one, kind))
    if not isinstance(one, type):
        if all(callable(getattr(one, method, None)) for method in ("update", "compute", "reset")):
            if callable(getattr(one, "to", None)):
                one.to(device)
            return Counted(one)
        if callable(one):
            return Averaged(one)
    raise InputError(
        f"the metric {name!r} is a {type(one).__name__}: give the name of one, a function of outputs and "
        "targets, or an object with update, compute and reset."
    )


def named_metric(name: str, kind: LossKind | None) -> Callable[[Any, Any], Any]:
    if name in ("accuracy", "acc"):
        return partial(_accuracy, kind)
    if name == "mae":
        return lambda outputs, targets: _difference(outputs, targets).abs().mean()
    if name == "mse":
        return lambda outputs, targets: _difference(outputs, targets).square().mean()
    top = _TOP.fullmatch(name)
    if top is not None:
        return partial(_top, int(top[1]), kind)
    raise InputError(
        f"there is no metric {name!r}: accuracy, top5 (or another number), mae and mse are known by name; "
        "give {'" + name + "': a function of outputs and targets} for others."
    )


def weighted_mean(values: Any, weights: Any) -> float:
    """In float64, so that the order of batches is all that could change it. NaN where nothing counts."""
    is_counted = weights > 0
    if not is_counted.any():
        return float("nan")
    with numpy.errstate(all="ignore"):
        return float(numpy.average(values[is_counted], weights=weights[is_counted]))


def _accuracy(kind: LossKind | None, outputs: Any, targets: Any) -> tuple[float | Tensor, float]:
    scores = scores_in(outputs)
    form = form_of(scores, targets, kind)
    if form == "values":
        raise InputError(f"accuracy needs classes, and there are {_shapes(scores, targets)}: leave it out.")
    answers = answers_of(scores, targets, form, kind)
    if form == "classes":
        is_right = said_class(answers.scores) == answers.targets
    else:
        is_right = said_yes_or_no(answers.scores, kind) == (answers.targets > 0.5)
    return _share(is_right), float(is_right.numel())


def _top(num_answers: int, kind: LossKind | None, outputs: Any, targets: Any) -> tuple[float | Tensor, float]:
    scores = scores_in(outputs)
    if form_of(scores, targets, kind) != "classes":
        raise InputError(f"top{num_answers} needs a score for each class: {_shapes(scores, targets)}.")
    answers = answers_of(scores, targets, "classes", kind)
    is_in = ranks_of(answers.scores, answers.targets) < num_answers
    return _share(is_in), float(is_in.numel())


def _share(is_so: Tensor) -> float | Tensor:
    if is_so.is_cpu:  # exactly, where nobody has to wait for it
        return int(is_so.sum()) / is_so.numel() if is_so.numel() else float("nan")
    return is_so.float().mean()


def ranks_of(scores: Tensor, targets: Tensor) -> Tensor:
    """How many classes come before the right one; of equal scores the first class comes first.

    With scores that are NaN, no number of answers has it.
    """
    own = scores.gather(1, targets.long()[:, None])
    is_earlier = torch.arange(scores.shape[1], device=scores.device) < targets[:, None]
    ranks = ((scores > own) | ((scores == own) & is_earlier)).sum(1)
    return ranks.masked_fill(scores.isnan().any(1), torch.iinfo(ranks.dtype).max)


def _difference(outputs: Any, targets: Any) -> Tensor:
    values = scores_in(outputs)
    if not isinstance(values, Tensor) or not isinstance(targets, Tensor) or values.numel() != targets.numel():
        raise InputError(f"mae and mse need a target for each output: {_shapes(values, targets)}.")
    return values.reshape(targets.shape) - targets


def _shapes(outputs: Any, targets: Any) -> str:
    return f"outputs of {_shape(outputs)} and targets of {_shape(targets)}"


def _shape(value: Any) -> str:
    return f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"type {type(value).__name__}"


def _checked(value: Any) -> float | Tensor:
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.detach().reshape(())
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"a metric gives a value of {_shape(value)}: return one number.") from None
