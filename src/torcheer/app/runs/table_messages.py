"""What a page can ask about the tables of runs, and what the server answers; see `wire` for how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from torcheer.app.runs.messages import RecordId, SeriesName
from torcheer.app.wire import Answer, Count, Name, Question
from torcheer.run import TableColumn

RunIds = Annotated[list[Name], Meta(max_length=256)]
# "NaN", "inf" and "-inf" of numbers that JSON does not have; None of a tensor.
Cell = float | int | str | None

MAX_CELL_VALUES = 1 << 20  # of one answer


# --- what a page asks ------------------------------------------------------------------------


class TableQuestion(Question, frozen=True, tag="table"):
    """The rows of a table over some runs, in their order. Followed: later answers bring what is new.

    With `only_last`, of each run the rows that were logged last, together.
    """

    run_ids: RunIds
    name: SeriesName
    only_last: bool


class TableCellsQuestion(Question, frozen=True, tag="table_cells"):
    """The tensors of one column in some rows of a record."""

    run_id: Name
    record: RecordId
    column: SeriesName
    first_row: Count
    num_rows: Count


class TableStatisticsQuestion(Question, frozen=True, tag="table_statistics"):
    """What the columns of numbers come to in rows with equal cells in the columns `by`."""

    run_ids: RunIds
    name: SeriesName
    by: Annotated[list[SeriesName], Meta(max_length=256)]


class TableTextQuestion(Question, frozen=True, tag="table_text"):
    """The whole table as CSV, tensors cell by cell: `Output[0]`, `Output[1]`…"""

    run_ids: RunIds
    name: SeriesName
    only_last: bool


# --- what the server answers -----------------------------------------------------------------


class TableRows(Struct, frozen=True, kw_only=True):
    """Rows that were logged together. The cells of a row stand in the order of `columns`."""

    run_id: str
    record: str
    step: int
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Cell]]


class TableAnswer(Answer, frozen=True, tag="table"):
    """`is_all`: what was known before is void. A note says what is left out, and why."""

    is_all: bool
    parts: Sequence[TableRows]
    note: str


class TableCellsAnswer(Answer, frozen=True, tag="table_cells"):
    """The head of a binary frame; the values follow as float32, row by row.

    The limits are of the finite values in all rows of the record; where it is large, of the rows asked for.
    """

    num_rows: int
    shape: Sequence[int]  # of a cell
    low: float | None
    high: float | None


class TableFigures(Struct, frozen=True, kw_only=True):
    """Of one column in the rows of a group, of the finite numbers."""

    column: str
    count: int
    mean: float | None
    std: float | None  # of a sample: divided by count - 1; None for one number
    low: float | None
    high: float | None


class TableGroup(Struct, frozen=True, kw_only=True):
    """Rows that are alike in the columns that were asked for."""

    cells: Sequence[Cell]
    num_rows: int
    figures: Sequence[TableFigures]


class TableStatisticsAnswer(Answer, frozen=True, tag="table_statistics"):
    by: Sequence[str]
    groups: Sequence[TableGroup]


class TableTextAnswer(Answer, frozen=True, tag="table_text"):
    text: str
