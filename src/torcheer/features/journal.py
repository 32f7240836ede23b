"""What is finished. Each process writes a journal of its own: a line for each batch, after its rows are
synced.

A line that was cut off by a kill is no line. Whoever reads takes the lines of all journals together, so it
does not matter how many processes there were, nor how often one of them was started again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
import numpy
from numpy.typing import NDArray

FOLDER: Final = "done"


class RaggedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of a batch are, whose samples have different shapes: one after the other in a part."""

    part: str
    start: int  # the number of the first value
    shapes: tuple[tuple[int, ...], ...]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that is finished."""

    batch: int
    first: int  # of its rows
    rows: int
    inputs: str = ""  # a checksum of what went into the model
    machine: str = ""  # a mark of what computed it; "" where it is not known
    places: dict[str, RaggedPlace] = {}  # by the file of an array
    texts: dict[str, tuple[str, ...]] = {}


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A stream has ended: so many there are."""

    batches: int
    total_rows: int


def line_of(entry: Done | Ended) -> bytes:
    return msgspec.json.encode(entry) + b"\n"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What all journals say together."""

    done: Mapping[int, Done]  # by the number of the batch
    ended: Ended | None

    @property
    def num_rows(self) -> int:
        return sum(one.rows for one in self.done.values())

    def rows_done(self, num_rows: int) -> NDArray[numpy.bool_]:
        """For each sample whether it is there."""
        mask = numpy.zeros(num_rows, dtype=bool)
        for one in self.done.values():
            mask[one.first : one.first + one.rows] = True
        return mask


def read_journals(contents: Iterable[bytes]) -> Progress:
    """Of all of them, in the order of their names: where two did the same batch, the first one counts."""
    done: dict[int, Done] = {}
    ended: Ended | None = None
    for content in contents:
        for line in content.split(b"\n")[:-1]:  # what has no end is not there
            entry = _entry_of(line)
            if isinstance(entry, Done):
                done.setdefault(entry.batch, entry)
            elif entry is not None:
                ended = entry
    return Progress(done=dict(sorted(done.items())), ended=ended)


_MOST_ROWS: Final = 1 << 48
_DECODERS: Final[tuple[Any, ...]] = (msgspec.json.Decoder(Done), msgspec.json.Decoder(Ended))


def _entry_of(line: bytes) -> Done | Ended | None:
    """A journal may come from anywhere: None for what is no entry, or cannot be."""
    for decoder in _DECODERS:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            entry: Done | Ended = decoder.decode(line)
            numbers = [value for value in msgspec.structs.astuple(entry) if isinstance(value, int)]
            return entry if all(0 <= number < _MOST_ROWS for number in numbers) else None
    return None
