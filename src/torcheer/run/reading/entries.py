"""A row of the table of records as an entry, once it was looked at: nothing in it is believed before."""

from __future__ import annotations

import msgspec

from torcheer.run.parts import RecordEntry, is_moment
from torcheer.run.reading.fitting import fits
from torcheer.run.reading.queries import Damage, Row
from torcheer.run.records import decode_head


def entry_of(part: str, row: Row, damage: Damage) -> RecordEntry | None:
    """None for what is no record; the damage says why."""
    number, step, time, num_bytes, head, length = row
    try:
        if type(step) is not int or type(num_bytes) is not int or not is_moment(time):
            raise ValueError("some records are not what they should be")
        decoded = decode_head(head)
        if length not in (num_bytes, None) or not fits(decoded, num_bytes):
            raise ValueError("some records are not as long as they should be")
    except (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError):
        damage.add("some records do not say what they are")
        return None
    except ValueError as error:
        damage.add(str(error))
        return None
    return RecordEntry(id=number, part=part, step=step, time=float(time), num_bytes=num_bytes, head=decoded)


def kind_of(entry: RecordEntry) -> str:
    return str(entry.head.__struct_config__.tag)
