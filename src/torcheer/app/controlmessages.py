"""What a page can ask of the trainings that it may control, and what the server answers; see `frames`.

What a training observes is in its run, and asked for there: scalars, tables, the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from torcheer.app.frames import Answer, Name, Question
from torcheer.training.control import (
    About,
    Counters,
    Fault,
    Init,
    RunOn,
    SetLive,
    State,
    Step,
    Stop,
    TestAll,
    TestItem,
    Value,
)


class Abort(Struct, frozen=True, kw_only=True, tag="abort"):
    """End the process, whatever it is doing: what is in memory only is lost, the run stays."""


Action = Init | RunOn | Step | Stop | TestItem | TestAll | SetLive | Abort


# --- what a page asks ------------------------------------------------------------------------


class ControlsQuestion(Question, frozen=True, tag="controls"):
    """Which trainings can be controlled, and how do they go? Followed."""


class ControlQuestion(Question, frozen=True, tag="control"):
    """All about one of them. Followed: each answer is whole. The first question brings it to life."""

    control_id: Name


class ControlDoQuestion(Question, frozen=True, tag="control_do"):
    """Do that, please. Answered when it was passed on, or refused; other answers tell what comes of it."""

    control_id: Name
    action: Action


# --- what the server answers -----------------------------------------------------------------


class ControlListing(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    target: str  # examples/etra25.py:loop
    state: State
    doing: str
    counters: Counters


class ControlsAnswer(Answer, frozen=True, tag="controls"):
    controls: Sequence[ControlListing]


class ControlAnswer(Answer, frozen=True, tag="control"):
    """How a training goes. Answers come at most some twenty times a second."""

    listing: ControlListing
    about: About | None  # None until the process has said so for the first time
    values: Mapping[str, Value]  # of all parameters, as they are in force
    seed: int
    run_id: str  # of the run that is written now; empty where there is none yet
    run_ids: Sequence[str]  # of all runs since Init, this one included
    all_run_ids: Sequence[str]  # of earlier Inits, too, the oldest first
    note: str  # what a person should know since Init, such as why there is no network; several are lines
    fault: Fault | None
    refusal: str  # why the last command was not carried out; empty where it was
    refused_field: str


class ControlDoneAnswer(Answer, frozen=True, tag="control_done"):
    pass


AnyControlQuestion = ControlsQuestion | ControlQuestion | ControlDoQuestion
AnyControlAnswer = ControlsAnswer | ControlAnswer | ControlDoneAnswer
