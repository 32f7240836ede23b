"""Commands to a training in another process, and its reports: lines of JSON through its pipes.

The training is a `tl.Loop`. Commands come one at a time; `Stop` and `SetLive` also while another one is
carried out, and take effect after the trial that is under way. No torch here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

Level = Literal["trial", "epoch", "run"]
Value = bool | int | float | str | None  # of a parameter; None where it may be left out

State = Literal[
    "starting",  # the process comes up, or builds what Init asked for
    "new",  # nothing was initialised yet: only Init makes sense
    "ready",  # stopped between two trials
    "busy",  # runs, steps or tests; `doing` says which
    "stopping",  # was told to stop, and finishes its trial
    "done",  # all runs are over
    "failed",  # an exception of the training; `fault` has it
    "died",  # the process is gone; `fault` says what is known of it
]


class FormField(Struct, frozen=True, kw_only=True):
    """A parameter, as a form shows it."""

    name: str
    label: str
    section: str
    form: Literal["integer", "number", "truth", "text", "choice"]
    value: Value  # as it stands in the code
    choices: Sequence[str] = ()
    low: float | None = None
    high: float | None = None
    is_optional: bool = False  # may be empty
    is_live: bool = False  # takes effect at once; others at the next Init
    about: str = ""
    requirement: str = ""  # what a value must be, as it stands below the field


class PlotLine(Struct, frozen=True, kw_only=True):
    """A scalar of the run, and what it is called in the plot."""

    name: str
    label: str


class Plot(Struct, frozen=True, kw_only=True):
    title: str
    lines: Sequence[PlotLine]


class About(Struct, frozen=True, kw_only=True):
    """What the training says of itself before anything is initialised."""

    name: str
    fields: Sequence[FormField]
    seed: int
    plots: Sequence[Plot]
    num_test_items: int | None = None  # None until it is initialised, and where there is no test


class Counters(Struct, frozen=True, kw_only=True):
    """Where the training is: what is done, so all begin with 0. Numbers that are not known yet are None."""

    run: int = 0
    num_runs: int | None = None
    epoch: int = 0
    num_epochs: int | None = None
    trial: int = 0  # of this epoch
    num_trials: int | None = None
    step: int = 0  # trials of this run, over all its epochs: the step of what is recorded


class Fault(Struct, frozen=True, kw_only=True):
    """What went wrong, and where."""

    error: str  # ZeroDivisionError; empty where the process was killed
    message: str
    place: str  # etra25.py, line 41, in loss; empty where that is not known
    trace: str  # the whole traceback, or the last lines that the process wrote


class Init(Struct, frozen=True, kw_only=True, tag="init"):
    """Begin anew, with these parameters over those of the code."""

    values: Mapping[str, Value]
    seed: int


class RunOn(Struct, frozen=True, kw_only=True, tag="run"):
    """Go on to the end of all runs."""


class Step(Struct, frozen=True, kw_only=True, tag="step"):
    level: Level
    count: Annotated[int, Meta(ge=1, le=1_000_000_000)]


class Stop(Struct, frozen=True, kw_only=True, tag="stop"):
    """End what is under way after this trial."""


class TestItem(Struct, frozen=True, kw_only=True, tag="test_item"):
    item: Annotated[int, Meta(ge=0)]


class TestAll(Struct, frozen=True, kw_only=True, tag="test_all"):
    """Test every item of the test set."""


class SetLive(Struct, frozen=True, kw_only=True, tag="set_live"):
    """New values of live parameters, and of what is shown."""

    values: Mapping[str, Value]


Command = Init | RunOn | Step | Stop | TestItem | TestAll | SetLive


class AboutReport(Struct, frozen=True, kw_only=True, tag="about"):
    about: About
    sources: Mapping[str, int] = {}  # the user's files that were imported, and when they were changed, in ns


class StatusReport(Struct, frozen=True, kw_only=True, tag="status"):
    values: Mapping[str, Value]  # of all parameters, as they are in force
    seed: int
    state: State = "new"
    doing: str = ""  # Run, Step 3 epochs, Test all; empty where nothing is under way
    counters: Counters = Counters()
    runs: tuple[str, ...] = ()  # the folders of all runs since Init, the one that is written now last
    num_taken: int = 0  # commands that came before this: where more were sent, it is out of date
    note: str = ""  # what a person should know since Init: why there is no network, a loss of NaN


class FaultReport(Struct, frozen=True, kw_only=True, tag="fault"):
    """The training has raised, and its process ends. With a SystemExit it has not failed, but died."""

    fault: Fault


class RefusalReport(Struct, frozen=True, kw_only=True, tag="refusal"):
    """A command that makes no sense now, or a parameter that cannot be: nothing was changed."""

    message: str
    field: str = ""  # the parameter


Report = AboutReport | StatusReport | FaultReport | RefusalReport

COMMANDS: Final[msgspec.json.Decoder[Command]] = msgspec.json.Decoder(Command)
REPORTS: Final[msgspec.json.Decoder[Report]] = msgspec.json.Decoder(Report)


def line_of(message: Command | Report) -> bytes:
    return msgspec.json.encode(message) + b"\n"


# `Stop` is for any state: what it is to end may just have ended.
_STATES: Final[Mapping[type, tuple[State, ...]]] = {
    Init: ("new", "ready", "done"),
    RunOn: ("ready",),
    Step: ("ready",),
    TestItem: ("ready", "done"),
    TestAll: ("ready", "done"),
    SetLive: ("ready", "busy", "stopping", "done"),
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
    return {TestAll: "Test all", RunOn: "Run", Init: "Init"}.get(type(command), "")
