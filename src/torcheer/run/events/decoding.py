"""One event of a file: its time, its step, and the values in it."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from torcheer.run.events import protobuf as pb

_START: Final = 1  # of a session: what was logged from this step on does not count any more


@dataclass(slots=True, kw_only=True)
class Event:
    """One event but for its values. A plain record: it is filled field by field."""

    time: float = 0.0
    step: int = 0
    restarts: bool = False
    has_graph: bool = False


class PlacedValue(NamedTuple):
    """One value of a summary, and where in the event it stands."""

    message: pb.Buffer
    offset: int


# An event with nothing but one simple value: most are, and reading them this way takes a third of the time.
_NUMBER: Final = rb"([\x80-\xff]{0,9}[\x00-\x7f])"
_SIMPLE: Final = re.compile(
    rb"\x09(.{8})(?:\x10"
    + _NUMBER
    + rb")?\x2a"
    + _NUMBER
    + rb"\x0a"
    + _NUMBER
    + rb"\x0a"
    + _NUMBER
    + rb"(.*)\x15(.{4})",
    re.DOTALL,
)
_MOST_SIMPLE_BYTES: Final = 4096  # longer ones are something else
_DOUBLE: Final = struct.Struct("<d")
_SINGLE: Final = struct.Struct("<f")


def simple_point(data: bytes) -> tuple[float, int, bytes, float] | None:
    """Time, step, name and value of an event that is one simple value; None for any other."""
    match = _SIMPLE.fullmatch(data) if len(data) <= _MOST_SIMPLE_BYTES else None
    if match is None:
        return None
    time, step, outer, middle, length, name, value = match.groups()
    rest = len(length) + len(name) + 6
    if (
        pb.read_varint(length, 0)[0] != len(name)
        or pb.read_varint(middle, 0)[0] != rest
        or pb.read_varint(outer, 0)[0] != rest + len(middle) + 1
    ):
        return None
    number = 0 if step is None else step[0] if len(step) == 1 else pb.signed(pb.read_varint(step, 0)[0])
    return _DOUBLE.unpack(time)[0], number, name, _SINGLE.unpack(value)[0]


def simple_value(message: pb.Buffer) -> tuple[str, float] | None:
    """Name and value of a value that is a number with a short name and nothing else; None for any other."""
    length = len(message) - 7
    if 0 <= length < 0x80 and message[0] == 0x0A and message[1] == length and message[2 + length] == 0x15:
        return str(message[2 : 2 + length], "utf-8", "replace"), _SINGLE.unpack_from(message, 3 + length)[0]
    return None


def read_event(data: pb.Buffer) -> Event:
    event = Event()
    for number, _, value in pb.fields(memoryview(data)):
        if number == 1:
            event.time = pb.double(value)
        elif number == 2:
            event.step = pb.signed(value)
        elif number == 4:
            event.has_graph = True
        elif number == 5:
            pb.inner(value)
        elif number == 7:
            event.restarts = any(key == 1 and one == _START for key, _, one in pb.fields(pb.inner(value)))
    return event


def values_of_event(data: pb.Buffer) -> Iterator[PlacedValue]:
    """One after the other: there may be very many of them, each of a few bytes."""
    for number, _, summary, offset in pb.placed_fields(memoryview(data)):
        if number == 5:
            for value in values_of_summary(pb.inner(summary)):
                yield PlacedValue(value.message, offset + value.offset)


def values_of_summary(data: pb.Buffer) -> Iterator[PlacedValue]:
    for number, _, value, offset in pb.placed_fields(memoryview(data)):
        if number == 1:
            yield PlacedValue(pb.inner(value), offset)
