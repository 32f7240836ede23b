"""The rings of one child: the current one, and older ones until all that came through them is on disk."""

from __future__ import annotations

from collections.abc import Iterator

from torcheer.errors import InspectorError
from torcheer.inspector.child.losing import lost_frames
from torcheer.inspector.frames import Layout
from torcheer.inspector.messages import Lost
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan


class Rings:
    """In the order in which they were made."""

    def __init__(self) -> None:
        self._rings: list[tuple[Plan, Ring]] = []

    def __iter__(self) -> Iterator[tuple[Plan, Ring]]:
        return iter(self._rings)

    @property
    def current(self) -> Ring | None:
        return self._rings[-1][1] if self._rings else None

    def add(self, plan: Plan) -> Ring:
        """Raises InspectorError where there is no room."""
        slot_bytes = Layout(plan).num_bytes
        try:
            ring = Ring.of_size(plan.num_slots, slot_bytes)
        except OSError as error:
            raise InspectorError(
                f"there is no room for {plan.num_slots * slot_bytes / 1e6:,.0f} MB of shared memory "
                f"({error}): watch fewer layers, or keep smaller pieces of tensors."
            ) from error
        self._rings.append((plan, ring))
        return ring

    @property
    def has_something_left(self) -> bool:
        """Whether a child would have something to do: to read, or to say that it is lost."""
        return any(ring.num_waiting or ring.num_kept < ring.num_given_back for _, ring in self._rings)

    def lost(self, *, also_waiting: bool = False) -> list[Lost]:
        """What a child that is gone had read and not put on disk. Each frame is counted once.

        `also_waiting`: what nobody has read, too, for there is nobody any more.
        """
        found = []
        for plan, ring in self._rings:
            if also_waiting:
                ring.give_back(ring.num_waiting)
            lost = lost_frames(ring, plan, range(ring.num_kept, ring.num_given_back), "killed")
            ring.note_kept(ring.num_given_back)
            if lost is not None:
                found.append(lost)
        return found

    def drop_old(self) -> None:
        """Those that are done with."""
        while len(self._rings) > 1 and self._rings[0][1].num_kept >= self._rings[0][1].num_filled:
            self._rings.pop(0)[1].memory.close()

    def let_go(self) -> None:
        """No other process is to see them. Their counters can be read as long as somebody has them."""
        for _, ring in self._rings:
            ring.memory.close()
