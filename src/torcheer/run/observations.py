"""What is handed to the writer: copied, to be encoded in the encoder's thread, or encoded already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torcheer.run.records import AnyHead, Kind


class Document(NamedTuple):
    """A pass without its tensors, stored once for all records that name it."""

    hash: str
    json: bytes


class Encoded(NamedTuple):
    """A record as it is stored."""

    head: AnyHead
    data: bytes
    document: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One record to be. `encode` runs in the encoder's thread: what the training owns, it must not touch."""

    kind: Kind
    name: str
    step: int
    time: float
    num_bytes: int  # that it holds until it is written
    encode: Callable[[], Encoded]
    description: str = ""


class EncodedRecord(NamedTuple):
    """A record as it goes into the tables. Whoever makes one has the types right: nothing is converted."""

    kind: Kind
    name: str
    step: int
    time: float  # seconds since 1970
    head: AnyHead | bytes  # as JSON where they are bytes
    data: bytes
    description: str = ""
    document: Document | None = None

    @property
    def series(self) -> tuple[str, str]:
        return self.kind, self.name

    @property
    def num_bytes(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Bulk:
    """Records that were handed over together, encoded already."""

    records: Sequence[EncodedRecord]
    num_bytes: int

    @property
    def weight(self) -> int:
        """As how many records it counts in the queue: these take far less work than others."""
        return 1 + len(self.records) // 64


def bulk_of(records: Sequence[EncodedRecord], most_bytes: int) -> Bulk:
    """Those that are not larger than a record may be; the caller may do with the list what it likes."""
    sizes = [len(record[5]) for record in records]
    if sizes and max(sizes) > most_bytes:
        return bulk_of([record for record in records if record.num_bytes <= most_bytes], most_bytes)
    return Bulk(tuple(records), sum(sizes))
