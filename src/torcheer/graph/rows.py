"""Tables: rows that sort, print and become a data frame, and plain text with numbers to the right."""

from __future__ import annotations

import copy
import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, overload

from torcheer.errors import InputError


def format_table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    widths = [
        max(len(title), *(len(row[i]) for row in rows)) if rows else len(title)
        for i, title in enumerate(titles)
    ]

    def line(cells: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        return "  ".join(parts).rstrip()

    rule = "─" * len("  ".join("x" * width for width in widths))
    return "\n".join([line(titles), rule, *(line(row) for row in rows), rule])


R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of a row, and how it is shown."""

    name: str
    show: Callable[[Any], str] = str
    to_right: bool = True

    def text(self, row: Any) -> str:
        value = getattr(row, self.name)
        return "–" if value is None else self.show(value)


def number_text(value: float) -> str:
    """Four digits: `0.001235`, `1.2e+10`, `12`."""
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def share_text(value: float) -> str:
    """`12.5%`; a share that is not quite nothing, or not quite all, does not look so."""
    if value in (0, 1):
        return f"{value:.0%}"
    return f"{min(max(value, 0.001), 0.999):.1%}"


def shape_text(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "scalar"


class RowTable(Generic[R]):
    """Rows in an order. `table[0]` is a row by its place, `table['relu_1']` one by name."""

    def __init__(
        self, rows: Sequence[R], columns: Sequence[Column], find: Callable[[str], R], foot: str = ""
    ) -> None:
        self.rows = tuple(rows)
        self._columns = tuple(columns)
        self._find = find
        self._foot = foot

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self._columns]

    def sort(self, column: str, *, descending: bool = False) -> Self:
        """The same rows in another order. Rows without a value, or with NaN, come last either way."""
        if column not in self.columns:
            raise InputError(f"there is no column {column!r} to sort by: {', '.join(self.columns)}.")
        known = [row for row in self.rows if not _is_missing(getattr(row, column))]
        missing = [row for row in self.rows if _is_missing(getattr(row, column))]
        known.sort(key=lambda row: getattr(row, column), reverse=descending)
        return self._with(known + missing)

    def where(self, keep: Callable[[R], bool]) -> Self:
        """Only the rows of which a function is true."""
        return self._with([row for row in self.rows if keep(row)])

    def head(self, num_rows: int = 10) -> Self:
        return self._with(self.rows[:num_rows])

    def _with(self, rows: Sequence[R]) -> Self:
        other = copy.copy(self)
        other.rows = tuple(rows)
        return other

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, key: int | str) -> R: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __getitem__(self, key: int | str | slice) -> R | Self:
        if isinstance(key, str):
            return self._find(key)
        if isinstance(key, slice):
            return self._with(self.rows[key])
        return self.rows[key]

    def to_pandas(self) -> Any:
        """A data frame, one line a row. Needs pandas: `pip install torcheer[pandas]`."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("to_pandas needs pandas: pip install torcheer[pandas]") from error
        cells = [[getattr(row, name) for name in self.columns] for row in self.rows]
        return pandas.DataFrame(cells, columns=self.columns)

    def __str__(self) -> str:
        cells = [[column.text(row) for column in self._columns] for row in self.rows]
        text = format_table(self.columns, cells, [column.to_right for column in self._columns])
        return f"{text}\n{self._foot}" if self._foot else text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows>"

    def _repr_html_(self) -> str:
        titles = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(_html_cell(column, row) for column in self._columns) + "</tr>"
            for row in self.rows
        )
        return (
            "<div><div style='max-height:32em;overflow:auto'>"
            f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>"
            f"<p>{html.escape(self._foot)}</p></div>"
        )


def _html_cell(column: Column, row: Any) -> str:
    side = "right" if column.to_right else "left"
    return f"<td style='text-align:{side}'>{html.escape(column.text(row))}</td>"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
