"""A scalar of a run, as a program or a notebook gets it."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.parts import Points
from torcheer.run.reading.sparkline import sparkline


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scalars:
    """The points of a scalar, in the order in which they were logged. `numpy.asarray` gives the values."""

    name: str
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float64]

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy:
            return self.values.astype(dtype or numpy.float64, copy=True)
        return numpy.asarray(self.values, dtype=dtype)

    def to_pandas(self) -> Any:
        """A data frame with step, time and value. Needs pandas: `pip install torcheer[pandas]`."""
        pandas = needed_pandas("to_pandas")
        times = pandas.to_datetime(self.times, unit="s", utc=True)
        return pandas.DataFrame({"step": self.steps, "time": times, "value": self.values})

    def __repr__(self) -> str:
        points = "1 point" if len(self) == 1 else f"{len(self):,} points"
        if not len(self):
            return f"<Scalars {self.name!r}: {points}>"
        ends = f"steps {self.steps[0]}–{self.steps[-1]}, last {self.values[-1]:.6g}"
        return f"<Scalars {self.name!r}: {points}, {ends} {sparkline(self.values)}>"


def scalars_of(name: str, points: Points) -> Scalars:
    for column in points:
        # They may be shared with others that read this run.
        column.flags.writeable = False
    return Scalars(name=name, steps=points.steps, times=points.times, values=points.values)


def needed_pandas(what: str) -> ModuleType:
    try:
        import pandas
    except ImportError as error:
        raise InputError(f"{what} needs pandas: pip install torcheer[pandas]") from error
    return pandas
