"""`Loop`: a training that a person can stop, step and go on with, at every level.

loop = tl.Loop(setup, Parameters(), name="etra25")
loop.init(seed=1)
loop.step("trial", 3)
loop.run()
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from torcheer.errors import InputError, ParameterError
from torcheer.training.control.protocol import Counters, Level
from torcheer.training.looping.interrupts import stopping
from torcheer.training.looping.parameterforms import live_names, with_values
from torcheer.training.looping.parameters import Parameters
from torcheer.training.looping.recording import Row, new_session
from torcheer.training.looping.running import RunUnderWay
from torcheer.training.looping.seeding import OwnRandomness, checked_seed, new_seed, seed_of_run
from torcheer.training.looping.setup import Setup
from torcheer.training.looping.standing import Standing
from torcheer.training.progress import loop_progress

P = TypeVar("P", bound=Parameters)

_FLUSH_SECONDS: Final = 5.0  # for a disk that is slow

LEVELS: Final[tuple[Level, ...]] = ("trial", "epoch", "run")  # from the innermost to the outermost


class Loop(Standing[P]):
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
        _check_function(setup)
        super().__init__(str(name or "loop"), _checked(parameters))
        self.folder: str | os.PathLike[str] = folder
        self.seed = checked_seed(seed)
        self.on_trial: Callable[[], None] | None = None  # called after each trial, and each batch of a test
        self.shows_progress = True
        self._build = setup
        self._code: P = self._parameters  # as they stand there
        self._randomness = OwnRandomness()
        self._session = Path()
        self._cycle: Iterator[Level] = iter(())
        self._is_shown = False  # the trial that comes is the one that somebody steps to

    # --- the training ---------------------------------------------------------------------------------------

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

    def _begun(self, run: int) -> RunUnderWay:
        """The first run is begun by `init`, so that it can be seen before its first trial."""
        if self._now is not None and self._now.number == run:
            return self._now
        seed = seed_of_run(self.seed, run)
        self._randomness.seed(seed)
        setup = self._build(self.parameters)
        if not isinstance(setup, Setup):
            raise InputError(f"the setup returned a {type(setup).__name__}: let it return a tl.Setup.")
        folder = self._session / f"run-{run}"
        self._now = now = RunUnderWay(setup, self.parameters, run, seed, folder)
        self._runs.append(folder)
        self._epochs.append(now.epochs)
        self._test_epochs.append(now.tests)
        return now

    # --- what a person does -------------------------------------------------------------------------------

    def init(self, seed: int | None = None, **values: Any) -> Counters:
        """Begin anew, with these parameters over those of the code. A run that is under way is left."""
        parameters = with_values(self._code, values)
        seed = self.seed if seed is None else checked_seed(seed)
        self.close()
        self.seed, self._parameters = seed, parameters
        self._failure, self._now, self._is_closed = None, None, False
        self._num_done = 0
        self._runs, self._epochs, self._test_epochs, self._run_rows = [], [], [], []
        self._session = new_session(self.folder, self.name)
        self._cycle = self._all_runs()
        with self._at_work(), self._failing():
            self._begun(0)
        return self.counters

    def step(self, level: Level = "trial", count: int = 1) -> Counters:
        """Go on for so many trials, epochs or runs; one that is under way counts when it ends."""
        if level not in LEVELS:
            raise InputError(f"there is no level {level!r}: step by {', '.join(LEVELS)}.")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"{count!r} steps: give a whole number, 1 or more.")
        self._go(level, count)
        return self.counters

    def run(self) -> Counters:
        """Go on to the end of all runs, or until `stop`. Ctrl-C stops it after its trial."""
        with loop_progress(self.shows_progress, self._num_done) as show:
            self._go("run", None, lambda: show(self.counters))
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
                raise ParameterError(
                    f"{name} takes effect at the beginning of a training only: init({name}={value!r}). Live "
                    f"are {', '.join(live)}.",
                    field=name,
                    requirement="takes effect at the next Init",
                )
        self._parameters = parameters

    def new_seed(self) -> int:
        """Another seed, for the next `init`."""
        self.seed = new_seed()
        return self.seed

    def close(self, error: BaseException | None = None) -> None:
        """End the run that is under way. `error`: what it died of. Only `init` goes on after that."""
        self._check_free()
        self._cycle = iter(())
        if self._now is not None:
            self._is_closed = True
            self._now.recording.close(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    # --- within -------------------------------------------------------------------------------------------

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """When it is over, all that was recorded can be read from disk."""
        self._check_free()
        self._is_busy, self._is_stop_wanted = True, False
        try:
            with self._randomness.in_use(), stopping(self.stop):
                yield
        finally:
            if self._now is not None and self._now.recording.run.state == "running":
                self._now.recording.run.flush(_FLUSH_SECONDS)
            self._is_busy = False

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """What the training raises ends it: what broke off in the middle of a trial cannot go on."""
        try:
            yield
        except BaseException as error:
            self._failure = error
            if self._now is not None:
                self._now.recording.close(error)
            raise

    def _after_batch(self) -> bool:
        """Whether somebody wants it to stop."""
        if self.on_trial is not None:
            self.on_trial()
        return self._is_stop_wanted

    def _to_go_on(self) -> RunUnderWay:
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


def _check_function(setup: Any) -> None:
    if not callable(setup) or isinstance(setup, type):
        what = f"the class {setup.__name__}" if isinstance(setup, type) else f"a {type(setup).__name__}"
        raise InputError(f"setup is {what}: give a function of the parameters that returns a tl.Setup.")


def _checked(parameters: Any) -> Any:
    if parameters is None:
        return Parameters()
    if not isinstance(parameters, Parameters):
        is_class = isinstance(parameters, type)
        what = f"the class {parameters.__name__}" if is_class else f"a {type(parameters).__name__}"
        raise InputError(f"parameters are {what}: give an object of a class that inherits tl.Parameters.")
    return parameters
