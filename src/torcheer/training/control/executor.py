"""Load the user's loop and carry commands out on it. One thread takes commands, the main thread runs them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any, Final

import torch

from torcheer.errors import InputError, ParameterError
from torcheer.training.control import control_commands as commands
from torcheer.training.control.user_code import (
    EXAMPLE,
    WANTED,
    Target,
    imported_sources,
    is_of_the_user,
    readable,
    text_of,
)
from torcheer.training.loop.loop import Loop
from torcheer.training.loop.setup import form_fields, with_values
from torcheer.training.training_warning import TrainingWarning


def load_loop(target: Target) -> Loop[Any]:
    """Import the module and call the function. What the user's code raises goes through."""
    found: Any = _module_of(target)
    for part in target.name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise InputError(f"{target.where} has no {target.name!r} when imported: {WANTED}.") from None
    if isinstance(found, Loop):
        return found
    if not callable(found):
        raise InputError(f"{target} is a {type(found).__name__}: it must be {WANTED}.")
    loop = found()
    if not isinstance(loop, Loop):
        raise InputError(f"{target} returns a {type(loop).__name__}: it must be {WANTED}.")
    return loop


def _module_of(target: Target) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    if target.is_file:
        return _module_of_file(Path(os.path.abspath(target.where)))
    try:
        return importlib.import_module(target.where)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{target.where}.".startswith(f"{error.name}."):
            raise  # of something that the module itself imports
        what = f"there is no module {target.where!r} here ({error})"
        raise InputError(f"{what}: run this where it can be imported.") from error


def _module_of_file(path: Path) -> ModuleType:
    """As `python path` would, but not as `__main__`: what is guarded by that name is not run."""
    sys.path.insert(0, str(path.parent))
    # A name that can be imported, so that its classes can be pickled; but not that of another module.
    name = path.stem
    other = importlib.util.find_spec(name) if name.isidentifier() and name not in sys.modules else None
    if not name.isidentifier() or name in sys.modules or (other is not None and other.origin != str(path)):
        name = "training_" + re.sub(r"\W", "_", name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported: write {EXAMPLE}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def leave_a_core_free() -> None:
    """For the page and its server, which torch's threads would fight with. Who chose a number keeps it."""
    if not os.environ.get("OMP_NUM_THREADS") and not os.environ.get("MKL_NUM_THREADS"):
        has_affinity = hasattr(os, "sched_getaffinity")  # the cores that this process may use
        num_cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        torch.set_num_threads(max(1, min(torch.get_num_threads(), num_cores - 1)))


def pass_on_warnings(note: Callable[[str], None]) -> None:
    """From now on each TrainingWarning is a note, too, however often it was given before."""
    warnings.simplefilter("always", TrainingWarning)
    show = warnings.showwarning

    def show_and_note(message: Warning | str, category: type[Warning], *others: Any, **more: Any) -> None:
        if issubclass(category, TrainingWarning):
            note(str(message))
        show(message, category, *others, **more)

    warnings.showwarning = show_and_note


_REPORT_SECONDS: Final = 0.05  # between two reports of counters
_MAX_REASON: Final = 2_000


class Executor:
    """A loop that is told what to do. `preset`: values over those of the code, until Init says otherwise."""

    def __init__(
        self,
        loop: Loop[Any],
        report: Callable[[commands.Report], None],
        preset: Mapping[str, commands.Value],
        seed: int | None,
    ) -> None:
        self._loop, self._report = loop, report
        self._code = loop.parameters  # as they stand there
        self._preset = dict(preset)
        self._first = with_values(self._code, self._preset)  # in force until the first Init
        self._seed = loop.seed if seed is None else seed
        self._lock = threading.RLock()  # of the state, and of the order of reports
        self._state: commands.State = "new"
        self._doing = ""
        self._is_new = True
        self._num_taken = 0
        self._is_stop_wanted = self._is_over = False
        self._commands: SimpleQueue[commands.Command | None] = SimpleQueue()
        self._notes: tuple[str, ...] = ()  # of warnings, see `note`
        self._news = threading.Event()
        loop.on_trial = self._after_trial
        loop.shows_progress = False
        threading.Thread(target=self._report_counters, name="torcheer reports", daemon=True).start()

    def take(self, command: commands.Command) -> None:
        """Accept a command, or refuse it at once. It is carried out in the main thread."""
        with self._lock:
            self._num_taken += 1
            reason = commands.why_not(command, self._state, self._doing)
            if reason:
                self._report(commands.RefusalReport(message=reason))
            elif isinstance(command, commands.SetLive):  # which a loop takes in any thread
                self._set_live(command)
            elif not isinstance(command, commands.Stop):
                self._state = "starting" if isinstance(command, commands.Init) else "busy"
                self._doing = commands.doing_of(command)
                self._is_stop_wanted = False
            elif self._state == "busy":
                self._state = "stopping"
                self._is_stop_wanted = True
                self._loop.stop()
            self._tell()
            if not reason and not isinstance(command, commands.Stop | commands.SetLive):
                self._commands.put(command)

    def end(self) -> None:
        """Nobody gives commands any more: the main thread is to come back after this trial."""
        self._is_stop_wanted = True
        self._loop.stop()
        self._commands.put(None)
        self._is_over = True
        self._news.set()

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
                self._tell()  # also where it raised: how far it came is the last report
            with self._lock:  # what was under way is over
                self._state = "new" if self._is_new else "done" if self._loop.is_done else "ready"
                self._doing = ""
                self._tell()

    def _carry_out(self, command: commands.Command) -> None:
        match command:
            case commands.Init():
                self._init(command)
            case commands.RunOn():
                self._loop.run()
            case commands.Step(level=level, count=count):
                self._loop.step(level, count)
            case commands.TestItem(item=item):
                self._loop.test_item(item)
            case commands.TestAll():
                self._loop.test_all()

    def _init(self, command: commands.Init) -> None:
        values = self._preset | dict(command.values)
        try:
            with_values(self._code, values)
        except Exception as error:  # also of a check of the user's own
            self._refuse(error)
            return
        self._notes = ()
        self._loop.init(seed=command.seed, **values)
        self._is_new = False
        self._seed = command.seed
        self.introduce()

    def _set_live(self, command: commands.SetLive) -> None:
        try:
            with_values(self._loop.parameters, command.values)  # also what no keyword can be called, "self"
            self._loop.set_live(**command.values)
        except Exception as error:  # also of a check of the user's own: the training goes on
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        field = error.field if isinstance(error, ParameterError) else ""
        message = error.requirement if isinstance(error, ParameterError) else text_of(error)
        self._report(
            commands.RefusalReport(
                message=readable(message, _MAX_REASON) or type(error).__name__, field=field
            )
        )

    def note(self, text: str) -> None:
        """Something that a person should know, until the next Init.

        The first note stays, for it says why there is no network where there is none; then the last two.
        """
        text = readable(text, _MAX_REASON)
        if text not in self._notes:
            self._notes = (*self._notes[:1], *self._notes[1:][-1:], text)
            self._news.set()

    def introduce(self) -> None:
        """Say what this training is. The first time, before any command is taken."""
        loop = self._loop
        about = commands.About(
            name=loop.name,
            fields=form_fields(self._code),
            seed=loop.seed,
            plots=loop.plots,
            num_test_items=loop.num_test_items,
        )
        self._report(commands.AboutReport(about=about, sources=imported_sources()))
        self._tell()

    def _after_trial(self) -> None:
        if self._is_stop_wanted:  # it may have come before the loop began
            self._loop.stop()
        self._news.set()

    def _tell(self) -> None:
        parameters = self._first if self._is_new else self._loop.parameters
        with self._lock:
            self._report(
                commands.StatusReport(
                    state=self._state,
                    doing=self._doing,
                    counters=self._loop.counters,
                    values={field.name: field.value for field in form_fields(parameters)},
                    seed=self._seed,
                    runs=tuple(map(str, self._loop.runs)),
                    num_taken=self._num_taken,
                    note="\n".join(self._notes),
                )
            )

    def _report_counters(self) -> None:
        while not self._is_over:
            self._news.wait()
            self._news.clear()
            self._tell()
            time.sleep(_REPORT_SECONDS)
