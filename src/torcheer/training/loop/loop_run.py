"""One run of a `tl.Loop`: its trials, the ends of its epochs, and its tests."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.models import Batch, split
from torcheer.netview import NetView
from torcheer.run import Run, RunAccess, ending_of, reason_of
from torcheer.training.distributed import set_epoch
from torcheer.training.loop import tester
from torcheer.training.loop.setup import Parameters, Setup, kinds_of, values_of
from torcheer.training.loop.tester import Judge, Tally, Tested, Tester, TestItems, as_it_was_after
from torcheer.training.trainer.fit_arguments import Scheduling, loss_in, num_batches_of, optimizer_of
from torcheer.training.trainer.stepper import Stepper
from torcheer.training.training_warning import warn

EPOCHS: Final = "train epochs"
TRIALS: Final = "test trials"
ITEMS: Final = "test items"
TESTS: Final = "test epochs"
RUNS: Final = "runs"

Row = dict[str, Any]


def new_session(folder: str | os.PathLike[str], name: str) -> Path:
    """A folder for the runs of one beginning: `runs/etra25-3`. Nobody else has it."""
    base = Path(os.path.abspath(os.path.expanduser(os.fspath(folder))))
    plain = re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "loop"
    for number in itertools.count(1):
        session = base / f"{plain}-{number}"
        try:
            session.mkdir(parents=True)
        except FileExistsError:
            if not session.exists():  # something else than a folder is in the way
                raise
            continue
        except OSError as error:
            raise InputError(
                f"{session} cannot be made ({error.strerror}): give a folder= where runs can be written."
            ) from error
        return session
    raise AssertionError


_MOST_WEIGHT_BYTES: Final = 8 << 20  # of a model, so that its weights are kept without being asked for


class _View(NetView):
    """One whose first moment has counters, as all others do."""

    def __init__(self, model: torch.nn.Module, x: Any, counters: Mapping[str, Any], **options: Any) -> None:
        self._first = dict(counters)
        super().__init__(model, x, **options)

    def update(self, x: Any = None, *, name: str = "", **counters: Any) -> int:
        given, self._first = {"name": name, **counters, **self._first}, {}
        return super().update(x, **given)

    def record_into(self, run: Run) -> None:
        """The same run, which may have been opened again."""
        assert self._recording is not None
        self._recording.run = run


class NetMoments:
    """The network of one run. Where it cannot be shown, that is told once, and the training goes on."""

    def __init__(self, setup: Setup, stepper: Stepper) -> None:
        self._setup = setup
        self._autocast = stepper.autocast
        self._view: _View | None = None
        self._is_on = True

    def record(self, run: Run, batch: Batch, counters: Mapping[str, Any], *, is_try: bool = False) -> None:
        """Run the model on a batch, as it is, and keep what all its units do. It is left as it was.

        The random numbers are those that come next: a trial with the same batch right after this draws the
        same ones, so that dropout and gradients are those of the trial. `is_try`: with a batch that the
        training may never see; where it fails, the next one may not.
        """
        if not self._is_on:
            return
        is_first = self._view is None
        try:
            with self._autocast:
                self._update(run, batch, counters)
        except Exception as error:
            if is_try:
                return
            self._is_on = False
            reason = reason_of(error).rstrip(".")
            warn(f"the network cannot be shown in NetView: {reason}. The training goes on.")
            return
        if is_first and self._view is not None:
            for layer, shape in self._setup.shapes.items():
                self._view.reshape(layer, shape)

    def _update(self, run: Run, batch: Batch, counters: Mapping[str, Any]) -> None:
        x, function = tester.arguments_of(batch), self._setup.loss

        def loss(outputs: Any) -> Any:
            return loss_in(outputs) if function is None else function(outputs, batch.targets)

        if self._view is not None:
            self._view.record_into(run)
            self._view.loss = loss
            self._view.update(x, **counters)
            return
        # Weights, and what the optimizer keeps of each, where that is little enough for every trial.
        num_bytes = sum(one.numel() * one.element_size() for one in self._setup.model.parameters())
        is_small = num_bytes <= _MOST_WEIGHT_BYTES
        options: dict[str, Any] = {"optimizer": self._setup.optimizer} if is_small else {"weights": None}
        options |= {**self._setup.netview, "run": run, "loss": loss}
        self._view = _View(self._setup.model, x, counters, **options)


# Where every group of the optimizer had the old value, each has the new one. Where one has another, as a
# group with its own learning rate does, it is scaled by as much as the parameter was. With a scheduler the
# whole schedule is scaled: twice the rate is twice the rate from there on, wherever the schedule is.

# Of a learning rate, what a scheduler keeps in the groups, and in itself.
_IN_GROUPS: Final = ("initial_lr", "max_lr", "min_lr")
_IN_SCHEDULERS: Final = ("base_lrs", "max_lrs", "min_lrs")


class LiveValues:
    """What of the parameters is in the optimizer by now."""

    def __init__(self, setup: Setup, optimizer: Optimizer, scheduler: Any, parameters: Parameters) -> None:
        self._setup = setup
        self._optimizer = optimizer
        self._scheduler = scheduler
        self._applied = parameters
        self._live = {
            name: kind.live
            for name, kind in kinds_of(type(parameters)).items()
            if not isinstance(kind.live, bool)
        }
        for name, live in self._live.items():
            if isinstance(live, str):
                self._check_entry(name, live)

    def take_over(self, parameters: Parameters) -> list[str]:
        """Say which have changed since the last time, in words."""
        if parameters is self._applied:
            return []
        before, self._applied = self._applied, parameters
        changes = []
        for name in kinds_of(type(parameters)):
            old, new = getattr(before, name), getattr(parameters, name)
            if old == new:
                continue
            live = self._live.get(name)
            if isinstance(live, str):
                self._set_entry(live, old, new)
            elif callable(live):
                live(self._setup, new)
            changes.append(f"{name} {old} → {new}")
        return changes

    def _check_entry(self, name: str, entry: str) -> None:
        missing = next((group for group in self._optimizer.param_groups if entry not in group), None)
        if missing is not None:
            known = ", ".join(key for key in missing if key not in ("params", "param_names"))
            raise InputError(
                f"{name} is live as {entry!r}, and {type(self._optimizer).__name__} has no such entry: name "
                f"one of {known}, or give live= a function of the setup and the value."
            )

    def _set_entry(self, entry: str, old: Any, new: Any) -> None:
        for group in self._optimizer.param_groups:
            is_scheduled = entry == "lr" and self._scheduler is not None
            for key in (entry, *(_IN_GROUPS if is_scheduled else ())):
                held = group.get(key)
                if isinstance(held, Tensor):  # of a compiled or captured optimizer, which looks nowhere else
                    held.fill_(_scaled(held, old, new))
                elif key in group:
                    group[key] = _scaled(held, old, new)
        if entry == "lr":
            for scheduler in _all_schedulers(self._scheduler):
                for key in _IN_SCHEDULERS:
                    rates = getattr(scheduler, key, None)
                    if isinstance(rates, list):
                        rates[:] = [_scaled(rate, old, new) for rate in rates]


def _scaled(held: Any, old: Any, new: Any) -> Any:
    """The new value where it was the old one; else as many times as large. Nothing can be scaled from 0."""
    held = held.item() if isinstance(held, Tensor) else held
    is_number = all(isinstance(one, int | float) for one in (held, old, new))
    return new if not is_number or held == old or not old else held * (new / old)


def _all_schedulers(scheduler: Any) -> Iterator[Any]:
    """With those that one of them is made of."""
    if scheduler is not None:
        yield scheduler
        for inner in getattr(scheduler, "_schedulers", ()):
            yield from _all_schedulers(inner)


NEVER: Final = "never"
_EVERY: Final = re.compile(r"([1-9][0-9]{0,8}) (trial|epoch)s?")


def is_due(every: str, *, step: int, epoch: int, trial: int, num_trials: int | None) -> bool:
    """Whether this trial is one; all numbers count from 1.

    Of an epoch it is the last trial; the first, where nobody knows which will be the last.
    """
    if every == NEVER:
        return False
    found = _EVERY.fullmatch(every)
    if found is None:
        raise InputError(f"every {every!r}: write '10 trials', '1 epoch' or 'never'.")
    number = int(found[1])
    if found[2] == "trial":
        return step % number == 0
    return trial == (num_trials or 1) and epoch % number == 0


ALL_EPOCHS: Final = "all epochs"


class LoopRun:
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
        self._tally = Tally(setup)  # of the epoch that is under way
        self._grad_norms: list[float] = []  # of its trials that changed the weights
        total = None if self.num_trials is None else parameters.epochs * self.num_trials
        # Steps count its trials; what is known before the first has step 0.
        self.run = Run(folder, total_steps=total)
        self.run.log_hparams({**values_of(parameters), "run": number, "seed": seed})
        self._moments = NetMoments(setup, self._stepper)
        self.items: TestItems | None = None
        try:
            with as_it_was_after(setup):
                if setup.test is not None:
                    self.items = TestItems(setup.test, is_whole=setup.loss is None)
                self._look_ahead()
        except BaseException as error:
            self.close(error)
            raise

    def _look_ahead(self) -> None:
        """At a first batch, where one can be had without going through a loader: what will be shown of it."""
        loaders = [loader for loader in (self.setup.train, self.setup.test) if loader is not None]
        given = next((batch for batch in map(tester.first_batch, loaders) if batch is not None), None)
        if given is None:
            return
        batch = self._taken(given)
        self.setup.model.train()
        if self._parameters.netview_every != NEVER:
            self._moments.record(self.run, batch, {"name": "init", **self.counters}, is_try=True)
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
        return {**self._done, "trial": self.trial}

    @property
    def _done(self) -> dict[str, int]:
        return {"run": self.number, "epoch": self.epoch}

    @property
    def has_errors(self) -> bool:
        return self._judge.may_judge

    def batches(self, epoch: int) -> Iterator[Any]:
        """Those of an epoch. The time that it takes to have them counts."""
        self._tally, self._grad_norms, self._seconds = Tally(self.setup), [], 0.0
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
        at = {"step": self.step + 1, "epoch": self.epoch + 1, "trial": number + 1}
        is_shown = is_shown and parameters.netview_every != NEVER
        if is_shown or is_due(parameters.netview_every, **at, num_trials=self.num_trials):
            counters = {"name": "train", **self.counters, "trial": at["trial"]}
            self._moments.record(self.run, self._taken(given), counters)
        lr = _number(self._stepper.optimizer.param_groups[0].get("lr"))
        stepped = self._stepper.step(given)
        self._scheduling.after_step(stepped.stepped)
        self.trial, self.step = at["trial"], at["step"]
        figures, _ = tester.seen(
            self.setup, self._judge, stepped.outputs, stepped.targets, stepped.loss, stepped.num_items
        )
        self._tally.add(figures, stepped.num_items)
        grad_norm, loss = _number(stepped.grad_norm), figures["loss"]
        if grad_norm is not None:
            self._grad_norms.append(grad_norm)
        if is_due(parameters.plots_every, **at, num_trials=self.num_trials):
            values = {**figures, "grad_norm": grad_norm, "lr": lr}
            known = {f"train/{name}": value for name, value in values.items() if value is not None}
            self.run.log(self.step, known)
        self._seconds += time.perf_counter() - start
        if not self._was_nan and not math.isfinite(loss):
            self._was_nan = True
            warn(
                f"the loss is {loss} at trial {self.step} of run {self.number}, and weights that are "
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
        row: Row = {**self._done, **figures}
        norms = self._grad_norms
        row |= {"grad norm": sum(norms) / len(norms) if norms else None, "seconds": self._seconds}
        self.epochs.append(row)
        every, is_last = parameters.test_every, self.epoch == parameters.epochs
        tested: dict[str, float] = {}
        if self.items is not None:
            row |= {f"test {name}": None for name in figures}
            if is_last or (every is not None and self.epoch % every == 0):
                tested = self._test_epoch(row, parameters, after_batch)
        if self.setup.is_done is not None and self.setup.is_done(self.epochs):
            self.ended_by = getattr(self.setup.is_done, "__name__", type(self.setup.is_done).__name__)
            if self.items is not None and not tested:  # a run ends with a test
                tested = self._test_epoch(row, parameters, after_batch)
        elif is_last:
            self.ended_by = ALL_EPOCHS
        values = {f"train/{name}": value for name, value in figures.items()}
        values |= {f"test/{name}": value for name, value in tested.items()}
        # A scheduler that looks at a figure of the test waits for the next one; its patience counts tests.
        if tested or not (self._scheduling.metric or "").startswith("test/"):
            self._scheduling.after_epoch(values)
        self.run.log(self.step, {f"epoch/{name}": value for name, value in figures.items()})
        self.run.log_row(self.step, EPOCHS, row)

    def _test_epoch(
        self, row: Row, parameters: Parameters, after_batch: Callable[[], bool]
    ) -> dict[str, float]:
        def go_on() -> bool:
            after_batch()
            return False  # half a test would be none

        tested = self.test_all(go_on, is_shown=parameters.netview_every != NEVER)
        row |= {f"test {name}": value for name, value in tested.figures.items()}
        return tested.figures

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
        self.run.log_row(self.step, RUNS, row)
        self.run.close()
        return row

    def close(self, error: BaseException | None = None) -> None:
        """`error`: what it died of."""
        RunAccess(self.run).close(ending_of(error))

    def test_all(self, after_batch: Callable[[], bool], *, is_shown: bool = True) -> Tested:
        """Every item. `after_batch` says whether to stop; then nothing is recorded."""
        items = self._items()
        with self._recorded():
            look = self._looking({}) if is_shown else None
            tested = self._tester.test(items.batches(), 0, self._done, after_batch, look)
            if not tested.num_items and tested.is_whole:
                raise InputError("the test loader gave no batch: its data set, or its sampler, is empty.")
            if tested.is_whole:
                self.run.log(self.step, {f"test/{name}": value for name, value in tested.figures.items()})
                self.run.log_table(self.step, TRIALS, tested.columns)
                row = {
                    **self.counters,
                    "items": tested.num_items,
                    **tested.figures,
                    "seconds": tested.seconds,
                }
                self.run.log_row(self.step, TESTS, row)
                self.tests.append(row)
                self.last_test = tested
        return tested

    def test_item(self, number: int) -> Row:
        items = self._items()
        with self._recorded():
            with as_it_was_after(self.setup):
                batch = items.item(number)
            look = self._looking({"item": number})
            row = self._tester.test([batch], number, self._done, lambda: False, look).rows()[0]
            self.run.log_row(self.step, ITEMS, row)
        return row

    def _items(self) -> TestItems:
        if self.items is None:
            raise InputError("there is no test set: let the setup have one, tl.Setup(…, test=loader).")
        return self.items

    def _looking(self, more: Row) -> Callable[[Batch], None]:
        counters = {"name": "test", **self.counters, **more}
        return lambda batch: self._moments.record(self.run, batch, counters)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        """A run that is over is opened again for as long as a test takes."""
        if self.run.state == "running":
            yield
            return
        with closing(Run(self.run.path)) as self.run:
            yield

    def _taken(self, given: Any) -> Batch:
        return split(given, whole=self.setup.loss is None).moved_to(self._stepper.device)


def _number(value: Any) -> float | None:
    return value.item() if isinstance(value, Tensor) else value
