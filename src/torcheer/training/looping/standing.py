"""Where a loop stands: its state, its counters, and the rows of its tables so far."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Generic, TypeVar

from torcheer.errors import InputError
from torcheer.run import SavedRun, Table, open_run
from torcheer.training.control.protocol import Counters, Plot, State
from torcheer.training.looping.parameters import Parameters
from torcheer.training.looping.plots import default_plots, plots_of
from torcheer.training.looping.recording import Row
from torcheer.training.looping.running import RunUnderWay
from torcheer.training.looping.setup import Setup

P = TypeVar("P", bound=Parameters)


class Standing(Generic[P]):
    """What can be asked of a loop at any time, from any thread."""

    def __init__(self, name: str, parameters: P) -> None:
        self.name = name
        self._parameters = parameters
        self._now: RunUnderWay | None = None
        self._num_done = 0  # runs
        self._runs: list[Path] = []
        self._epochs: list[list[Row]] = []  # by run
        self._test_epochs: list[list[Row]] = []
        self._run_rows: list[Row] = []
        self._is_busy = self._is_stop_wanted = self._is_closed = False
        self._failure: BaseException | None = None

    # --- how it goes --------------------------------------------------------------------------------------

    @property
    def parameters(self) -> P:
        """Those in force."""
        return self._parameters

    @property
    def setup(self) -> Setup:
        """What this run is made of: `loop.setup.model`."""
        if self._now is None:
            raise InputError("nothing is set up yet: init() begins.")
        return self._now.setup

    @property
    def state(self) -> State:
        if self._is_busy:
            return "stopping" if self._is_stop_wanted else "busy"
        if self._failure is not None:
            return "failed"
        if self.is_done:
            return "done"
        return "new" if self._now is None or self._is_closed else "ready"

    @property
    def is_done(self) -> bool:
        """All runs are over."""
        return self._now is not None and self._num_done >= self.parameters.runs

    @property
    def counters(self) -> Counters:
        """What is done. At the end of an epoch or a run they stay, until the next step begins another."""
        now, parameters = self._now, self.parameters
        if now is None:
            return Counters(num_runs=parameters.runs, num_epochs=parameters.epochs)
        return Counters(
            run=self._num_done,
            num_runs=parameters.runs,
            epoch=now.epoch,
            num_epochs=parameters.epochs,
            trial=now.trial,
            num_trials=now.num_trials,
            step=now.step,
        )

    @property
    def runs(self) -> tuple[Path, ...]:
        """The folders of all runs since `init`, the current one last."""
        return tuple(self._runs)

    @property
    def num_test_items(self) -> int | None:
        """None where there is no test set, or nobody knows before it was tested."""
        return None if self._now is None or self._now.items is None else self._now.items.num_items

    @property
    def plots(self) -> Sequence[Plot]:
        """What is worth a look, for a page."""
        now = self._now
        if now is None:
            return default_plots((), has_errors=True, has_test=True)
        if now.setup.plots is not None:
            return plots_of(now.setup.plots)
        return default_plots(
            list(now.setup.statistics), has_errors=now.has_errors, has_test=now.items is not None
        )

    # --- what came of it ----------------------------------------------------------------------------------

    @property
    def epochs(self) -> list[Row]:
        """A row for each epoch of all runs since `init`: the table `train epochs`."""
        return [row for rows in self._epochs for row in rows]

    @property
    def tests(self) -> list[Row]:
        """A row for each item of the last test of this run, with its tensors: the end of `test trials`."""
        return [] if self._now is None or self._now.last_test is None else self._now.last_test.rows()

    @property
    def test_epochs(self) -> list[Row]:
        """A row for each test of all items since `init`: the table `test epochs`."""
        return [row for rows in self._test_epochs for row in rows]

    @property
    def run_rows(self) -> list[Row]:
        """A row for each run that is over: the table `runs`."""
        return list(self._run_rows)

    def table(self, name: str) -> Table:
        """A table over all runs since `init`, as it is on disk: `loop.table("runs").to_csv("runs.csv")`."""
        found = [run for run in self._opened() if name in run.names("table")]
        if not found:
            known = ", ".join(self.tables) or "none"
            raise InputError(f"there is no table {name!r} yet: there are {known}.")
        return Table(name, [record for run in found for record in run.table(name).records])

    @property
    def tables(self) -> list[str]:
        """The names of the tables that there are by now."""
        return list(dict.fromkeys(name for run in self._opened() for name in run.names("table")))

    def _opened(self) -> list[SavedRun]:
        if self._now is not None and self._is_busy:  # else all is on disk
            self._now.recording.run.flush()
        return [open_run(folder) for folder in self._runs]

    def __repr__(self) -> str:
        def of(done: int, total: int | None) -> str:
            return f"{done}" if total is None else f"{done} of {total}"

        at = self.counters
        return (
            f"<Loop {self.name}: {self.state}, run {of(at.run, at.num_runs)}, "
            f"epoch {of(at.epoch, at.num_epochs)}, trial {of(at.trial, at.num_trials)}>"
        )
