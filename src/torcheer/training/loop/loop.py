"""`Loop`: a training that a person can stop, step and go on with, at every level.

loop = tl.Loop(setup, Parameters(), name="etra25")
loop.init(seed=1)
loop.step("trial", 3)
loop.run()
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar

import numpy

from torcheer.capture import seed_everything
from torcheer.errors import InputError, ParameterError
from torcheer.run import SavedRun, Table, open_run, whole_number_of
from torcheer.training.control.control_commands import Counters, Level, Plot, PlotLine, State
from torcheer.training.loop.loop_run import LoopRun, Row, new_session
from torcheer.training.loop.setup import Parameters, Setup, live_names, with_values
from torcheer.training.random_state import Tree, random_state, set_random_state
from torcheer.training.trainer.callbacks import deferred
from torcheer.training.training_progress import LoopBars

P = TypeVar("P", bound=Parameters)


_MOST = 2**32  # what NumPy takes, and what a page can hold exactly
_READABLE = 100_000  # below this a new seed is easily read and typed


def checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MOST:
        raise InputError(f"the seed is {seed!r}: give a whole number from 0 to {_MOST - 1}.")
    return seed


# `epoch/loss` is that of training, over an epoch; `train/loss` that of each trial.
_LABELS: Final = {"epoch": "train", "train": "trial", "test": "test"}


_FLUSH_SECONDS: Final = 5.0  # for a disk that is slow

LEVELS: Final[tuple[Level, ...]] = ("trial", "epoch", "run")  # from the innermost to the outermost


class Loop(Generic[P]):
    """A training as nested loops of runs, epochs and trials. A trial is one batch of the training set.

    - `setup`: a function of the parameters that builds what a run is made of, a `tl.Setup`. It is called at
      the beginning of every run, with all random numbers seeded by the seed and the number of the run.
    - `parameters`: a `tl.Parameters`, or one of your own that inherits it.
    - `folder`: every `init` begins a session in it, `folder/name-1`, with a folder for each run.

    However it is stopped, stepped and tested, the numbers are those of running through. Random numbers that
    others draw in between change nothing, and others do not see those that it draws.
    """

    def __init__(
        self,
        setup: Callable[[P], Setup],
        parameters: P | None = None,
        *,
        name: str = "",
        folder: str | os.PathLike[str] = "runs",
        seed: int = 0,
    ) -> None:
        parameters = Parameters() if parameters is None else parameters  # type: ignore[assignment]
        if not callable(setup) or not isinstance(parameters, Parameters):
            raise InputError(
                f"setup is {setup!r}, and parameters are {parameters!r}: give a function of the parameters "
                "that returns a tl.Setup, and an object of a class that inherits tl.Parameters."
            )
        self.name = str(name or "loop")
        self.folder: str | os.PathLike[str] = folder
        self.seed = checked_seed(seed)
        self.on_trial: Callable[[], None] | None = None  # called after each trial, and each batch of a test
        self.shows_progress = True
        self._build = setup
        self._code: P = parameters  # as they stand there
        self._parameters = self._code  # those in force
        self._random: Tree | None = None  # the state of its own random numbers
        self._is_shown = False  # the trial that comes is the one that somebody steps to
        self._is_busy = self._is_stop_wanted = False
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._now: LoopRun | None = None
        self._is_closed = False
        self._failure: BaseException | None = None
        self._session = Path()
        self._cycle: Iterator[Level] = iter(())
        self._num_done = 0  # runs
        self._runs: list[Path] = []
        self._epochs: list[list[Row]] = []  # by run
        self._test_epochs: list[list[Row]] = []
        self._run_rows: list[Row] = []

    def _all_runs(self) -> Iterator[Level]:
        """The training itself. Gives, after each trial, the outermost level that has just ended.

        That a round has ended, each loop says as its next one begins. By then the next batch is there, so
        that the end of an epoch is known, and all that belongs to it is done.
        """
        for run in range(self.parameters.runs):
            if run:
                yield "run"
            now = self._begun(run)
            for epoch in range(self.parameters.epochs):
                if epoch:
                    yield "epoch"
                for trial, batch in enumerate(now.batches(epoch)):
                    if trial:
                        yield "trial"
                    now.do_trial(batch, trial, self.parameters, is_shown=self._is_shown)
                now.end_epoch(self.parameters, self._after_batch)
                if now.ended_by:
                    break
            self._run_rows.append(now.end())
            self._num_done += 1
        yield "run"

    def _begun(self, run: int) -> LoopRun:
        """The first run is begun by `init`, so that it can be seen before its first trial."""
        if self._now is not None and self._now.number == run:
            return self._now
        # The first run has the seed itself; each later one its own, which no other seed is likely to give.
        seed = int(numpy.random.SeedSequence([self.seed, run]).generate_state(1)[0]) if run else self.seed
        seed_everything(seed)
        setup = self._build(self.parameters)
        if not isinstance(setup, Setup):
            raise InputError(f"the setup returned a {type(setup).__name__}: let it return a tl.Setup.")
        folder = self._session / f"run-{run}"
        self._now = now = LoopRun(setup, self.parameters, run, seed, folder)
        self._runs.append(folder)
        self._epochs.append(now.epochs)
        self._test_epochs.append(now.tests)
        return now

    def init(self, seed: int | None = None, **values: Any) -> Counters:
        """Begin anew, with these parameters over those of the code. A run that is under way is left."""
        parameters = with_values(self._code, values)
        seed = self.seed if seed is None else checked_seed(seed)
        self.close()
        self.seed, self._parameters = seed, parameters
        self._begin_anew()
        self._session = new_session(self.folder, self.name)
        self._cycle = self._all_runs()
        with self._at_work(), self._failing():
            self._begun(0)
        return self.counters

    def step(self, level: Level = "trial", count: int = 1) -> Counters:
        """Go on for so many trials, epochs or runs; one that is under way counts when it ends."""
        if level not in LEVELS:
            raise InputError(f"there is no level {level!r}: step by {', '.join(LEVELS)}.")
        self._go(level, whole_number_of("count", count, least=1))
        return self.counters

    def run(self) -> Counters:
        """Go on to the end of all runs, or until `stop`. Ctrl-C stops it after its trial."""
        with closing(LoopBars(self._num_done)) if self.shows_progress else nullcontext() as bars:
            self._go("run", None, None if bars is None else lambda: bars.show(self.counters))
        return self.counters

    def stop(self) -> None:
        """End what is under way after its trial: from another thread, or the handler of a signal."""
        self._is_stop_wanted = True

    def _go(self, level: Level, count: int | None, after_trial: Callable[[], None] | None = None) -> None:
        """`count` None: to the end."""
        self._to_go_on()
        with self._at_work(), self._failing():
            while count != 0 and not self._is_stop_wanted:
                self._is_shown = level == "trial" and count == 1
                ended = next(self._cycle, None)
                if ended is None:
                    break
                if count is not None and LEVELS.index(ended) >= LEVELS.index(level):
                    count -= 1
                if after_trial is not None:
                    after_trial()
                self._after_batch()

    def test_item(self, number: int) -> Row:
        """Test one item of the test set, by its number from 0, and show the network as it sees it."""
        now = self._to_go_on()
        with self._at_work():
            return now.test_item(number)

    def test_all(self) -> list[Row]:
        """Test every item of the test set. Where it is stopped, nothing of it is recorded."""
        now = self._to_go_on()
        with self._at_work():
            return now.test_all(self._after_batch).rows()

    def set_live(self, **values: Any) -> None:
        """New values of live parameters. They take effect at the next trial, also while it runs."""
        parameters, live = with_values(self.parameters, values), live_names(self.parameters)
        for name, value in values.items():
            if name not in live:
                what = f"{name} takes effect at the beginning of a training only: init({name}={value!r})."
                wanted = "takes effect at the next Init"
                raise ParameterError(f"{what} Live are {', '.join(live)}.", field=name, requirement=wanted)
        self._parameters = parameters

    def new_seed(self) -> int:
        """Another seed, for the next `init`."""
        self.seed = secrets.randbelow(_READABLE)
        return self.seed

    def close(self, error: BaseException | None = None) -> None:
        """End the run that is under way. `error`: what it died of. Only `init` goes on after that."""
        self._check_free()
        self._cycle = iter(())
        if self._now is not None:
            self._is_closed = True
            self._now.close(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close(error)

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
        given: Mapping[str, str | Sequence[str]] | None = None if now is None else now.setup.plots
        if given is None:
            # Loss and accuracy of training and test side by side, the gradients, and what the setup adds.
            names = ["loss", *(["accuracy"] if now is None or now.has_errors else [])]
            names += [] if now is None else now.setup.statistics
            has_test = now is None or now.items is not None
            own = {name: [f"epoch/{name}", *([f"test/{name}"] if has_test else [])] for name in names}
            own["loss"].append("train/loss")
            given = {**own, "gradient norm": "train/grad_norm", "learning rate": "train/lr"}
        plots = []
        for title, named in given.items():
            listed = [named] if isinstance(named, str) else named
            lines = [PlotLine(name=name, label=_LABELS.get(name.partition("/")[0], name)) for name in listed]
            plots.append(Plot(title=title, lines=lines))
        return plots

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
            self._now.run.flush()
        return [open_run(folder) for folder in self._runs]

    def __repr__(self) -> str:
        def of(done: int, total: int | None) -> str:
            return f"{done}" if total is None else f"{done} of {total}"

        at = self.counters
        return (
            f"<Loop {self.name}: {self.state}, run {of(at.run, at.num_runs)}, "
            f"epoch {of(at.epoch, at.num_epochs)}, trial {of(at.trial, at.num_trials)}>"
        )

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """When it is over, all that was recorded can be read from disk."""
        self._check_free()
        outside = random_state()  # torch, NumPy and Python have one generator each for a whole process
        self._is_busy, self._is_stop_wanted = True, False
        if self._random is not None:
            set_random_state(self._random)
        try:
            with deferred(self.stop, "trial"):
                yield
        finally:
            self._random = random_state()
            set_random_state(outside)
            if self._now is not None and self._now.run.state == "running":
                self._now.run.flush(_FLUSH_SECONDS)
            self._is_busy = False

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """What the training raises ends it: what broke off in the middle of a trial cannot go on."""
        try:
            yield
        except BaseException as error:
            self._failure = error
            if self._now is not None:
                self._now.close(error)
            raise

    def _after_batch(self) -> bool:
        """Whether somebody wants it to stop."""
        if self.on_trial is not None:
            self.on_trial()
        return self._is_stop_wanted

    def _to_go_on(self) -> LoopRun:
        """The run that is under way; one that nobody began begins by itself."""
        if self._failure is not None:
            what = f"{type(self._failure).__name__}: {self._failure}"
            raise InputError(f"the training ended with {what}. init() begins anew.")
        if self._is_closed and not self.is_done:
            raise InputError("the loop was closed in the middle of a run: init() begins anew.")
        if self._now is None:
            self.init()
        assert self._now is not None
        return self._now

    def _check_free(self) -> None:
        if self._is_busy:
            raise InputError(f"the loop {self.name} is at work: stop() ends that after its trial.")
