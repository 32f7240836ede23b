"""Raise alarms: for what frames show, and for losses, whichever way they come. Run and user hear of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms import Alarms
from torcheer.inspector.child.following import Losses
from torcheer.inspector.child.keeper import Keeper
from torcheer.inspector.child.lifetime import Parent
from torcheer.inspector.child.telling import Voice
from torcheer.inspector.frames import Frame
from torcheer.inspector.messages import Job, Numbers, Raised
from torcheer.inspector.rows import Plan
from torcheer.run import is_loss

_LAST_LOSS_SECONDS: Final = 0.3  # a run is written a few times a second


class Noticing:
    """The alarms of one child. Where none are wanted, it does nothing."""

    def __init__(self, job: Job, keeper: Keeper, voice: Voice) -> None:
        self._thresholds, self._keeper, self._voice = job.thresholds, keeper, voice
        self._alarms: Alarms | None = None
        self._losses: Losses | None = None
        if job.run is not None and job.follows_losses and job.thresholds is not None:
            self._losses = Losses(job.run, job.rank, is_loss)

    def begin(self, plan: Plan) -> None:
        """From here on frames have these rows. What was raised before stays raised."""
        if self._alarms is not None:
            self._alarms = self._alarms.renewed(plan)
        elif self._thresholds is not None:
            self._alarms = Alarms(plan, self._thresholds)

    def look(self, frames: Sequence[Frame], table: NDArray[numpy.float32]) -> None:
        """Figures as [frame][row][column]."""
        if self._alarms is not None:
            for frame, figures in zip(frames, table, strict=True):
                self._raise(self._alarms.look(frame, figures))

    def look_at(self, numbers: Numbers, names: Iterable[str] = ()) -> None:
        """`names` are those that they have in the run, where they need not be found again."""
        if self._losses is not None:
            self._losses.known_names.update(names)
        if self._alarms is not None:
            self._raise(self._alarms.look_at_numbers(numbers))

    def follow_losses(self, *, at_once: bool = False) -> None:
        """Those that the training logs into the run by itself."""
        if self._losses is None or self._alarms is None:
            return
        try:
            found = self._losses.new(at_once=at_once)
        except Exception:  # a file that is being written, moved or deleted: the next look may see more
            return
        for numbers in found:
            self.look_at(numbers)

    def follow_the_last_losses(self, parent: Parent) -> None:
        """What a training dies of, it often logs last, and that is written a moment later."""
        self.follow_losses(at_once=True)
        if self._losses is not None and self._losses.are_being_written and not parent.is_gone:
            parent.wait(_LAST_LOSS_SECONDS)
            self.follow_losses(at_once=True)

    def _raise(self, alarms: Sequence[Raised]) -> None:
        for alarm in alarms:
            self._keeper.alarm(alarm)
            self._voice.raise_alarm(alarm)
