"""Log rows of tables: numbers, texts and tensors in their cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torcheer.errors import InputError
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.netviews import ObservingNetViews
from torcheer.run.tablecolumns import as_row, encoded_table


class ObservingTables(ObservingNetViews):
    """Not one of these methods raises. All is encoded at once."""

    @never_raising
    def log_row(self, step: int, name: str, row: Mapping[str, Any], *, time: float | None = None) -> None:
        """Add a row to a table: `run.log_row(step, "epochs", {"epoch": 3, "loss": 0.1, "output": tensor})`.

        Cells are numbers, texts or tensors; what is None is left out. Rows may have other columns than
        those before them.
        """
        self._log_columns(step, name, as_row(_mapping(row)), time)

    @never_raising
    def log_table(
        self, step: int, name: str, columns: Mapping[str, Any], *, time: float | None = None
    ) -> None:
        """Add many rows to a table at once.

        - `columns`: for each a list, an array or a tensor, with an element for each row. Elements of more
          than one number are tensors in the cells: all of one shape.
        """
        self._log_columns(step, name, dict(_mapping(columns)), time)

    def _log_columns(self, step: int, name: str, columns: dict[str, Any], time: float | None) -> None:
        head, data = encoded_table(columns)
        self._keep_now("table", name, step, time, head, data)


def _mapping(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"a {type(given).__name__} has no columns: give a mapping of their names.")
    return given
