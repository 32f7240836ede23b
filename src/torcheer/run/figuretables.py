"""Figures of all watched rows over some steps: as arrays, and as the head and the bytes of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.records import StatisticsHead

STEP_BYTES: Final = 16  # of a step and its time
FIGURE_BYTES: Final = 4
_MOST_SECONDS: Final = 2e11


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FigureTable:
    """A block of statistics. `digest` names its rows, `stride` says how thin it is."""

    digest: str
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float32]  # [column][row][step]
    stride: int = 1

    @property
    def num_steps(self) -> int:
        return len(self.steps)

    @property
    def num_bytes(self) -> int:
        return STEP_BYTES * self.num_steps + FIGURE_BYTES * self.values.size

    def head(self) -> StatisticsHead:
        num_columns, num_rows, num_steps = self.values.shape
        return StatisticsHead(
            digest=self.digest,
            num_columns=num_columns,
            num_rows=num_rows,
            num_steps=num_steps,
            last_step=int(self.steps[-1]),
            last_time=float(self.times[-1]),
            stride=self.stride,
        )

    def data(self) -> bytes:
        columns = ((self.steps, "<i8"), (self.times, "<f8"), (self.values, "<f4"))
        return b"".join(numpy.ascontiguousarray(column, kind).tobytes() for column, kind in columns)

    def every_second(self, *, keeps_last: bool) -> FigureTable:
        """Half of the steps, with the first, and with the last where that is wished."""
        chosen = numpy.arange(0, self.num_steps, 2)
        if keeps_last and chosen[-1] != self.num_steps - 1:
            chosen = numpy.append(chosen, self.num_steps - 1)
        return self.only(chosen, stride=2 * self.stride)

    def only(self, chosen: NDArray[Any], stride: int) -> FigureTable:
        """Some of the steps, by their places or as truths."""
        return FigureTable(
            digest=self.digest,
            steps=self.steps[chosen],
            times=self.times[chosen],
            values=self.values[:, :, chosen],
            stride=stride,
        )


def checked_table(digest: Any, steps: Any, times: Any, values: Any) -> FigureTable:
    """Raises InputError where these do not go together. They are not copied where they are right already."""
    given_steps = numpy.asarray(steps)
    if given_steps.dtype.kind not in "iu" and given_steps.size:
        raise InputError(f"the steps are {given_steps.dtype}, and steps are whole numbers.")
    table = FigureTable(
        digest=str(digest),
        steps=numpy.ascontiguousarray(given_steps, numpy.int64),
        times=numpy.ascontiguousarray(times, numpy.float64),
        values=numpy.ascontiguousarray(values, numpy.float32),
    )
    shape, num_steps = table.values.shape, len(table.steps)
    if table.steps.ndim != 1 or table.times.shape != table.steps.shape or not num_steps:
        raise InputError(
            f"{given_steps.shape} steps and {table.times.shape} times: give as many of one as of the other, "
            "and at least one."
        )
    if len(shape) != 3 or shape[2] != num_steps:
        raise InputError(
            f"the figures have the shape {shape}: give [column][row][step], here with {num_steps} steps."
        )
    if not has_times(table):
        raise InputError("some times cannot be: give seconds since 1970, as time.time() does.")
    return table


def has_times(table: FigureTable) -> bool:
    """Whether its times are of any century that there is a calendar for."""
    return bool((numpy.abs(table.times) < _MOST_SECONDS).all())  # False for NaN, too


def table_of(head: StatisticsHead, data: bytes) -> FigureTable:
    """What a record holds, not copied. Raises ValueError where the bytes are not what the head says."""
    num_steps, shape = head.num_steps, (head.num_columns, head.num_rows, head.num_steps)
    if not is_fitting(head, len(data)):
        raise ValueError("a block of statistics is not as long as it should be")
    return FigureTable(
        digest=head.digest,
        steps=numpy.frombuffer(data, "<i8", num_steps),
        times=numpy.frombuffer(data, "<f8", num_steps, 8 * num_steps),
        values=numpy.frombuffer(data, "<f4", -1, STEP_BYTES * num_steps).reshape(shape),
        stride=head.stride,
    )


def is_fitting(head: StatisticsHead, num_bytes: int) -> bool:
    """Whether so many bytes can be what the head says."""
    if min(head.num_columns, head.num_rows) < 0 or min(head.num_steps, head.stride) < 1:
        return False
    of_step = STEP_BYTES + FIGURE_BYTES * head.num_columns * head.num_rows
    return head.num_steps * of_step == num_bytes


def joined_tables(tables: Sequence[FigureTable]) -> FigureTable:
    """One after the other. They are of the same rows, and as thin as the thinnest of them."""
    if len(tables) == 1:
        return tables[0]
    return FigureTable(
        digest=tables[0].digest,
        steps=numpy.concatenate([table.steps for table in tables]),
        times=numpy.concatenate([table.times for table in tables]),
        values=numpy.concatenate([table.values for table in tables], axis=2),
        stride=max(table.stride for table in tables),
    )
