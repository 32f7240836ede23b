"""What a child that was killed had put on disk without being able to say so: that is not missing."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from torcheer.inspector.child.ondisk import Stretch, there
from torcheer.inspector.messages import Lost, Numbers
from torcheer.run import RunReader, SqlitePart, plain_text, rank_in


class Resumed:
    """What is in the run already. Made before anything is written; in doubt, nothing is there.

    What is lost has to be heard before frames are read, too: what is read is written, and then there.
    """

    def __init__(self, folder: str, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._known: set[tuple[str, float]] = set()  # gaps, by reason and time
        self._numbers_until: dict[str, float] = {}  # the time of the last point that was written, by name
        with suppress(Exception):  # it can be read later, or not at all: then what is there counts twice
            self._look()

    def missing(self, lost: Lost) -> Lost | None:
        """What of it is missing and not in the run already."""
        if (lost.reason, lost.time) in self._known:
            return None
        if lost.reason not in ("killed", "error") or not lost.counts:
            return lost
        found = there(self._folder, self._rank, Stretch(lost.first_step, lost.last_step, lost.time))
        left = {name: count - found.counts.get(plain_text(name), 0) for name, count in lost.counts.items()}
        counts = {name: count for name, count in left.items() if count > 0}
        # Frames are written in order: what is missing, came after what is there.
        first_step = min(max(lost.first_step, found.last_step + 1), lost.last_step)
        return msgspec.structs.replace(lost, counts=counts, first_step=first_step) if counts else None

    def new_of(self, numbers: Numbers) -> Numbers:
        """Those that are not in the run already."""
        if not self._numbers_until:
            return numbers
        until = self._numbers_until
        values = {
            name: value
            for name, value in numbers.values.items()
            if numbers.time > until.get(plain_text(name), 0.0)
        }
        return msgspec.structs.replace(numbers, values=values)

    def _look(self) -> None:
        reader = RunReader(self._folder)
        try:
            gaps = reader.events().gaps
            self._known = {(gap.reason, gap.time) for gap in gaps if gap.rank == self._rank}
            for part in reader.parts().values():
                # A child's, whichever of them: after two were killed, each may take the file of the other.
                if isinstance(part, SqlitePart) and rank_in(part.name) == self._rank and part.watches():
                    for key, entry in part.series().items():
                        if key.kind == "scalar":
                            until = self._numbers_until.get(key.name, 0.0)
                            self._numbers_until[key.name] = max(until, entry.last_time)
        finally:
            reader.close()
