"""A part of a run straight from its tables, as the writer's tests look at it: no reader of ours between."""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.run import RunWarning


class RawPoints(NamedTuple):
    """All points of a name, block after block."""

    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float64]


class RawPart:
    """A part, opened for a moment for each question."""

    def __init__(self, folder: Path, name: str = "rank-0") -> None:
        self.path = folder / f"{name}.sqlite"

    def ask(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(question, values).fetchall()

    def names(self, kind: str = "scalar") -> list[str]:
        return [name for (name,) in self.ask("SELECT name FROM names WHERE kind = ? ORDER BY id", kind)]

    def points(self, name: str) -> RawPoints:
        """Fails where blocks overlap, leave a gap, or are not as long as they say."""
        blocks = self.ask(
            "SELECT first, count, num_bad, steps, times, vals FROM points WHERE name = "
            "(SELECT id FROM names WHERE kind = 'scalar' AND name = ?) ORDER BY first",
            name,
        )
        columns: list[list[NDArray[Any]]] = [[], [], []]
        num_points = 0
        for first, count, num_bad, *raw in blocks:
            assert first == num_points
            assert [len(column) for column in raw] == [8 * count] * 3
            for found, column, kind in zip(columns, raw, ("<i8", "<f8", "<f8"), strict=True):
                found.append(numpy.frombuffer(column, dtype=kind))
            assert num_bad == numpy.count_nonzero(~numpy.isfinite(columns[2][-1]))
            num_points += count
        steps, times, values = columns
        return RawPoints(
            numpy.concatenate([numpy.empty(0, "<i8"), *steps]),
            numpy.concatenate([numpy.empty(0), *times]),
            numpy.concatenate([numpy.empty(0), *values]),
        )

    def records(self, kind: str, name: str) -> list[tuple[int, bytes]]:
        """Steps and bytes."""
        return self.ask(
            "SELECT r.step, d.bytes FROM records r JOIN data d ON d.record = r.id "
            "JOIN names n ON n.id = r.name WHERE n.kind = ? AND n.name = ? ORDER BY r.id",
            kind,
            name,
        )

    def session(self, column: str, number: int = -1) -> Any:
        return self.ask(f"SELECT {column} FROM sessions ORDER BY id")[number][0]

    def num_blocks(self) -> int:
        return int(self.ask("SELECT count(*) FROM points")[0][0])

    def is_intact(self) -> bool:
        return self.ask("PRAGMA integrity_check") == [("ok",)]


def quick_folder() -> TemporaryDirectory[str]:
    """A folder in memory where there is one: what is tested is the writing, not the disk of the moment."""
    memory = "/dev/shm"
    return TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


def parts_in(folder: Path) -> list[RawPart]:
    return [RawPart(folder, name) for name in sorted(path.stem for path in folder.glob("*.sqlite"))]


@contextmanager
def told() -> Iterator[list[str]]:
    """What somebody was told, in order. Warnings from the writer's thread are in it, too."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    messages += [str(warning.message) for warning in caught if issubclass(warning.category, RunWarning)]
