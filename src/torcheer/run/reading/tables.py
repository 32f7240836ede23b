"""Scalars as tables: long and wide CSV, and data frames."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TextIO

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.parts import Points
from torcheer.run.reading.finding import is_event_file, is_part
from torcheer.run.reading.reader import RunReader
from torcheer.run.reading.scalars import needed_pandas
from torcheer.run.schema import LOCK_ENDING
from torcheer.tensorfile import write_whole

_CHUNK: Final = 10_000


def scalar_names(reader: RunReader) -> list[str]:
    return [key.name for key in reader.series() if key.kind == "scalar"]


def write_csv(
    reader: RunReader, stream: TextIO, *, names: Collection[str] | None = None, wide: bool = False
) -> None:
    """All scalars, or some. Numbers are written so that reading them gives the same numbers again."""
    chosen = list(scalar_names(reader) if names is None else names)
    writer = csv.writer(stream, lineterminator="\n")
    if wide:
        writer.writerow(["step", *chosen])
        writer.writerows(_wide_rows(reader, chosen))
    else:
        writer.writerow(["name", "step", "time", "value"])
        for name in chosen:
            writer.writerows(_long_rows(name, reader.points(name)))


def save_csv(
    reader: RunReader,
    path: str | os.PathLike[str],
    *,
    names: Collection[str] | None = None,
    wide: bool = False,
) -> None:
    """The same into a file, which is there when it is whole."""
    save_table(path, lambda stream: write_csv(reader, stream, names=names, wide=wide))


def save_table(path: str | os.PathLike[str], write_rows: Callable[[TextIO], None]) -> None:
    """Write a table to a file of its own."""
    target = Path(path)
    if is_part(target.name) or is_event_file(target.name) or target.suffix == LOCK_ENDING:
        raise InputError(f"{target} is a file of a run: name another one, such as scalars.csv.")

    def write(file: BinaryIO) -> None:
        stream = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        write_rows(stream)
        stream.detach()

    write_whole(target, "a table", write, "scalars.csv")


def scalars_frame(reader: RunReader, names: Collection[str] | None = None) -> Any:
    """A row for each step, a column for each scalar, the last value of a step."""
    pandas = needed_pandas("scalars_frame")
    chosen = list(scalar_names(reader) if names is None else names)
    steps, columns = _by_step(reader, chosen)
    data = {name: column.values for name, column in zip(chosen, columns, strict=True)}
    return pandas.DataFrame(data, index=pandas.Index(steps, name="step"), columns=chosen)


class _Column(NamedTuple):
    """A scalar by step: its last value there, NaN where it has none."""

    values: NDArray[numpy.float64]
    has_value: NDArray[numpy.bool_]


def _by_step(reader: RunReader, names: Collection[str]) -> tuple[NDArray[numpy.int64], list[_Column]]:
    """All steps, rising, and what each scalar has there."""
    series = [reader.points(name) for name in names]
    all_steps = [points.steps for points in series]
    steps = numpy.unique(numpy.concatenate(all_steps)) if all_steps else numpy.empty(0, numpy.int64)
    columns = []
    for points in series:
        column = _Column(numpy.full(len(steps), numpy.nan), numpy.zeros(len(steps), numpy.bool_))
        places = numpy.searchsorted(steps, points.steps)
        # Where a place is given twice, NumPy keeps what was given last.
        column.values[places] = points.values
        column.has_value[places] = True
        columns.append(column)
    return steps, columns


def _long_rows(name: str, points: Points) -> Iterator[tuple[str, int, float, float]]:
    for start in range(0, len(points.steps), _CHUNK):
        steps, times, values = (column[start : start + _CHUNK].tolist() for column in points)
        yield from zip([name] * len(steps), steps, times, values, strict=True)


def _wide_rows(reader: RunReader, names: Collection[str]) -> Iterator[tuple[Any, ...]]:
    steps, columns = _by_step(reader, names)
    for start in range(0, len(steps), _CHUNK):
        part = slice(start, start + _CHUNK)
        cells = [_cells(column.values[part], column.has_value[part]) for column in columns]
        yield from zip(steps[part].tolist(), *cells, strict=True)


def _cells(values: NDArray[numpy.float64], has_value: NDArray[numpy.bool_]) -> list[float | str]:
    return [value if there else "" for value, there in zip(values.tolist(), has_value.tolist(), strict=True)]
