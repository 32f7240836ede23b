"""Commands carried out on a loop, in this process: what is taken when, what is refused, what is reported."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import torcheer as tl
from tests.training import small_loop, steppable
from torcheer.errors import InputError, ParameterError
from torcheer.training import Loop, Parameters, Setup, parameter
from torcheer.training.control import Init, RunOn, SetLive, Step, Stop, executor
from torcheer.training.control import control_commands as commands
from torcheer.training.control.control_commands import (
    AboutReport,
    Command,
    RefusalReport,
    Report,
    StatusReport,
)
from torcheer.training.control.executor import Executor, pass_on_warnings

PATIENCE_SECONDS = 30
QUIET = {"netview_every": "never"}


class Steered:
    """A loop whose commands are carried out in a thread; what it reports can be waited for."""

    def __init__(self, loop: Loop[Any], **preset: Any) -> None:
        self.loop = loop
        self.reports: list[Report] = []
        self._changed = threading.Condition()
        self.steering = Executor(loop, self._hear, QUIET | preset, None)
        self.steering.introduce()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._carry_out, daemon=True)
        self._thread.start()

    def _hear(self, report: Report) -> None:
        with self._changed:
            self.reports.append(report)
            self._changed.notify_all()

    def _carry_out(self) -> None:
        try:
            self.steering.carry_out_all()
        except BaseException as error:
            with self._changed:
                self.failure = error
                self._changed.notify_all()

    def all_of(self, kind: type[Any]) -> list[Any]:
        with self._changed:
            return [report for report in self.reports if isinstance(report, kind)]

    def wait(self, is_wanted: Callable[[StatusReport], bool]) -> StatusReport:
        """The last status, once it is as wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self.failure or is_wanted(self.status()), PATIENCE_SECONDS)
            assert is_wanted(self.status()), self.failure or self.reports[-1]
            return self.status()

    def status(self) -> StatusReport:
        found: StatusReport = self.all_of(StatusReport)[-1]
        return found

    def do(self, command: Command) -> StatusReport:
        """Let it be carried out, and wait until it is."""
        num_before = len(self.all_of(StatusReport))
        self.steering.take(command)
        return self.wait(
            lambda status: (
                len(self.all_of(StatusReport)) > num_before and status.state in ("new", "ready", "done")
            )
        )

    def end(self) -> None:
        self.steering.end()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        self.loop.close()


@pytest.fixture
def steered(tmp_path: Path) -> Iterator[Steered]:
    loop = small_loop.loop()
    loop.folder = tmp_path
    made = Steered(loop, hidden=3)
    yield made
    made.end()


def test_before_init_the_form_is_there_with_what_it_begins_with(steered: Steered) -> None:
    (about,) = (report.about for report in steered.all_of(AboutReport))
    fields = {field.name: field for field in about.fields}

    assert about.name == "small"
    assert (fields["hidden"].value, fields["hidden"].low, fields["hidden"].is_live) == (6, 1, False)
    assert fields["learning_rate"].is_live
    status = steered.status()
    assert (status.state, status.seed, status.values["hidden"]) == ("new", 1, 3)


def test_commands_step_run_and_test(steered: Steered) -> None:
    ready = steered.do(Init(values={"learning_rate": 0.25}, seed=5))
    assert (ready.state, ready.seed, ready.counters.num_trials) == ("ready", 5, small_loop.NUM_TRIALS)
    assert (ready.values["learning_rate"], ready.values["hidden"]) == (0.25, 3)
    assert steered.all_of(AboutReport)[-1].about.num_test_items == small_loop.NUM_ITEMS

    assert steered.do(Step(level="trial", count=3)).counters.step == 3
    stepped = steered.do(Step(level="epoch", count=2)).counters
    assert (stepped.epoch, stepped.step) == (2, 8)
    assert "Step 2 epochs" in [status.doing for status in steered.all_of(StatusReport)]
    steered.do(commands.TestItem(item=7))
    steered.do(commands.TestAll())
    assert not steered.all_of(RefusalReport)

    done = steered.do(RunOn())
    assert (done.state, done.counters.run, len(done.runs), done.doing) == ("done", 2, 2, "")
    assert tl.open_run(done.runs[0]).table("test items")["trial"].tolist() == [7]
    steered.do(RunOn())
    assert steered.all_of(RefusalReport)[-1].message == "all runs are over: Init begins anew."


def test_what_cannot_be_is_refused_and_changes_nothing(steered: Steered) -> None:
    steered.do(Step(level="trial", count=1))
    assert "Init comes first" in steered.all_of(RefusalReport)[-1].message

    steered.do(Init(values={"hidden": 0}, seed=5))
    refusal = steered.all_of(RefusalReport)[-1]
    assert (refusal.field, refusal.message) == ("hidden", "must be a whole number, from 1 to 50")
    assert (steered.status().state, steered.status().seed) == ("new", 1)

    before = steered.do(Init(values={}, seed=5))
    steered.do(SetLive(values={"hidden": 9}))
    assert steered.all_of(RefusalReport)[-1].field == "hidden"
    steered.do(commands.TestItem(item=99))
    assert "99" in steered.all_of(RefusalReport)[-1].message
    assert steered.status() == StatusReport(
        **{name: getattr(before, name) for name in before.__struct_fields__} | {"num_taken": 5}
    )


def test_a_live_value_does_not_hide_what_comes_right_after_it(steered: Steered) -> None:
    steered.do(Init(values={}, seed=5))
    steered.steering.take(SetLive(values={"learning_rate": 0.25}))
    steered.steering.take(Step(level="epoch", count=1))

    ready = steered.wait(lambda status: status.state == "ready")
    assert (ready.counters.step, ready.values["learning_rate"]) == (small_loop.NUM_TRIALS, 0.25)


def test_a_preset_that_cannot_be_is_an_error_of_the_one_who_gave_it(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="hidden"):
        Executor(small_loop.loop(), print, {"hidden": -1}, None)


def test_warnings_of_the_training_are_notes_until_the_next_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *others, **more: shown.append(str(message)))
    loop = steppable.loop_in(tmp_path, netview={"layers": ["nothing"]})
    steered = Steered(loop, netview_every="1 trial")
    with warnings.catch_warnings():
        pass_on_warnings(steered.steering.note)
        steered.do(Init(values={"learning_rate": 1e38}, seed=0))
        steered.do(Step(level="epoch", count=1))
        network, loss = steered.status().note.split("\n")
        assert network.startswith("the network cannot be shown in NetView: ")
        assert loss.startswith("the loss is ")
        assert [network, loss] == shown  # in the terminal, too

        assert steered.do(Init(values={}, seed=0)).note == ""
        steered.do(Step(level="trial", count=1))
        assert steered.status().note == network  # though it was told before
    steered.end()


def test_notes_are_few_and_each_is_there_once(steered: Steered) -> None:
    for text in "abbcda":
        steered.steering.note(text)
    steered.wait(lambda status: status.note == "a\nc\nd")


def test_one_core_is_left_to_the_page_unless_somebody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", chosen.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for num_cores in (1, 2, 4, 64):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, number=num_cores: range(number), raising=False)
        executor.leave_a_core_free()
    monkeypatch.setenv("MKL_NUM_THREADS", "2")
    executor.leave_a_core_free()

    assert chosen == [1, 1, 3, 8]


def test_a_setup_that_builds_nothing_is_a_failure_and_no_refusal(tmp_path: Path) -> None:
    steered = Steered(Loop(lambda parameters: None, folder=tmp_path))  # type: ignore[arg-type, return-value]
    steered.steering.take(Init(values={}, seed=0))
    steered.end()

    assert "tl.Setup" in str(steered.failure)
    assert not steered.all_of(RefusalReport)


# --- while a trial is under way ------------------------------------------------------------------------


@dataclass(frozen=True)
class GatedParameters(Parameters):
    learning_rate: float = parameter(0.5, low=0.0, live="lr")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate == 13:
            raise ZeroDivisionError("a check of the user's own")


class Gate(nn.Module):
    """A loss that waits in each trial until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.opened = threading.Semaphore(0), threading.Semaphore(0)
        self.error: Exception | None = None

    def forward(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        self.reached.release()
        assert self.opened.acquire(timeout=PATIENCE_SECONDS)
        if self.error is not None:
            raise self.error
        loss: torch.Tensor = (outputs - targets).square().mean()
        return loss


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def gated(tmp_path: Path, gate: Gate) -> Steered:
    """A loop that is in the middle of its first trial."""

    def setup(parameters: GatedParameters) -> Setup:
        model = nn.Linear(2, 1)
        batches = [(torch.ones(2, 2), torch.ones(2, 1)) for _ in range(100)]
        optimizer = torch.optim.SGD(model.parameters(), lr=parameters.learning_rate)
        return Setup(model=model, loss=gate, optimizer=optimizer, train=batches)

    steered = Steered(Loop(setup, GatedParameters(), name="gated", folder=tmp_path))
    steered.do(Init(values={}, seed=0))
    steered.steering.take(RunOn())
    assert gate.reached.acquire(timeout=PATIENCE_SECONDS)
    return steered


def test_stop_ends_after_the_trial_that_is_under_way(gated: Steered, gate: Gate) -> None:
    assert (gated.status().state, gated.status().doing) == ("busy", "Run")
    gated.steering.take(commands.TestAll())
    assert gated.all_of(RefusalReport)[-1].message == "Run is under way: stop it first."

    gated.steering.take(Stop())
    assert gated.status().state == "stopping"
    gate.opened.release()

    stopped = gated.wait(lambda status: status.state == "ready")
    assert (stopped.counters.step, stopped.doing) == (1, "")
    gated.end()


def test_a_live_value_takes_effect_at_the_next_trial(gated: Steered, gate: Gate) -> None:
    gated.steering.take(SetLive(values={"learning_rate": 0.125}))
    gated.steering.take(SetLive(values={"learning_rate": -1.0}))
    gated.steering.take(SetLive(values={"self": 1}))
    gated.steering.take(SetLive(values={"learning_rate": 13}))
    gate.opened.release()
    assert gate.reached.acquire(timeout=PATIENCE_SECONDS)  # the second trial
    gated.steering.take(Stop())
    gate.opened.release()

    stopped = gated.wait(lambda status: status.state == "ready")
    assert stopped.values["learning_rate"] == 0.125
    refused = gated.all_of(RefusalReport)
    assert [refusal.field for refusal in refused] == ["learning_rate", "self", ""]
    assert refused[-1].message == "a check of the user's own"
    for values in ({"learning_rate": 13}, {"seed": 1}, {"self": 1}):
        assert gated.do(Init(values=values, seed=0)).runs == stopped.runs
    assert len(gated.all_of(RefusalReport)) == 6
    gated.end()
    rates = tl.open_run(stopped.runs[-1]).scalars("train/lr")
    assert rates.values.tolist() == [0.5, 0.125]


def test_an_exception_goes_through_after_a_last_report(gated: Steered, gate: Gate) -> None:
    gate.opened.release()
    assert gate.reached.acquire(timeout=PATIENCE_SECONDS)
    gate.error = InputError("raised by code of the user's, and no refusal of ours")
    gate.opened.release()

    gated.end()
    assert gated.failure is gate.error
    assert not gated.all_of(RefusalReport)
    assert gated.status().counters.step == 1


def test_the_end_of_commands_ends_a_run_after_its_trial(gated: Steered, gate: Gate) -> None:
    gated.steering.end()
    gate.opened.release()
    gated.end()
    assert gated.failure is None
    assert gated.status().counters.step == 1
