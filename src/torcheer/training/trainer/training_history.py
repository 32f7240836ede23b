"""`History`: the figures of every epoch and every step of a training."""

from __future__ import annotations

import difflib
import html
import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.graph import readable_seconds
from torcheer.run import needed_pandas, sparkline

_NAN = float("nan")


class Columns:
    """Rows by number, columns by name; NaN where a row has nothing of that name.

    `before_reading` is called before anything is read: for who adds rows later, many together.
    """

    def __init__(self) -> None:
        self._columns: dict[str, array[float]] = {}
        self._num_rows = 0
        self.before_reading: Callable[[], object] | None = None

    def extend(self, values: Mapping[str, Sequence[float]], num_rows: int) -> None:
        """Many rows: for each name a number for each of them."""
        for name, numbers in values.items():
            if name not in self._columns:
                self._columns[name] = array("d", [_NAN]) * self._num_rows
            self._columns[name].extend(numbers)
        self._num_rows += num_rows
        for column in self._columns.values():
            column.extend([_NAN] * (self._num_rows - len(column)))

    def _settle(self) -> None:
        if self.before_reading is not None:
            self.before_reading()

    @property
    def names(self) -> list[str]:
        self._settle()
        return list(self._columns)

    def __contains__(self, name: object) -> bool:
        self._settle()
        return name in self._columns

    def __len__(self) -> int:
        """How many rows there are."""
        self._settle()
        return self._num_rows

    def __getitem__(self, name: str) -> NDArray[numpy.float64]:
        return self.tail(name, 0)

    def tail(self, name: str, first: int) -> NDArray[numpy.float64]:
        """A copy of a column from a row on."""
        self._settle()
        column = self._columns.get(name)
        if column is None:
            near = difflib.get_close_matches(str(name), self._columns, n=1)
            known = ", ".join(self._columns) or "none yet"
            hint = f"do you mean {near[0]!r}?" if near else f"there are {known}."
            raise InputError(f"there is no figure {name!r}: {hint}")
        return numpy.array(column[first:], dtype=numpy.float64)

    def state_dict(self) -> dict[str, Any]:
        return {"num_rows": len(self), "columns": {name: self[name] for name in self.names}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._num_rows = int(state["num_rows"])
        self._columns = {
            name: array("d", numpy.asarray(values, dtype=numpy.float64).tobytes())
            for name, values in state["columns"].items()
        }


Mode = Literal["min", "max"]

_WORD = re.compile(r"[a-z]+[0-9]*")
_LOW = frozenset("loss losses nll cost error errors mae mse rmse perplexity objective seconds".split())
_HIGH = frozenset(
    "acc accuracy f1 auc auroc precision recall r2 iou map score top1 top2 top3 top5 top10 correct ap".split()
)


def mode_of(name: str, mode: Mode | None) -> Mode:
    """The mode that was given, or the one that the name says."""
    if mode not in ("min", "max", None):
        raise InputError(f"mode={mode!r}: give 'min' where lower is better, or 'max'.")
    found = mode or named_mode(name)
    if found is None:
        raise InputError(f"{name!r} does not say which is better: give mode='min' for lower, or mode='max'.")
    return found


def named_mode(name: str) -> Mode | None:
    words = set(_WORD.findall(name.lower()))
    if words & _LOW:
        return "min"
    return "max" if words & _HIGH else None


def is_better(value: float, best: float | None, mode: Mode, by: float = 0.0) -> bool:
    """True if it is better than the best so far, by more than this; NaN never is."""
    if best is None or math.isnan(value):
        return not math.isnan(value)
    return (best - value if mode == "min" else value - best) > by


SECONDS, STEP = "seconds", "step"  # of an epoch: how long it took, and its last step
_OWN = (STEP, SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best value of a figure, and when it was. `epoch` counts from 0, as the arrays do."""

    name: str
    value: float
    epoch: int
    step: int

    def __float__(self) -> float:
        return self.value


class History:
    """What `tl.fit` returns: NumPy arrays, with NaN where there was no number.

    `history["test/loss"]` has one for each epoch, `history.steps["train/loss"]` one for each step.

    `stopped_by` says why a training ended before its last epoch, and is None where it did not.
    """

    def __init__(self) -> None:
        self._epochs = Columns()
        self.steps = Columns()
        self.stopped_by: str | None = None

    @property
    def names(self) -> list[str]:
        """The figures of an epoch: `train/loss`, `test/loss`, …"""
        return [name for name in self._epochs.names if name not in _OWN]

    def __getitem__(self, name: str) -> NDArray[numpy.float64]:
        return self._epochs[name]

    def __contains__(self, name: object) -> bool:
        return name in self._epochs

    def __len__(self) -> int:
        """How many epochs there are."""
        return len(self._epochs)

    @property
    def num_steps(self) -> int:
        return len(self.steps)

    @property
    def seconds(self) -> float:
        """How long all epochs took together."""
        return float(numpy.nansum(self[SECONDS])) if SECONDS in self else 0.0

    def best(self, name: str, mode: Mode | None = None) -> Best:
        """The epoch in which a figure was best, the first of several: `history.best("test/loss")`.

        `mode` says whether "min" or "max" is best; a name that says it itself, as those of losses and
        accuracies do, needs none.
        """
        values, mode = self[name], mode_of(name, mode)
        if numpy.isnan(values).all():
            raise InputError(f"{name!r} has no number in any epoch, so none is best.")
        epoch = int(numpy.nanargmin(values) if mode == "min" else numpy.nanargmax(values))
        return Best(name=name, value=float(values[epoch]), epoch=epoch, step=int(self[STEP][epoch]))

    def to_pandas(self, of: Literal["epochs", "steps"] = "epochs") -> Any:
        """A data frame, a row for each epoch or each step. Needs pandas: `pip install torcheer[pandas]`."""
        if of not in ("epochs", "steps"):
            raise InputError(f"of={of!r}: give 'epochs' or 'steps'.")
        columns = self._epochs if of == "epochs" else self.steps
        pandas = needed_pandas("to_pandas")
        frame = pandas.DataFrame({name: columns[name] for name in columns.names})
        frame.index.name = of[:-1]
        return frame.astype({STEP: "int64"}) if STEP in frame else frame

    def add_epoch(self, values: Mapping[str, float], *, step: int, seconds: float) -> None:
        row = {**values, STEP: step, SECONDS: seconds}
        self._epochs.extend({name: [value] for name, value in row.items()}, 1)

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self._epochs.state_dict(), "steps": self.steps.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._epochs.load_state_dict(state["epochs"])
        self.steps.load_state_dict(state["steps"])

    def __repr__(self) -> str:
        epochs = "1 epoch" if len(self) == 1 else f"{len(self):,} epochs"
        steps = "1 step" if self.num_steps == 1 else f"{self.num_steps:,} steps"
        head = f"History of {epochs}, {steps}, {readable_seconds(self.seconds)}"
        if self.stopped_by is not None:
            head += f"; stopped: {self.stopped_by}"
        width = max((len(name) for name in self.names), default=0)
        return "\n".join([head, *(f"  {name:<{width}}  {self._line(name)}" for name in self.names)])

    def _line(self, name: str) -> str:
        values = self[name]
        line = f"{values[-1]:<9.4g} {sparkline(values)}"
        if named_mode(name) is None or numpy.isnan(values).all():
            return line
        best = self.best(name)
        return f"{line}  best {best.value:.4g} in epoch {best.epoch + 1}"  # as people count

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"
