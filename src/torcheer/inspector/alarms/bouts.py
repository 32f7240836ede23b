"""Raise an alarm once: after it was bad for so long, and again only when it has been well for so long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms.sight import Indices, Marks

WELL: Final = 0.9  # of a limit: what lies between is neither bad nor well, and raises nothing again and again


class Bouts:
    """For each of some places: since how many steps it is bad or well, and whether that was said."""

    def __init__(self, count: int, steps: int, well_steps: int) -> None:
        self._steps, self._well_steps = steps, well_steps
        self.num_bad = numpy.zeros(count, dtype=numpy.int64)
        self.num_well = numpy.zeros(count, dtype=numpy.int64)
        self.is_raised = numpy.zeros(count, dtype=numpy.bool_)

    def update(self, is_bad: Marks, is_known: Marks) -> Indices:
        """The places of which an alarm is due. What is not known now changes nothing."""
        is_bad, is_well = is_bad & is_known, ~is_bad & is_known
        self.num_bad[is_bad] += 1
        self.num_well[is_bad] = 0
        self.num_well[is_well] += 1
        self.num_bad[is_well] = 0
        self.is_raised[self.num_well >= self._well_steps] = False
        is_due = is_bad & ~self.is_raised & (self.num_bad >= self._steps)
        self.is_raised |= is_due
        return numpy.flatnonzero(is_due)

    def pairs_with(self, old: Bouts) -> Iterable[tuple[NDArray[Any], NDArray[Any]]]:
        """What `Places.carry` copies."""
        return [
            (self.num_bad, old.num_bad),
            (self.num_well, old.num_well),
            (self.is_raised, old.is_raised),
        ]
