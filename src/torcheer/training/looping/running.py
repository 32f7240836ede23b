"""One run of a training under way: what a trial does, what the end of an epoch does, and tests in between."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.capture import Batch, moved, split
from torcheer.errors import InputError
from torcheer.training.distributed import set_epoch
from torcheer.training.looping.criteria import name_of
from torcheer.training.looping.itemerrors import Judge
from torcheer.training.looping.livevalues import LiveValues
from torcheer.training.looping.netmoments import NetMoments
from torcheer.training.looping.parameterforms import values_of
from torcheer.training.looping.parameters import Parameters
from torcheer.training.looping.quietly import as_it_was_after
from torcheer.training.looping.recording import Recording, Row
from torcheer.training.looping.schedule import NEVER, Moment, is_due
from torcheer.training.looping.setup import Setup
from torcheer.training.looping.tallies import Seen, Tally, seen
from torcheer.training.looping.testing import Tested, Tester
from torcheer.training.looping.testitems import TestItems, first_batch
from torcheer.training.preparing import num_batches_of, optimizer_of
from torcheer.training.scheduling import Scheduling
from torcheer.training.stepping import Stepper
from torcheer.training.telling import warn

ALL_EPOCHS: Final = "all epochs"


class RunUnderWay:
    """Number `number` of the runs of a loop, from its beginning to its end."""

    def __init__(self, setup: Setup, parameters: Parameters, number: int, seed: int, folder: Path) -> None:
        self.number, self.seed = number, seed
        # What is done: epochs, trials of the epoch, and trials of the run.
        self.epoch = self.trial = self.step = 0
        self.num_trials = num_batches_of(setup.train)  # of an epoch; None where nobody knows
        self.epochs: list[Row] = []
        self.tests: list[Row] = []
        self.last_test: Tested | None = None
        self.ended_by = ""
        self._parameters = parameters  # as the run began
        self._changes: list[str] = []
        self._seconds = self._total_seconds = 0.0
        self._was_nan = False

        optimizer = optimizer_of(setup.optimizer, setup.model)
        self.setup = setup = dataclasses.replace(setup, optimizer=optimizer)
        self._stepper = Stepper(
            setup.model,
            setup.loss,
            optimizer,
            device=setup.device,
            clip_norm=setup.clip_norm,
            accumulate=setup.accumulate,
            autocast=setup.autocast,
            measure_norm=True,
        )
        self._judge = Judge(setup.errors, setup.loss)
        self._scheduling = Scheduling(setup.scheduler, optimizer, self._figures())
        self._live = LiveValues(setup, optimizer, self._scheduling.scheduler, parameters)
        self._tester = Tester(setup, self._judge, self._stepper)
        self._tally = Tally.of(setup)
        total = None if self.num_trials is None else parameters.epochs * self.num_trials
        self.recording = Recording(folder, {**values_of(parameters), "run": number, "seed": seed}, total)
        self._moments = NetMoments(setup, self.recording.run, self._stepper)
        self.items: TestItems | None = None
        try:
            with as_it_was_after(setup):
                if setup.test is not None:
                    self.items = TestItems(setup.test, is_whole=setup.loss is None)
                self._look_ahead()
        except BaseException as error:
            self.recording.close(error)
            raise

    def _look_ahead(self) -> None:
        """At a first batch, where one can be had without going through a loader: what will be shown of it."""
        loaders = [loader for loader in (self.setup.train, self.setup.test) if loader is not None]
        given = next((batch for batch in map(first_batch, loaders) if batch is not None), None)
        if given is None:
            return
        batch = self._taken(given)
        self.setup.model.train()
        if self._parameters.netview_every != NEVER:
            self._moments.record(batch, {"name": "init", **self.counters}, is_try=True)
        # What goes wrong in it will do so in the first trial, too, and be seen there.
        with suppress(Exception), torch.no_grad():
            self.setup.model.eval()
            self._judge.judged(batch.given_to(self.setup.model), batch.targets, batch.num_items)

    def _figures(self) -> list[str]:
        """What an epoch will have, for a scheduler to look at."""
        names = ["loss", *(["errors", "accuracy"] if self._judge.may_judge else []), *self.setup.statistics]
        return [
            f"{data}/{name}"
            for data in ("train", *(["test"] if self.setup.test is not None else []))
            for name in names
        ]

    @property
    def counters(self) -> Row:
        return {"run": self.number, "epoch": self.epoch, "trial": self.trial}

    @property
    def has_errors(self) -> bool:
        return self._judge.may_judge

    # --- an epoch -----------------------------------------------------------------------------------------

    def batches(self, epoch: int) -> Iterator[Any]:
        """Those of an epoch. The time that it takes to have them counts."""
        self._tally, self._seconds = Tally.of(self.setup), 0.0
        set_epoch(self.setup.train, epoch)
        self.setup.model.train()
        start = time.perf_counter()
        for batch in self.setup.train:
            self._seconds += time.perf_counter() - start
            yield batch
            start = time.perf_counter()

    def do_trial(self, given: Any, number: int, parameters: Parameters, *, is_shown: bool) -> None:
        """Train on a batch. `is_shown`: somebody waits to see this one."""
        start = time.perf_counter()
        self._changes += [f"{change} at trial {self.step}" for change in self._live.take_over(parameters)]
        moment = Moment(self.step + 1, self.epoch + 1, number + 1, self.num_trials)
        is_shown = is_shown and parameters.netview_every != NEVER
        if is_shown or is_due(parameters.netview_every, moment):
            self._moments.record(
                self._taken(given), {"name": "train", **self.counters, "trial": moment.trial}
            )
        lr = _number(self._stepper.optimizer.param_groups[0].get("lr"))
        stepped = self._stepper.step(given)
        self._scheduling.after_step(stepped.stepped)
        self.trial, self.step = moment.trial, moment.step
        found = seen(
            self.setup, self._judge, stepped.outputs, stepped.targets, stepped.loss, stepped.num_items
        )
        grad_norm = _number(stepped.grad_norm)
        self._tally.add(found, grad_norm)
        if is_due(parameters.plots_every, moment):
            self.recording.trial(self.step, found, grad_norm, lr)
        self._tell_nan(found)
        self._seconds += time.perf_counter() - start

    def _tell_nan(self, found: Seen) -> None:
        if not self._was_nan and not math.isfinite(found.loss):
            self._was_nan = True
            warn(
                f"the loss is {found.loss} at trial {self.step} of run {self.number}, and weights that are "
                "NaN once stay so. The training goes on; a smaller learning rate or clip_norm may help."
            )

    def end_epoch(self, parameters: Parameters, after_batch: Callable[[], bool]) -> None:
        """What is done right after the last trial: means, the test where it is time, the row of the epoch."""
        if not self._tally.num_batches:
            raise InputError("the train loader gave no batch: its data set, or its sampler, is empty.")
        self._scheduling.after_step(self._stepper.flush())
        self.epoch += 1
        self._total_seconds += self._seconds
        figures = self._tally.figures()
        row: Row = {"run": self.number, "epoch": self.epoch, **figures}
        row |= {"grad norm": self._tally.grad_norm, "seconds": self._seconds}
        self.epochs.append(row)
        every, is_last = parameters.test_every, self.epoch == parameters.epochs
        tested: dict[str, float] = {}
        if self.items is not None:
            row |= {f"test {name}": None for name in figures}
            if is_last or (every is not None and self.epoch % every == 0):
                tested = self._test_epoch(row, parameters, after_batch)
        if self._is_learned():
            self.ended_by = name_of(self.setup.is_done) if self.setup.is_done else ""
            if self.items is not None and not tested:  # a run ends with a test
                tested = self._test_epoch(row, parameters, after_batch)
        elif is_last:
            self.ended_by = ALL_EPOCHS
        self._step_schedule(figures, tested)
        self.recording.epoch(self.step, row, figures)

    def _test_epoch(
        self, row: Row, parameters: Parameters, after_batch: Callable[[], bool]
    ) -> dict[str, float]:
        def go_on() -> bool:
            after_batch()
            return False  # half a test would be none

        tested = self.test_all(go_on, is_shown=parameters.netview_every != NEVER)
        row |= {f"test {name}": value for name, value in tested.figures.items()}
        return tested.figures

    def _is_learned(self) -> bool:
        return self.setup.is_done is not None and bool(self.setup.is_done(self.epochs))

    def _step_schedule(self, figures: dict[str, float], tested: dict[str, float]) -> None:
        values = {f"train/{name}": value for name, value in figures.items()}
        values |= {f"test/{name}": value for name, value in tested.items()}
        metric = self._scheduling.metric
        if metric is not None and metric.startswith("test/") and self.items is not None and not tested:
            return  # it has nothing new to look at; its patience counts tests
        self._scheduling.after_epoch(values)

    def end(self) -> Row:
        """The row of the run. Names of what came of it have a space, so that no parameter is called so."""
        last = self.epochs[-1]
        row: Row = {"run": self.number, "seed": self.seed, **values_of(self._parameters)}
        row |= {"epochs needed": self.epoch, "trials needed": self.step}
        for name, value in last.items():
            if name not in ("run", "epoch", "grad norm", "seconds"):
                row[name if name.startswith("test ") else f"train {name}"] = value
        row |= {"run seconds": self._total_seconds, "ended by": self.ended_by}
        row["changed live"] = "; ".join(self._changes)
        self.recording.end(self.step, row)
        return row

    # --- tests --------------------------------------------------------------------------------------------

    def test_all(self, after_batch: Callable[[], bool], *, is_shown: bool = True) -> Tested:
        """Every item. `after_batch` says whether to stop; then nothing is recorded."""
        items = self._items()
        with self._recorded():
            look = self._looking({}) if is_shown else None
            tested = self._tester.test(items.batches(), 0, after_batch, look)
            if not tested.num_items and tested.is_whole:
                raise InputError("the test loader gave no batch: its data set, or its sampler, is empty.")
            same = {name: [self.counters[name]] * tested.num_items for name in ("run", "epoch")}
            tested = dataclasses.replace(tested, columns={**same, **tested.columns})
            if tested.is_whole:
                self.tests.append(self.recording.test(self.step, tested, self.counters))
                self.last_test = tested
        return tested

    def test_item(self, number: int) -> Row:
        items = self._items()
        with self._recorded():
            with as_it_was_after(self.setup):
                batch = items.item(number)
            tested = self._tester.test([batch], number, lambda: False, self._looking({"item": number}))
            row = {"run": self.number, "epoch": self.epoch, **tested.rows()[0]}
            self.recording.item(self.step, row)
        return row

    def _items(self) -> TestItems:
        if self.items is None:
            raise InputError("there is no test set: let the setup have one, tl.Setup(…, test=loader).")
        return self.items

    def _looking(self, more: Row) -> Callable[[Batch], None]:
        counters = {"name": "test", **self.counters, **more}
        return lambda batch: self._moments.record(batch, counters)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        """A run that is over is opened again for as long as a test takes."""
        if self.recording.run.state == "running":
            yield
            return
        self._moments.go_on_in(self.recording.open_again())
        try:
            yield
        finally:
            self.recording.close()

    def _taken(self, given: Any) -> Batch:
        inputs, targets, feed = split(given, whole=self.setup.loss is None)
        device = self._stepper.device
        return Batch(moved(inputs, device), moved(targets, device), feed)


def _number(value: Any) -> float | None:
    return value.item() if isinstance(value, Tensor) else value
