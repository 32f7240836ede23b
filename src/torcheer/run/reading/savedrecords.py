"""Records of a run as a program gets them: what they are at once, their bytes when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, cast, overload

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.parts import RecordEntry
from torcheer.run.reading.reader import RunReader, record_id
from torcheer.run.records import AnyHead

H = TypeVar("H", bound=AnyHead)
R = TypeVar("R", bound="SavedRecord[Any]")


class SavedRecord(Generic[H]):
    """A record of a series. `head` says what it is, `raw` are its bytes."""

    __slots__ = ("_entry", "_reader", "name")

    def __init__(self, name: str, entry: RecordEntry, reader: RunReader) -> None:
        self.name = name
        self._entry = entry
        self._reader = reader

    @property
    def step(self) -> int:
        return self._entry.step

    @property
    def time(self) -> float:
        """Seconds since 1970."""
        return self._entry.time

    @property
    def num_bytes(self) -> int:
        return self._entry.num_bytes

    @property
    def head(self) -> H:
        return cast(H, self._entry.head)

    @property
    def raw(self) -> bytes:
        """Its bytes, read now. `torcheer.run.records` says what they are for each kind."""
        if not self.num_bytes:
            return b""
        data = self._reader.data(record_id(self._entry))
        if data is None:
            raise InputError(
                f"{self.name!r} at step {self.step} is not there any more: a run that grows beyond its "
                "max_bytes loses old records. Ask the run for the series again to see those that are left."
            )
        return data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write its bytes to a file."""
        Path(path).write_bytes(self.raw)

    def _about(self) -> str:
        return f"{self.num_bytes:,} bytes"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at step {self.step}: {self._about()}>"


class Records(Sequence[R], Generic[R]):
    """The records of a series, by step. Their bytes are read one at a time, when they are asked for."""

    def __init__(self, name: str, items: Sequence[R]) -> None:
        self.name = name
        self._items = items

    @property
    def steps(self) -> NDArray[numpy.int64]:
        return numpy.array([item.step for item in self._items], dtype=numpy.int64)

    @property
    def times(self) -> NDArray[numpy.float64]:
        return numpy.array([item.time for item in self._items], dtype=numpy.float64)

    def at(self, step: int) -> R:
        """The last record of that step."""
        places = numpy.flatnonzero(self.steps == step)
        if len(places):
            return self[int(places[-1])]
        raise InputError(f"{self.name!r} has no record at step {step}: {self._about_steps()}.")

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> R | Self:
        if isinstance(place, slice):
            return type(self)(self.name, self._items[place])
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[R]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"<Records {self.name!r}: {len(self)}, {self._about_steps()}>"

    def _about_steps(self) -> str:
        steps = self.steps
        if not len(steps):
            return "there are none"
        if len(steps) <= 8:
            return "steps " + ", ".join(map(str, steps))
        return f"{len(steps):,} from step {steps[0]} to {steps[-1]}, listed in .steps"
