"""What the training and its child say to each other beside the ring: seldom, and never much."""

from __future__ import annotations

from typing import Literal

import msgspec

from torcheer.inspector.rows import Plan
from torcheer.inspector.thresholds import Thresholds
from torcheer.run import OUR_NUMBERS


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """One line between the processes."""


# --- to the child ----------------------------------------------------------------------------------


class Job(Message, frozen=True, tag="job"):
    """What the child is for. The first thing that it hears."""

    run: str | None  # the folder of the run; None where nothing is kept
    rank: int
    max_bytes: int  # of tensors in the run
    every: str  # as it was asked for, for people
    thresholds: Thresholds | None  # None: no alarms
    histogram_seconds: float  # between two histograms of a row; 0 for none
    keeps_tensors: bool
    idle_seconds: float  # ends by itself when nothing came for so long; 0 for never
    parent: int  # the process to watch
    is_again: bool  # the child before this one was killed
    follows_losses: bool = False  # looks for losses that the training logs into the run by itself
    name: str = ""  # of the watch, where several watch the same run

    def named(self, numbers: Numbers) -> Numbers:
        """With the names that these have in the run: those of rank 0 of a watch without a name as they are.

        So each series has one point a step, and those of other ranks stand beside it: `rank-1/loss`.
        """
        own = (f"rank-{self.rank}/" if self.rank else "") + (f"{self.name}/" if self.name else "")
        ours = OUR_NUMBERS  # stay in front, by which they are known
        values = {
            f"{ours}{own}{name.removeprefix(ours)}" if name.startswith(ours) else f"{own}{name}": value
            for name, value in numbers.values.items()
        }
        return msgspec.structs.replace(numbers, values=values) if own else numbers


class NewPlan(Message, frozen=True, tag="plan"):
    """Rows, and the ring in which they come: its descriptor comes along. The old ring is emptied first."""

    plan: Plan


class Numbers(Message, frozen=True, tag="numbers"):
    """Scalars that the training gave, such as the loss."""

    step: int
    time: float
    values: dict[str, float]
    are_kept: bool = False  # the training writes them into the run itself: they are for alarms alone


class Wake(Message, frozen=True, tag="wake"):
    """The ring is filling up."""


class Flush(Message, frozen=True, tag="flush"):
    """Put all that came before on disk, and say so."""

    ticket: int


class Close(Message, frozen=True, tag="close"):
    """Nothing more will come. `reason` where the training died of something."""

    reason: str = ""


ToChild = Job | NewPlan | Numbers | Wake | Flush | Close


# --- to the training -------------------------------------------------------------------------------


class Ready(Message, frozen=True, tag="ready"):
    """The child runs."""

    pid: int


class Raised(Message, frozen=True, tag="raised"):
    """An alarm."""

    alarm: str  # its kind: nan, exploding_gradient…
    layer: str
    variable: str
    step: int
    time: float
    value: float | None
    threshold: float | None
    message: str


class Told(Message, frozen=True, tag="told"):
    """Something to say to the user, once: a callback failed, the disk is full."""

    message: str


class Lost(Message, frozen=True, tag="lost"):
    """Records that are missing from the run, by the names of rows. The child tells what the disk refused."""

    reason: Literal["full", "killed", "budget", "error"]
    counts: dict[str, int]
    first_step: int
    last_step: int
    time: float


class Flushed(Message, frozen=True, tag="flushed"):
    ticket: int


class Failed(Message, frozen=True, tag="failed"):
    """The child could not begin, and ends."""

    message: str


class Idle(Message, frozen=True, tag="idle"):
    """Nothing came for a long time: the child ends. What comes later starts another."""


ToParent = Ready | Raised | Told | Flushed | Failed | Idle | Lost
