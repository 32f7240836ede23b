"""What is recorded of a model that somebody else trains: the pass that its training makes, or nothing."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from torcheer.training import TrainingWarning
from torcheer.training.snapshots import Calls, Snapshots


class Two(nn.Module):
    """Takes one tensor by place and one by name, and draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.normalized = nn.BatchNorm1d(2)
        self.is_broken = False

    def forward(self, x: Tensor, *, shift: Tensor) -> Tensor:
        if self.is_broken:
            raise ValueError("not twice")
        return self.normalized(nn.functional.dropout(self.layer(x) + shift))


def test_a_pass_and_a_moment_are_made_of_what_the_step_was_given(tmp_path: Path) -> None:
    model, twin = Two(), Two()
    twin.load_state_dict(model.state_dict())
    snapshots = Snapshots(passes=2, netview=2, histograms=1)
    x, shift = torch.randn(4, 3), torch.randn(2)
    drawn = []
    with tl.Run(tmp_path / "a") as run:
        snapshots.begin(model, run)
        for net in (model, twin):
            torch.manual_seed(1)
            for step in range(3):
                if net is model:
                    snapshots.before_step(step, is_first_of_epoch=step == 0)
                net(x, shift=shift).sum().backward()
                if net is model:
                    snapshots.on_gradients(step)
                    snapshots.after_step(step, epoch=0)
            drawn.append(torch.rand(1).item())
        snapshots.end()

    saved = tl.open_run(tmp_path / "a")
    assert [record.step for record in saved.passes("pass")] == [0, 2]
    assert len(tl.NetView(tmp_path / "a").run.tensors("layer.Act")) == 2
    assert [record.step for record in saved.histograms("layer.weight.Grad")] == [0, 1, 2]
    assert drawn[0] == drawn[1]  # looking draws no numbers, and moves no running mean
    for own, other in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
        assert torch.equal(own, other)
    assert not model._forward_pre_hooks


def test_what_cannot_be_run_again_is_told_once_and_nothing_is_raised(tmp_path: Path) -> None:
    model = Two()
    snapshots = Snapshots(passes=1)
    with tl.Run(tmp_path / "a") as run, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", TrainingWarning)
        snapshots.begin(model, run)
        for step in range(3):
            snapshots.before_step(step, is_first_of_epoch=False)
            model.is_broken = False
            model(torch.randn(4, 3), shift=torch.zeros(2))
            model.is_broken = True
            snapshots.after_step(step)
        snapshots.before_step(3, is_first_of_epoch=False)
        snapshots.after_step(3)  # in which nothing ran
    texts = [str(warning.message) for warning in told]
    assert len(texts) == 2
    assert "ValueError: not twice" in texts[0]
    assert "neither the model nor a layer" in texts[1]


def test_a_call_that_is_led_round_to_the_step_is_no_pass() -> None:
    """As Lightning does it with a model inside of DistributedDataParallel."""
    model = nn.Linear(3, 2)
    x = torch.zeros(1, 3)

    def wrapped_forward(batch: Any, _: int) -> Tensor:
        model.forward = original  # type: ignore[method-assign]
        return batch[0]  # type: ignore[no-any-return]

    calls = Calls(model)
    original, model.forward = model.forward, wrapped_forward  # type: ignore[method-assign,assignment]
    model((x, None), 0)
    assert calls.of_the_model() is None
    model(x)
    called = calls.of_the_model()
    assert called is not None
    assert called.args == (x,)
    calls.remove()
    assert not model._forward_pre_hooks


@pytest.mark.parametrize("often", ["weekly", 0, -1, 1.5, True])
def test_how_often_is_an_epoch_or_a_number_of_steps(often: Any) -> None:
    with pytest.raises(tl.InputError, match="'epoch', a number of steps"):
        Snapshots(passes=often)
