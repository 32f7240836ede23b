"""What is handed from the training to the writer's thread: copied already, encoded later."""

from __future__ import annotations

from collections.abc import Callable
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
    """One record to be. `encode` runs in the writer's thread: what the training owns, it must not touch."""

    kind: Kind
    name: str
    step: int
    time: float
    num_bytes: int  # that it holds until it is written
    encode: Callable[[], Encoded]
    description: str = ""
