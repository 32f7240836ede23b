"""What a run of a `tl.Loop` is made of, and when it has learned what it should."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import nn
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.training.loss_functions import LossFunction, checked_function
from torcheer.training.trainer.fit_arguments import checked_loader, checked_model

# --- criteria -----------------------------------------------------------------------------------------------

Row = Mapping[str, Any]
Criterion = Callable[[Sequence[Row]], Any]


def no_errors_for(num_epochs: int, column: str = "errors") -> Criterion:
    """A run is done after so many epochs in a row without any error; `"test errors"` counts tests instead."""
    if isinstance(num_epochs, bool) or not isinstance(num_epochs, int) or num_epochs < 1:
        raise InputError(f"no_errors_for({num_epochs!r}): give the number of epochs, 1 or more.")

    def is_done(rows: Sequence[Row]) -> bool:
        found = _numbers(rows, column)[-num_epochs:]
        return len(found) == num_epochs and not any(found)

    # The name is what ended the run, in words.
    is_done.__name__ = f"{'an epoch' if num_epochs == 1 else f'{num_epochs} epochs'} without {column}"
    return is_done


def loss_below(limit: float, column: str = "loss") -> Criterion:
    """A run is done when the loss of an epoch is below a limit; `"test loss"` looks at the tests instead."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit != limit:
        raise InputError(f"loss_below({limit!r}): give a number.")

    def is_done(rows: Sequence[Row]) -> bool:
        found = _numbers(rows, column)
        return bool(found) and found[-1] < limit

    is_done.__name__ = f"{column} below {limit:g}"
    return is_done


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    """Of the epochs that have it: not every epoch has a test."""
    if rows and column not in rows[-1]:
        raise InputError(
            f"the criterion looks at {column!r}, and an epoch has {', '.join(rows[-1])}: name one of these; "
            "errors are there where `errors=` of the setup says which items are wrong."
        )
    return [row[column] for row in rows if row.get(column) is not None]


# --- setup --------------------------------------------------------------------------------------------------

Statistic = Callable[[Any, Any], Any]
ErrorFunction = Callable[[Any, Any], Any]

AUTOMATIC: Final = "auto"

_TAKEN: Final = frozenset(("loss", "errors", "accuracy", "grad_norm", "lr", "run", "epoch", "trial", "name"))


@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """What a function of the parameters builds at the beginning of every run of a `tl.Loop`.

    The training:

    - `model`, `loss`, `optimizer`: as in `tl.fit`. A loss is a function of outputs and targets, or None where
      the model computes it; an optimizer may be a function of the parameters, such as `torch.optim.Adam`.
    - `train`, `test`: loaders, or any iterables of batches that can be gone through again and again.
    - `scheduler`, `clip_norm`, `accumulate`, `autocast`, `device`: as in `tl.fit`.

    What is said of it:

    - `errors`: for each item, whether it is wrong: a function of outputs and targets; None for no errors.
      `"auto"`: by class, or by the bits of targets of 0 and 1, or -1 and 1.
    - `statistics`: more numbers by name: functions of outputs and targets, of each item or as a mean.
    - `is_done`: ends a run: a function of the rows of its epochs, such as `tl.no_errors_for(5)`.
    - `layers`: whose values are kept for every item of a test: names as NetView has them. None: all with up
      to 512 units.
    - `item_names`: of the items of the test set, in their order.
    - `shapes`: how NetView lays out the units of a layer: `{"hidden": (5, 7)}`. `netview`: more for
      `tl.NetView`: `{"items": 25, "weights": "all"}`.
    - `plots`: which scalars are shown together: `{"loss": ["train/loss", "test/loss"]}`.
    """

    model: nn.Module
    loss: LossFunction | None
    optimizer: Optimizer | Callable[[Any], Optimizer]
    train: Iterable[Any]
    test: Iterable[Any] | None = None
    scheduler: Any = None
    clip_norm: float | None = None
    accumulate: int = 1
    autocast: str | torch.dtype | None = None
    device: str | torch.device | None = None
    errors: str | ErrorFunction | None = AUTOMATIC
    statistics: Mapping[str, Statistic] = field(default_factory=dict)
    is_done: Criterion | None = None
    layers: Sequence[str] | None = None
    item_names: Sequence[str] | None = None
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    netview: Mapping[str, Any] = field(default_factory=dict)
    plots: Mapping[str, Sequence[str]] | None = None

    def __post_init__(self) -> None:
        checked_model(self.model)
        checked_function(self.loss)
        checked_loader(self.train, "train", num_passes=2)
        if self.test is not None:
            checked_loader(self.test, "test", num_passes=2)
        for name, given in (("errors", self.errors), ("is_done", self.is_done)):
            if not (given is None or callable(given) or (name, given) == ("errors", AUTOMATIC)):
                raise InputError(f"{name}={given!r}: give a function, or None.")
        if not isinstance(self.plots, Mapping | None):
            raise InputError(f"plots={self.plots!r}: give a dict by name.")
        for name, names in (("layers", self.layers), ("item_names", self.item_names)):
            if isinstance(names, str) or not isinstance(names, Sequence | None):
                raise InputError(f"{name}={names!r}: give a list of names, or None.")
        for name, function in self.statistics.items():
            if name in _TAKEN or not callable(function):
                raise InputError(
                    f"a statistic cannot be called {name!r}, which is there already, or is no function: give "
                    "{'another name': function}."
                )
