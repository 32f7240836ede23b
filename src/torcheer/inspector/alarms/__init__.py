"""Something in a training that a person should look at: what it is, where, and since when.

`Alarms` shows each frame and each number to all kinds of alarms, which say what is to be raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms.activations import DeadUnits, Saturated
from torcheer.inspector.alarms.common import Finding, FrameFigures, Kind
from torcheer.inspector.alarms.gradients import ExplodingGradient, VanishingGradient
from torcheer.inspector.alarms.values import LossSpike, Nonfinite
from torcheer.inspector.alarms.weights import StuckWeight
from torcheer.inspector.frame_format import Frame, Plan
from torcheer.inspector.protocol import Numbers, Raised, Thresholds

# By the names that they have in a run, and what switches them off.
_KINDS: Final[dict[str, tuple[Callable[[Plan, Thresholds], Kind], tuple[str, ...]]]] = {
    "nan": (Nonfinite, ("nonfinite",)),
    "exploding_gradient": (ExplodingGradient, ("exploding_gradient", "gradient_norm")),
    "vanishing_gradient": (VanishingGradient, ("vanishing_gradient",)),
    "dead_units": (DeadUnits, ("dead_units",)),
    "saturated": (Saturated, ("saturated",)),
    "loss_spike": (LossSpike, ("loss_spike",)),
    "stuck_weight": (StuckWeight, ("stuck_weight",)),
}
KINDS: Final = tuple(_KINDS)
_MOST_AT_ONCE: Final = 3  # of one kind at one step: of 40 layers that suffer alike, nobody reads 40 messages


class Alarms:
    """Looks at the frames of one plan, in their order."""

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._kinds: dict[str, Kind] = {
            name: kind(plan, thresholds)
            for name, (kind, switches) in _KINDS.items()
            if any(getattr(thresholds, switch) not in (None, False) for switch in switches)
        }

    def renewed(self, plan: Plan) -> Alarms:
        """The same for another plan: what was raised stays raised, what is usual stays usual."""
        alarms = Alarms.__new__(Alarms)
        alarms._kinds = {name: kind.renewed(plan) for name, kind in self._kinds.items()}
        return alarms

    def look(self, frame: Frame, figures: NDArray[numpy.float32]) -> list[Raised]:
        """`figures` are those of this frame: [row][column]."""
        sight = FrameFigures(frame, figures)
        raised = []
        with numpy.errstate(all="ignore"):
            for name, kind in self._kinds.items():
                raised += _raised(name, kind.look(sight), frame.step, frame.time)
        return raised

    def look_at_numbers(self, numbers: Numbers) -> list[Raised]:
        raised = []
        for name, kind in self._kinds.items():
            raised += _raised(name, kind.look_at_numbers(numbers), numbers.step, numbers.time)
        return raised


def _raised(kind: str, findings: list[Finding], step: int, time: float) -> list[Raised]:
    told, rest = findings[:_MOST_AT_ONCE], len(findings) - _MOST_AT_ONCE
    if rest > 0:
        others = "1 other" if rest == 1 else f"{rest:,} others"
        told[-1] = told[-1]._replace(message=f"{told[-1].message} (and {others} at this step)")
    return [Raised(alarm=kind, step=step, time=time, **finding._asdict()) for finding in told]
