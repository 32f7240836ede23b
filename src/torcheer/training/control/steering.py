"""Carry commands out on a loop, and report how it goes: taken in one thread, carried out in the main one."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any, Final

from torcheer.errors import InputError, ParameterError
from torcheer.training.control.faults import is_of_the_user, readable, text_of
from torcheer.training.control.notes import Notes
from torcheer.training.control.permission import doing_of, why_not
from torcheer.training.control.protocol import (
    About,
    AboutReport,
    Command,
    Init,
    RefusalReport,
    Report,
    RunOn,
    SetLive,
    State,
    StatusReport,
    Step,
    Stop,
    TestAll,
    TestItem,
    Value,
)
from torcheer.training.control.sources import imported_sources
from torcheer.training.loop import Loop
from torcheer.training.looping.parameterforms import form_fields, with_values
from torcheer.training.looping.parameters import Parameters

_REPORT_SECONDS: Final = 0.05  # between two reports of counters
_MAX_REASON: Final = 2_000


class Steering:
    """A loop that is told what to do. `preset`: values over those of the code, until Init says otherwise."""

    def __init__(
        self, loop: Loop[Any], report: Callable[[Report], None], preset: Mapping[str, Value], seed: int | None
    ) -> None:
        self._loop, self._report = loop, report
        self._code = loop.parameters  # as they stand there
        self._preset = dict(preset)
        self._values: Mapping[str, Value] = _values_of(with_values(self._code, self._preset))
        self._seed = loop.seed if seed is None else seed
        self._lock = threading.RLock()  # of the state, and of the order of reports
        self._state: State = "new"
        self._doing = ""
        self._is_new = True
        self._num_taken = 0
        self._is_stop_wanted = self._is_over = False
        self._commands: SimpleQueue[Command | None] = SimpleQueue()
        self._live: deque[SetLive] = deque()
        self._counters = loop.counters
        self._runs: tuple[str, ...] = ()
        self._notes = Notes()
        self._news = threading.Event()
        loop.on_trial = self._after_trial
        loop.shows_progress = False
        threading.Thread(target=self._report_counters, name="torcheer reports", daemon=True).start()

    # --- in the thread that reads --------------------------------------------------------------------

    def take(self, command: Command) -> None:
        """Accept a command, or refuse it at once. It is carried out in the main thread."""
        with self._lock:
            self._num_taken += 1
            reason = why_not(command, self._state, self._doing)
            if reason:
                self._report(RefusalReport(message=reason))
                self._tell()
            elif isinstance(command, Stop):
                self._stop()
            elif not isinstance(command, SetLive):
                self._state = "starting" if isinstance(command, Init) else "busy"
                self._doing = doing_of(command)
                self._is_stop_wanted = False
                self._tell()
                self._commands.put(command)
            elif self._state in ("busy", "stopping"):
                self._live.append(command)
                self._tell()
            else:
                self._commands.put(command)

    def _stop(self) -> None:
        if self._state == "busy":
            self._state = "stopping"
            self._is_stop_wanted = True
            self._loop.stop()
        self._tell()

    def end(self) -> None:
        """Nobody gives commands any more: the main thread is to come back after this trial."""
        self._is_stop_wanted = True
        self._loop.stop()
        self._commands.put(None)
        self._is_over = True
        self._news.set()

    # --- in the main thread --------------------------------------------------------------------------

    def carry_out_all(self) -> None:
        """Until the end. What the training raises goes through."""
        while (command := self._commands.get()) is not None:
            try:
                self._carry_out(command)
            except InputError as error:
                if is_of_the_user(error) or self._loop.state == "failed":
                    raise
                self._refuse(error)
            finally:
                self._look()  # also where it raised: how far it came is the last report
                self._tell()
            if not isinstance(command, SetLive):  # beside which something else may be under way by now
                self._settle()

    def _carry_out(self, command: Command) -> None:
        loop = self._loop
        match command:
            case Init():
                self._init(command)
            case RunOn():
                loop.run()
            case Step(level=level, count=count):
                loop.step(level, count)
            case TestItem(item=item):
                loop.test_item(item)
            case TestAll():
                loop.test_all()
            case SetLive():
                self._set_live(command)
            case Stop():
                pass  # it was heeded when it came

    def _init(self, command: Init) -> None:
        values = self._preset | dict(command.values)
        try:
            with_values(self._code, values)
        except Exception as error:  # also of a check of the user's own
            self._refuse(error)
            return
        self._notes.clear()
        self._loop.init(seed=command.seed, **values)
        self._is_new = False
        self._seed = command.seed
        self._introduce()

    def _set_live(self, command: SetLive) -> None:
        try:
            with_values(self._loop.parameters, command.values)
            self._loop.set_live(**command.values)
        except Exception as error:  # also of a check of the user's own: the training goes on
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        field = error.field if isinstance(error, ParameterError) else ""
        message = error.requirement if isinstance(error, ParameterError) else text_of(error)
        self._report(
            RefusalReport(message=readable(message, _MAX_REASON) or type(error).__name__, field=field)
        )

    def note(self, text: str) -> None:
        """Something that a person should know, until the next Init."""
        self._notes.add(readable(text, _MAX_REASON))
        self._news.set()

    def introduce(self) -> None:
        """Say what this training is. The first time, before any command is taken."""
        self._introduce()
        self._settle()

    def _introduce(self) -> None:
        loop = self._loop
        about = About(
            name=loop.name,
            fields=form_fields(self._code),
            seed=loop.seed,
            plots=loop.plots,
            num_test_items=loop.num_test_items,
        )
        self._report(AboutReport(about=about, sources=imported_sources()))

    def _settle(self) -> None:
        """What was under way is over."""
        while True:
            with self._lock:
                if not self._live:  # what came too late for the last trial is for the next one
                    self._look()
                    self._state = "new" if self._is_new else "done" if self._loop.is_done else "ready"
                    self._doing = ""
                    self._tell()
                    return
            self._take_up_live()

    def _after_trial(self) -> None:
        if self._live:
            self._take_up_live()
        if self._is_stop_wanted:  # it may have come before the loop began
            self._loop.stop()
        self._counters = self._loop.counters
        if len(self._loop.runs) != len(self._runs):
            self._look()
        self._news.set()

    def _take_up_live(self) -> None:
        while self._live:
            self._set_live(self._live.popleft())
        self._look()

    def _look(self) -> None:
        loop = self._loop
        self._counters = loop.counters
        self._runs = tuple(map(str, loop.runs))
        if not self._is_new:
            self._values = _values_of(loop.parameters)

    # --- reports -------------------------------------------------------------------------------------

    def _tell(self) -> None:
        with self._lock:
            self._report(
                StatusReport(
                    state=self._state,
                    doing=self._doing,
                    counters=self._counters,
                    values=self._values,
                    seed=self._seed,
                    run=self._runs[-1] if self._runs else "",
                    runs=self._runs,
                    num_taken=self._num_taken,
                    note=self._notes.text,
                )
            )

    def _report_counters(self) -> None:
        while not self._is_over:
            self._news.wait()
            self._news.clear()
            self._tell()
            time.sleep(_REPORT_SECONDS)


def _values_of(parameters: Parameters) -> Mapping[str, Value]:
    """All of them by name, as a form shows them."""
    return {field.name: field.value for field in form_fields(parameters)}
