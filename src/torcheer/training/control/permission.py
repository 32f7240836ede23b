"""Which commands make sense in which state, and what to do where one does not. Both ends of the pipes ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from torcheer.training.control.protocol import (
    Command,
    Init,
    RunOn,
    SetLive,
    State,
    Step,
    Stop,
    TestAll,
    TestItem,
)

_BEGINNINGS: Final[tuple[State, ...]] = ("new", "ready", "done")
_TESTABLE: Final[tuple[State, ...]] = ("ready", "done")
_ALIVE: Final[tuple[State, ...]] = ("ready", "busy", "stopping", "done")
# `Stop` is for any state: what it is to end may just have ended.
_STATES: Final[Mapping[type, tuple[State, ...]]] = {
    Init: _BEGINNINGS,
    RunOn: ("ready",),
    Step: ("ready",),
    TestItem: _TESTABLE,
    TestAll: _TESTABLE,
    SetLive: _ALIVE,
}
_REASONS: Final[Mapping[State, str]] = {
    "starting": "the training is starting: wait until it is ready.",
    "new": "nothing is initialised yet: Init comes first.",
    "done": "all runs are over: Init begins anew.",
    "failed": "the training has failed: Init starts it anew.",
    "died": "the process of the training is gone: Init starts another one.",
}


def why_not(command: Command, state: State, doing: str) -> str:
    """Why this cannot be done now; empty where it can."""
    if isinstance(command, Stop) or state in _STATES[type(command)]:
        return ""
    return _REASONS.get(state, f"{doing} is under way: stop it first.")


def doing_of(command: Command) -> str:
    """What is under way while it is carried out: `Step 3 epochs`."""
    match command:
        case Step(level=level, count=count):
            return f"Step {count:,} {level}{'' if count == 1 else 's'}"
        case TestItem(item=item):
            return f"Test item {item}"
        case TestAll():
            return "Test all"
        case RunOn():
            return "Run"
        case Init():
            return "Init"
        case _:
            return ""
