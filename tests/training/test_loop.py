"""A training that is stepped, stopped and tested is the training that runs through."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import torcheer as tl
from tests.many import examples
from tests.training.fitted import Terminal
from tests.training.steppable import (
    NUM_EPOCHS,
    NUM_RUNS,
    NUM_TRIALS,
    Noisy,
    Parameters,
    loop_in,
    network,
    setup,
    without_times,
)
from torcheer.errors import InputError

TRIALS_OF_A_RUN = NUM_EPOCHS * NUM_TRIALS


def outcome(loop: tl.Loop[Any]) -> tuple[Any, ...]:
    """All that came of it, bit by bit."""
    weights = [value.tolist() for value in loop.setup.model.state_dict().values()]
    return without_times(loop.epochs), without_times(loop.run_rows), weights


@pytest.fixture(scope="module")
def run_through(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    loop = loop_in(tmp_path_factory.mktemp("whole"))
    loop.run()
    return outcome(loop)


actions = st.one_of(
    st.tuples(st.just("step"), st.sampled_from(["trial", "epoch", "run"]), st.integers(1, 4)),
    st.tuples(st.just("stopped"), st.integers(1, 5)),
    st.tuples(st.just("test item"), st.integers(0, 10)),
    st.tuples(st.sampled_from(["test all", "draw"])),
)


def carry_out(loop: tl.Loop[Any], action: tuple[Any, ...]) -> None:
    match action:
        case ("step", level, count):
            loop.step(level, count)
        case ("stopped", num_trials):
            left = [num_trials]

            def count_down() -> None:
                left[0] -= 1
                if left[0] == 0:
                    loop.stop()

            loop.on_trial = count_down
            loop.run()
            loop.on_trial = None
        case ("test item", number):
            loop.test_item(number)
        case ("test all",):
            loop.test_all()
        case _:  # somebody else draws random numbers
            torch.rand(3), numpy.random.rand(3), random.random()


@settings(max_examples=examples(8))
@given(st.lists(actions, max_size=6))
def test_however_it_is_cut_it_is_what_running_through_is(
    run_through: tuple[Any, ...], tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[Any, ...]]
) -> None:
    loop = loop_in(tmp_path_factory.mktemp("cut"))
    loop.init()

    for action in cuts:
        carry_out(loop, action)
    loop.run()

    assert outcome(loop) == run_through


def test_to_look_at_the_network_changes_nothing(tmp_path: Path, run_through: tuple[Any, ...]) -> None:
    loop = loop_in(tmp_path)
    loop.init(netview_every="1 trial")
    loop.run()

    assert (outcome(loop)[0], outcome(loop)[2]) == (run_through[0], run_through[2])


def test_a_run_is_the_loop_that_one_writes_by_hand(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    loop.init(seed=9, runs=1)
    loop.run()

    torch.manual_seed(9)
    built = setup(Parameters())
    losses: list[list[float]] = []
    for _ in range(NUM_EPOCHS):
        losses.append([])
        for inputs, targets in built.train:
            built.optimizer.zero_grad()  # type: ignore[union-attr]
            loss = built.loss(built.model(inputs), targets)  # type: ignore[misc]
            loss.backward()
            built.optimizer.step()  # type: ignore[union-attr]
            losses[-1].append(loss.item())
        built.scheduler.step()

    run = tl.open_run(loop.runs[0])
    flat = [loss for epoch in losses for loss in epoch]
    assert run.scalars("train/loss").values.tolist() == flat
    assert run.scalars("train/loss").steps.tolist() == list(range(1, len(flat) + 1))
    sizes = (4, 4, 3)
    means = [sum(n * one for n, one in zip(sizes, epoch, strict=True)) / 11 for epoch in losses]
    assert [row["loss"] for row in loop.epochs] == pytest.approx(means, rel=1e-12)
    for ours, theirs in zip(loop.setup.model.parameters(), built.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_counters_say_what_is_done_and_stay_at_the_end_of_an_epoch(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    assert loop.state == "new"
    found = [loop.init()]
    while not loop.is_done:
        found.append(loop.step())

    seen = [(at.run, at.epoch, at.trial, at.step) for at in found]
    expected = [(0, 0, 0, 0)]
    for run in range(NUM_RUNS):
        for step in range(1, TRIALS_OF_A_RUN + 1):
            epoch, trial = divmod(step - 1, NUM_TRIALS)
            is_last = trial == NUM_TRIALS - 1
            expected.append((run + (step == TRIALS_OF_A_RUN), epoch + is_last, trial + 1, step))
    assert seen == expected
    assert {(at.num_runs, at.num_epochs, at.num_trials) for at in found} == {
        (NUM_RUNS, NUM_EPOCHS, NUM_TRIALS)
    }
    assert loop.state == "done"
    assert loop.step("run") == found[-1]  # there is nothing left to do


def test_a_step_of_a_level_ends_what_is_under_way_at_it(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)

    first = loop.step()  # begins by itself
    epoch = loop.step("epoch")
    run = loop.step("run")

    assert [(at.run, at.epoch, at.step) for at in (first, epoch, run)] == [
        (0, 0, 1),
        (0, 1, NUM_TRIALS),
        (1, NUM_EPOCHS, TRIALS_OF_A_RUN),
    ]
    assert [path.name for path in loop.runs] == ["run-0"]  # the next one begins with the next step
    assert loop.step().run == 1
    assert [path.name for path in loop.runs] == ["run-0", "run-1"]
    with pytest.raises(InputError, match="no level 'batch'"):
        loop.step("batch")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="from 1 on"):
        loop.step(count=0)


def test_init_begins_anew_with_other_parameters_over_those_of_the_code(
    tmp_path: Path, run_through: tuple[Any, ...]
) -> None:
    loop = loop_in(tmp_path)
    loop.init(seed=8, hidden=3)
    loop.step("trial", 4)
    assert loop.setup.model[0].out_features == 3  # type: ignore[index]

    loop.init(seed=4)
    loop.run()

    assert outcome(loop) == run_through
    assert loop.parameters == Parameters()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steppable-1", "steppable-2"]
    assert loop.new_seed() == loop.seed


def test_each_run_has_other_random_numbers_and_can_be_had_again_by_its_seed(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    loop.run()
    second = without_times([row for row in loop.epochs if row["run"] == 1])
    seeds = [row["seed"] for row in loop.run_rows]
    assert seeds[0] == 4
    assert seeds[1] != 4

    loop.init(seed=seeds[1])
    loop.step("run")

    assert [row | {"run": 1} for row in without_times(loop.epochs)] == second


def test_random_numbers_of_others_are_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(1)
    expected = torch.rand(4)
    torch.manual_seed(1)

    loop = loop_in(tmp_path)
    loop.step("epoch")
    loop.test_item(0)

    assert torch.equal(torch.rand(4), expected)


def test_it_stops_after_the_trial_when_another_thread_says_so(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    reached, told = threading.Event(), threading.Event()
    states = []

    def wait_at_second() -> None:
        if loop.counters.step == 2:
            states.append(loop.state)
            reached.set()
            told.wait(30)
            states.append(loop.state)

    def tell() -> None:
        reached.wait(30)
        loop.stop()
        told.set()

    loop.on_trial = wait_at_second
    thread = threading.Thread(target=tell)
    thread.start()
    at = loop.run()
    thread.join()

    assert at.step == 2
    assert states == ["busy", "stopping"]
    assert loop.state == "ready"


def test_ctrl_c_stops_it_after_the_trial_and_a_second_one_at_once(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    loop.on_trial = lambda: os.kill(os.getpid(), signal.SIGINT)
    handler = signal.getsignal(signal.SIGINT)

    assert loop.run().step == 1  # no exception
    assert loop.step("trial", 5).step == 2

    def press_twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    loop.on_trial = press_twice
    with pytest.raises(KeyboardInterrupt):
        loop.run()
    assert loop.state == "failed"
    assert tl.open_run(loop.runs[0]).state == "died"
    assert signal.getsignal(signal.SIGINT) is handler


def test_what_the_training_raises_ends_it_until_init(tmp_path: Path) -> None:
    class Breaking(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network(5)
            self.num_calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.num_calls += 1
            if self.num_calls == 3:
                raise ZeroDivisionError("as asked for")
            return self.inner(x)  # type: ignore[no-any-return]

    def broken(p: Parameters) -> tl.Setup:
        data, model = Noisy(), Breaking()
        batches = [(data.inputs, data.targets)]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return tl.Setup(model=model, loss=torch.nn.CrossEntropyLoss(), optimizer=optimizer, train=batches)

    loop = loop_in(tmp_path, broken)
    loop.init(epochs=9)
    with pytest.raises(ZeroDivisionError, match="as asked for"):
        loop.run()

    assert loop.state == "failed"
    assert loop.counters.step == 2  # the third never came to its end
    assert tl.open_run(loop.runs[0]).state == "died"
    for go_on in (loop.step, loop.run, loop.test_all):
        with pytest.raises(InputError, match=r"ended with ZeroDivisionError: as asked for.*init\(\)"):
            go_on()
    assert loop.init().step == 0
    assert loop.state == "ready"


def test_nobody_calls_it_while_it_is_at_work(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    refused = []

    def meddle() -> None:
        for meddling in (loop.step, loop.init, loop.close, loop.test_all):
            with pytest.raises(InputError, match=r"at work: stop\(\)"):
                meddling()
            refused.append(meddling.__name__)

    loop.on_trial = meddle
    loop.step()

    assert refused == ["step", "init", "close", "test_all"]


def test_a_loss_that_is_no_number_is_told_once_and_the_training_goes_on(tmp_path: Path) -> None:
    loop = loop_in(tmp_path, loss=lambda outputs, targets: outputs.sum() * float("nan"))
    with pytest.warns(tl.TrainingWarning, match="the loss is nan at trial 1") as told:
        loop.step("run")

    assert len([one for one in told if "the loss is nan" in str(one.message)]) == 1
    assert loop.counters.epoch == NUM_EPOCHS
    assert all(row["loss"] != row["loss"] for row in loop.epochs)


def test_what_is_no_setup_and_no_parameters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="setup is 3"):
        tl.Loop(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"parameters are <class .*give a function"):
        tl.Loop(setup, Parameters)  # type: ignore[type-var]
    unready = loop_in(tmp_path, lambda p: {})  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="the setup returned a dict"):
        unready.init()
    assert unready.state == "failed"
    with pytest.raises(
        InputError, match=r"ended with InputError: the setup returned .* init\(\) begins anew"
    ):
        unready.step()
    with pytest.raises(InputError, match="whole number from 0"):
        loop_in(tmp_path).init(seed=-1)
    for wrong, message in {
        "train": ([], "train has no batches"),
        "test": (iter([]), "test is a list_iterator"),
        "loss": ("mse", "loss is 'mse'"),
        "errors": ("all", "errors='all': give a function"),
        "statistics": ({"loss": len}, "cannot be called 'loss'"),
        "is_done": (5, "is_done=5: give a function"),
        "layers": ("0", "layers='0': give a list"),
        "plots": (["loss"], "give a dict by name"),
    }.items():
        with pytest.raises(InputError, match=message[1]):
            loop_in(tmp_path, **{wrong: message[0]}).init()


def test_how_far_it_is_stands_in_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = loop_in(tmp_path)
    loop.shows_progress = True
    loop.run()
    assert capsys.readouterr().err.splitlines() == [
        "run 1/2: 2 epochs, 6 trials",
        "run 2/2: 2 epochs, 6 trials",
    ]


def test_how_far_it_is_stands_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    loop = loop_in(tmp_path)
    loop.shows_progress = True
    loop.run()
    assert "runs" in terminal.getvalue()
    assert "0/2" in terminal.getvalue()


def test_a_loop_that_is_closed_begins_anew(tmp_path: Path) -> None:
    with loop_in(tmp_path) as loop:
        loop.step()
    assert tl.open_run(loop.runs[0]).state == "finished"
    with pytest.raises(InputError, match="closed in the middle"):
        loop.step()
    assert loop.init().step == 0
