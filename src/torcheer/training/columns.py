"""Columns of numbers, which grow row by row."""

from __future__ import annotations

import difflib
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError

_NAN = float("nan")


class Columns:
    """Rows by number, columns by name; NaN where a row has nothing of that name.

    `before_reading` is called before anything is read: for who adds rows later, many together.
    """

    def __init__(self) -> None:
        self._columns: dict[str, array[float]] = {}
        self._num_rows = 0
        self.before_reading: Callable[[], object] | None = None

    def add(self, values: Mapping[str, float]) -> None:
        """One row."""
        self.extend({name: [value] for name, value in values.items()}, 1)

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

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of {', '.join(self._columns) or 'nothing'}>"
