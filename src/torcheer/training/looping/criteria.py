"""When a run has learned what it should: criteria over the rows of its epochs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torcheer.errors import InputError

Row = Mapping[str, Any]
Criterion = Callable[[Sequence[Row]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoErrors:
    num_epochs: int
    column: str

    def __call__(self, rows: Sequence[Row]) -> bool:
        found = _numbers(rows, self.column)[-self.num_epochs :]
        return len(found) == self.num_epochs and not any(found)

    def __str__(self) -> str:
        epochs = "an epoch" if self.num_epochs == 1 else f"{self.num_epochs} epochs"
        return f"{epochs} without {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _LossBelow:
    limit: float
    column: str

    def __call__(self, rows: Sequence[Row]) -> bool:
        found = _numbers(rows, self.column)
        return bool(found) and found[-1] < self.limit

    def __str__(self) -> str:
        return f"{self.column} below {self.limit:g}"


def no_errors_for(num_epochs: int, column: str = "errors") -> Criterion:
    """A run is done after so many epochs in a row without any error; `"test errors"` counts tests instead."""
    if isinstance(num_epochs, bool) or not isinstance(num_epochs, int) or num_epochs < 1:
        raise InputError(f"no_errors_for({num_epochs!r}): give the number of epochs, 1 or more.")
    return _NoErrors(num_epochs=num_epochs, column=column)


def loss_below(limit: float, column: str = "loss") -> Criterion:
    """A run is done when the loss of an epoch is below a limit; `"test loss"` looks at the tests instead."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit != limit:
        raise InputError(f"loss_below({limit!r}): give a number.")
    return _LossBelow(limit=float(limit), column=column)


def name_of(criterion: Criterion) -> str:
    """What ended a run, in words."""
    if isinstance(criterion, _NoErrors | _LossBelow):
        return str(criterion)
    return getattr(criterion, "__name__", type(criterion).__name__)


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    """Of the epochs that have it: not every epoch has a test."""
    if rows and column not in rows[-1]:
        raise InputError(
            f"the criterion looks at {column!r}, and an epoch has {', '.join(rows[-1])}: name one of these; "
            "errors are there where `errors=` of the setup says which items are wrong."
        )
    return [row[column] for row in rows if row.get(column) is not None]
