"""One event of a file: its time, its step, and the values in it."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Final

from torcheer.run.events import protobuf as pb

_START: Final = 1  # of a session: what was logged from this step on does not count any more


@dataclass(slots=True, kw_only=True)
class Event:
    """One event, as far as it concerns us. A plain record: it is filled field by field."""

    time: float = 0.0
    step: int = 0
    values: list[bytes] = field(default_factory=list)
    restarts: bool = False
    has_graph: bool = False


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
_DOUBLE: Final = struct.Struct("<d")
_SINGLE: Final = struct.Struct("<f")


def simple_point(data: bytes) -> tuple[float, int, bytes, float] | None:
    """Time, step, name and value of an event that is one simple value; None for any other."""
    match = _SIMPLE.fullmatch(data)
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


def read_event(data: bytes) -> Event:
    event = Event()
    for number, _, value in pb.fields(data):
        if number == 1:
            event.time = pb.double(value)
        elif number == 2:
            event.step = pb.signed(value)
        elif number == 4:
            event.has_graph = True
        elif number == 5:
            event.values += [pb.inner(one) for key, _, one in pb.fields(pb.inner(value)) if key == 1]
        elif number == 7:
            event.restarts = any(key == 1 and one == _START for key, _, one in pb.fields(pb.inner(value)))
    return event
