"""Trainings that a page may control: those that were named, and no others.

What a training observes is in its run, and asked for there: scalars, tables, the network.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from msgspec import Struct

from torcheer.app.background_threads import in_thread
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.wire import Answer, Followed, Name, Question, Single, as_text, copied
from torcheer.errors import InputError
from torcheer.training.control import (
    About,
    Control,
    Counters,
    Fault,
    Init,
    RunOn,
    SetLive,
    State,
    Status,
    Step,
    Stop,
    TestAll,
    TestItem,
    Value,
    close_all,
)


class Abort(Struct, frozen=True, kw_only=True, tag="abort"):
    """End the process, whatever it is doing: what is in memory only is lost, the run stays."""


Action = Init | RunOn | Step | Stop | TestItem | TestAll | SetLive | Abort


class ControlsQuestion(Question, frozen=True, tag="controls"):
    """Which trainings can be controlled, and how do they go? Followed."""


class ControlQuestion(Question, frozen=True, tag="control"):
    """All about one of them. Followed: each answer is whole. The first question brings it to life."""

    control_id: Name


class ControlDoQuestion(Question, frozen=True, tag="control_do"):
    """Do that, please. Answered when it was passed on, or refused; other answers tell what comes of it."""

    control_id: Name
    action: Action


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


MAX_RUN_IDS: Final = 256  # of one list: as many as a page can ask about at a time
_PUSH_SECONDS: Final = 0.05  # between two answers about one training
_LIST_SECONDS: Final = 0.25  # about all of them
_FIND_SECONDS: Final = 0.25  # at least between two searches for a run that has just begun
_BUSY: Final = 10  # times as long as a search took, the next one waits
_MAX_NOTE: Final = 1 << 20
_GONE: Final = "this training cannot be controlled from here: `torcheer control FILE.py:FUNCTION` names one."


class Controls:
    def __init__(self, controls: Sequence[Control], shelf: RunShelf | None) -> None:
        self._controls = {control.id: control for control in controls}
        if len(self._controls) < len(controls):
            raise InputError("the same training is named twice: give each a folder of its own for its runs.")
        self._shelf = shelf
        self.single: dict[type[Question], Single] = {ControlDoQuestion: self._do}
        self.followed: dict[type[Question], Followed] = {
            ControlsQuestion: self._follow_all,
            ControlQuestion: self._follow_one,
        }

    async def _do(self, question: ControlDoQuestion) -> str:
        control = self._control(question.control_id)
        if isinstance(question.action, Abort):
            await in_thread(control.abort)
        else:
            await in_thread(control.do, question.action)
        return as_text(ControlDoneAnswer(id=question.id))

    def close(self) -> None:
        close_all(list(self._controls.values()))

    def _control(self, control_id: str) -> Control:
        control = self._controls.get(control_id)
        if control is None:
            raise InputError(_GONE)
        return control

    async def _follow_all(self, question: ControlsQuestion, page: object) -> AsyncGenerator[str, None]:
        controls = list(self._controls.values())
        sent: Sequence[ControlListing] | None = None
        with _news_of(controls) as news:
            while True:
                news.clear()
                listings = [_listing(control, control.status) for control in controls]
                if listings != sent:
                    sent = listings
                    yield as_text(ControlsAnswer(id=question.id, controls=listings))
                await asyncio.sleep(_LIST_SECONDS)
                await news.wait()

    async def _follow_one(self, question: ControlQuestion, page: object) -> AsyncGenerator[str, None]:
        control = self._control(question.control_id)
        sent: ControlAnswer | None = None
        look_at = 0.0
        with _news_of([control]) as news:
            await in_thread(control.start)
            while True:
                news.clear()
                status = control.status
                # A run that is not found is looked for again, whatever the news.
                if self._shelf is not None and self._lacks_newest(status) and time.monotonic() >= look_at:
                    began = time.monotonic()
                    await in_thread(self._shelf.scan_again)
                    look_at = time.monotonic() + max(_FIND_SECONDS, _BUSY * (time.monotonic() - began))
                answer = self._answer(question, control, status)
                if answer != sent:
                    sent = answer
                    yield as_text(answer)
                await asyncio.sleep(_PUSH_SECONDS)
                left = max(0.0, look_at - time.monotonic()) if self._lacks_newest(status) else None
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), left)

    def _answer(self, question: ControlQuestion, control: Control, status: Status) -> ControlAnswer:
        run_ids = self._ids(status.runs)
        return copied(
            ControlAnswer,
            status,
            _MAX_NOTE,
            id=question.id,
            listing=_listing(control, status),
            run_id=run_ids[-1] if run_ids else "",
            run_ids=run_ids,
            all_run_ids=self._ids(status.all_runs),
        )

    def _ids(self, folders: Sequence[str]) -> Sequence[str]:
        """Of those that the shelf knows: a page can ask for them at once. Of very many, the last."""
        if self._shelf is None:
            return []
        found = (self._shelf.id_of(folder) for folder in folders[-MAX_RUN_IDS:])
        return [run_id for run_id in found if run_id is not None]

    def _lacks_newest(self, status: Status) -> bool:
        return self._shelf is not None and bool(status.runs) and self._shelf.id_of(status.runs[-1]) is None


def _listing(control: Control, status: Status) -> ControlListing:
    return copied(ControlListing, status, id=control.id, name=control.name, target=str(control.target))


@contextmanager
def _news_of(controls: Sequence[Control]) -> Iterator[asyncio.Event]:
    """An event that is set whenever one of them has news."""
    news, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell() -> None:
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(news.set)

    with ExitStack() as stack:
        for control in controls:
            stack.enter_context(control.listening(tell))
        yield news
