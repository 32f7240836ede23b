"""Parameters that are changed while a training runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import Optimizer, lr_scheduler

import torcheer as tl
from tests.training.steppable import Parameters, loop_in, setup
from torcheer.errors import InputError, ParameterError
from torcheer.training.loop.loop_run import LiveValues


def test_a_live_value_takes_effect_at_the_next_trial(tmp_path: Path) -> None:
    loop = loop_in(tmp_path, scheduler=None)
    loop.step("trial", 2)
    weight = loop.setup.model[0].weight  # type: ignore[index]
    before = weight.detach().clone()

    loop.set_live(learning_rate=0.0)
    loop.step()
    assert torch.equal(weight, before)

    loop.set_live(learning_rate=0.3, momentum=0.5)
    loop.step("run")
    assert not torch.equal(weight, before)
    assert tl.open_run(loop.runs[0]).scalars("train/lr").values.tolist() == [0.1, 0.1, 0.0, 0.3, 0.3, 0.3]
    assert loop.parameters.momentum == loop.setup.optimizer.param_groups[0]["momentum"] == 0.5  # type: ignore[union-attr]
    assert loop.run_rows[0]["learning_rate"] == 0.1  # as the run began
    assert loop.run_rows[0]["changed live"].split("; ") == [
        "learning_rate 0.1 → 0.0 at trial 2",
        "learning_rate 0.0 → 0.3 at trial 3",
        "momentum 0.9 → 0.5 at trial 3",
    ]
    loop.step()
    assert loop.setup.optimizer.param_groups[0]["lr"] == 0.3  # type: ignore[union-attr]  # of the next run, too


def test_a_live_value_can_be_set_from_a_trial(tmp_path: Path) -> None:
    loop = loop_in(tmp_path, scheduler=None)

    def halve() -> None:
        loop.set_live(learning_rate=loop.parameters.learning_rate / 2)

    loop.on_trial = halve
    loop.step("trial", 3)

    assert loop.table("train epochs")["epoch"].tolist() == [1]
    assert tl.open_run(loop.runs[0]).scalars("train/lr").values.tolist() == [0.1, 0.05, 0.025]


def test_what_is_not_live_waits_for_init(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    loop.init()

    with pytest.raises(ParameterError, match=r"hidden takes effect .* init\(hidden=7\)") as refused:
        loop.set_live(hidden=7)
    assert refused.value.field == "hidden"
    with pytest.raises(ParameterError, match="it must be from 0 to 1"):
        loop.set_live(learning_rate=0.5, momentum=2.0)
    assert loop.parameters == Parameters()  # nothing was changed
    loop.set_live(netview_every="1 epoch", test_every=None)
    assert loop.parameters.test_every is None


SCHEDULES: dict[str, Callable[[Optimizer], Any]] = {
    "none": lambda optimizer: None,
    "StepLR": lambda optimizer: lr_scheduler.StepLR(optimizer, 2, 0.5),
    "LambdaLR": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch)),
    "CosineAnnealingLR": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 10),
    "CosineAnnealingWarmRestarts": lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3),
    "OneCycleLR": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, [0.1, 0.01], total_steps=10),
    "CyclicLR": lambda optimizer: lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, step_size_up=3),
    "ChainedScheduler": lambda optimizer: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(optimizer, 0.5, 2), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    ),
    "SequentialLR": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer,
        [lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 4), lr_scheduler.ExponentialLR(optimizer, 0.9)],
        [6],
    ),
}


@pytest.mark.filterwarnings("ignore:The epoch parameter", "ignore:.*scheduler.step")
@pytest.mark.parametrize("name", SCHEDULES)
def test_with_a_schedule_the_whole_of_it_is_scaled(name: str) -> None:
    def rates(factor: float) -> list[list[float]]:
        built = setup(Parameters())
        groups = [
            {"params": built.model[0].parameters()},
            {"params": built.model[4].parameters(), "lr": 0.01},
        ]  # type: ignore[index]
        optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
        scheduler = SCHEDULES[name](optimizer)
        live = LiveValues(built, optimizer, scheduler, Parameters())
        found = []
        for step in range(9):
            if step == 4:
                live.take_over(Parameters(learning_rate=0.1 * factor))
            found.append([float(group["lr"]) for group in optimizer.param_groups])
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
        return found

    plain, doubled = rates(1.0), rates(2.0)

    assert doubled[:4] == plain[:4]
    for ours, theirs in zip(doubled[4:], plain[4:], strict=True):
        assert ours == pytest.approx([2 * rate for rate in theirs])


def test_from_nothing_a_schedule_begins_at_the_new_rate() -> None:
    built = setup(Parameters(learning_rate=0.0))
    live = LiveValues(built, built.optimizer, built.scheduler, Parameters(learning_rate=0.0))  # type: ignore[arg-type]

    live.take_over(Parameters(learning_rate=0.4))
    built.optimizer.step()  # type: ignore[union-attr]
    built.scheduler.step()

    assert built.optimizer.param_groups[0]["lr"] == 0.2  # type: ignore[union-attr]


def test_a_rate_in_a_tensor_is_written_into_it() -> None:
    built = setup(Parameters())
    rate = torch.tensor(0.1)
    optimizer = torch.optim.SGD(built.model.parameters(), lr=rate, foreach=False)
    live = LiveValues(built, optimizer, None, Parameters())

    live.take_over(Parameters(learning_rate=0.25))

    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25


def test_a_live_value_may_be_anything_that_a_function_sets(tmp_path: Path) -> None:
    def set_dropout(built: tl.Setup, value: float) -> None:
        next(layer for layer in built.model.modules() if isinstance(layer, nn.Dropout)).p = value

    @dataclass(frozen=True)
    class Dropping(Parameters):
        dropout: float = tl.parameter(0.3, low=0.0, high=1.0, live=set_dropout)

    loop = loop_in(tmp_path, parameters=Dropping())
    loop.step()
    loop.set_live(dropout=0.75)
    loop.step()

    assert loop.setup.model[3].p == 0.75  # type: ignore[index]


def test_a_live_entry_that_the_optimizer_does_not_have_is_named(tmp_path: Path) -> None:
    def adam(p: Parameters) -> tl.Setup:
        return setup(p, scheduler=None)

    @dataclass(frozen=True)
    class Wrong(tl.Parameters):
        rate: float = tl.parameter(0.1, live="learning_rate")
        hidden: int = 5
        learning_rate: float = 0.1
        momentum: float = 0.9

    with pytest.raises(
        InputError, match=r"rate is live as 'learning_rate', and SGD has no such entry.* lr, "
    ):
        loop_in(tmp_path, adam, Wrong()).init()
