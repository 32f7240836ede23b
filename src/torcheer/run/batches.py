"""What was taken from the queue, as it goes into the tables: columns of points, and encoded records."""

from __future__ import annotations

from dataclasses import dataclass, field

from torcheer.run.columns import Columns
from torcheer.run.observations import Bulk, EncodedRecord, Observation
from torcheer.run.queueing import Described, Item, Mark
from torcheer.run.telling import Teller

MOST_RECORD_BYTES = 512 << 20


@dataclass(slots=True, kw_only=True)
class Batch:
    """Taken together, written together. Kept as it is until it is on disk."""

    columns: dict[str, Columns] = field(default_factory=dict)
    records: list[EncodedRecord] = field(default_factory=list)
    descriptions: list[Described] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    num_taken: int = 0  # records that the queue counts, of which some may have come to nothing
    num_bytes: int = 0  # that it counts for them

    @property
    def num_events(self) -> int:
        return sum(columns.num_points for columns in self.columns.values()) + len(self.records)

    @property
    def is_empty(self) -> bool:
        return not (self.columns or self.records or self.descriptions)

    def pieces(self) -> list[Batch]:
        """The same in as many batches as there are things to write."""
        return [
            *(Batch(columns={name: columns}) for name, columns in self.columns.items()),
            *(Batch(records=[record]) for record in self.records),
            *(Batch(descriptions=[described]) for described in self.descriptions),
        ]

    def numbers(self) -> Batch:
        """What takes little room."""
        return Batch(columns=self.columns, descriptions=self.descriptions)

    def remove(self, piece: Batch) -> None:
        self.columns = {name: found for name, found in self.columns.items() if name not in piece.columns}
        written = {id(thing) for thing in (*piece.records, *piece.descriptions)}
        self.records = [record for record in self.records if id(record) not in written]
        self.descriptions = [described for described in self.descriptions if id(described) not in written]

    def named(self) -> str:
        """What is in it, as somebody would say it."""
        scalars = [f"scalar '{name}'" for name in self.columns]
        records = [f"{record.kind} '{record.name}'" for record in self.records[:3]]
        return ", ".join([*scalars, *records][:3]) or "a description"


def num_events_in(item: Item) -> int:
    """Points of a call; an observation is one, and words about a series are none."""
    if isinstance(item, Bulk):
        return len(item.records)
    return len(item[2]) if type(item) is tuple else int(isinstance(item, Observation))


def tell_too_large(teller: Teller, observation: Observation | EncodedRecord, num_bytes: int) -> None:
    teller.tell(
        f"{observation.kind} '{observation.name}' has {num_bytes:,} bytes, and a record at most "
        f"{MOST_RECORD_BYTES:,}: log a part of it.",
        cause=f"size of {observation.kind}",
        series=observation.name,
        num_dropped=1,
    )
