"""A loop of one's own, recorded."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.training.fitted import Terminal
from torcheer.training import TrainingWarning, training_run
from torcheer.training.recorded_training import Recording, RecordingCallback


class Loop:
    """A small training, written as people write it."""

    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.5)
        self.x = torch.randn(8, 4)

    def step(self) -> torch.Tensor:
        loss = (self.model(self.x) - self.x.sum(1, keepdim=True)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def test_each_step_is_in_the_run_with_its_number_and_learning_rate(tmp_path: Path) -> None:
    loop = Loop()
    schedule = torch.optim.lr_scheduler.StepLR(loop.optimizer, 2, gamma=0.1)
    losses = []
    with training_run(
        tmp_path / "a", optimizer=loop.optimizer, total_steps=4, hparams={"width": 5}, comment="by hand"
    ) as training:
        for number in range(4):
            loss = loop.step()
            losses.append(loss.item())
            training.log(note=float(number))  # of the step that is under way
            assert training.step(loss=loss) == number
            schedule.step()
        assert training.num_steps == 4

    run = tl.open_run(tmp_path / "a")
    assert run.scalars("loss").steps.tolist() == [0, 1, 2, 3]
    assert run.scalars("loss").values.tolist() == losses
    assert run.scalars("lr").values.tolist() == pytest.approx([0.5, 0.5, 0.05, 0.05])
    assert run.scalars("note").steps.tolist() == [0, 1, 2, 3]
    assert run.hparams()["width"] == 5
    assert (run.state, run.status().total_steps, run.status().comment) == ("finished", 4, "by hand")


def test_an_epoch_gives_and_keeps_the_means_of_its_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with training_run(tmp_path / "a", progress=True) as training:
        for values in ([1.0, 2.0, 6.0], [5.0]):
            for value in values:
                training.step({"train/loss": torch.tensor(value)}, note="text has no mean")
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # torch's, of a number that is taken out of a graph
                means = training.epoch(test_loss=torch.tensor(value, requires_grad=True))
            assert means == {"train/loss": sum(values) / len(values)}
        assert training.epoch() == {}  # an epoch without steps

    run = tl.open_run(tmp_path / "a")
    means = run.scalars("epoch/loss")
    assert (means.steps.tolist(), means.values.tolist()) == ([2, 3], [3.0, 5.0])
    assert run.scalars("test_loss").steps.tolist() == [2, 3]
    assert run.scalars("epoch").values.tolist() == [1, 2, 3]
    shown = capsys.readouterr().err.splitlines()
    assert shown == ["epoch 1  train/loss 3  test_loss 6", "epoch 2  train/loss 5  test_loss 5", "epoch 3"]


def broken_loop(path: Path, error: BaseException) -> None:
    with training_run(path) as training:
        training.step(loss=1.0)
        raise error


@pytest.mark.parametrize("error", [ValueError("too bad"), KeyboardInterrupt()])
def test_a_run_dies_of_what_ends_the_loop(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        broken_loop(tmp_path / "a", error)

    status = tl.open_run(tmp_path / "a").status()
    assert (status.state, status.last_step) == ("died", 0)
    assert status.reason.startswith(type(error).__name__)


def test_a_loop_that_resumes_takes_back_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    with training_run(tmp_path / "a") as training:
        for value in range(6):
            training.step(loss=float(value))
    with training_run(tmp_path / "a", first_step=4) as training:
        training.step(loss=40.0)
    assert tl.open_run(tmp_path / "a").scalars("loss").values.tolist() == [0, 1, 2, 3, 40]

    with training_run(tmp_path / "a") as training:  # goes on where it ended
        assert training.step(loss=50.0) == 5


def test_layers_are_watched_at_the_steps_of_the_loop_until_it_dies(tmp_path: Path) -> None:
    loop = Loop()
    norms = []

    def train() -> None:
        with training_run(
            tmp_path / "a",
            model=nn.DataParallel(loop.model),
            optimizer=loop.optimizer,
            watch={"every": 1, "budget": None, "when_full": "block", "layers": "0"},
            first_step=3,
        ) as training:
            for _ in range(3):
                training.step(loss=loop.step())
                norms.append(loop.model[0].weight.detach().norm().item())  # type: ignore[union-attr,operator]
            raise RuntimeError("gone")

    with pytest.raises(RuntimeError):
        train()

    run = tl.open_run(tmp_path / "a")
    assert run.watched.steps.tolist() == run.scalars("loss").steps.tolist() == [3, 4, 5]
    # Under the names of the model itself, not of what is around it.
    assert numpy.allclose(run.watched["0.weight"].norm.values, norms, rtol=1e-5)
    parts = run.reader().parts().values()
    assert [part.status().reason for part in parts] == ["RuntimeError: gone"] * 2
    assert all(not module._forward_hooks for module in loop.model.modules())


def test_a_value_without_a_name_is_told_and_the_loop_goes_on(tmp_path: Path) -> None:
    with training_run(tmp_path / "a") as training:
        with pytest.warns(tl.RunWarning, match="values by name"):
            assert training.step(torch.tensor(1.0), loss=2.0) == 0  # type: ignore[arg-type]
        training.step(loss=3.0)
    assert tl.open_run(tmp_path / "a").scalars("loss").values.tolist() == [2.0, 3.0]


def test_a_terminal_shows_a_bar_with_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    with training_run(tmp_path / "a", total_steps=4, progress=True) as training:
        for _ in range(3):
            training.step(loss=torch.tensor(0.25), note="text")
        training.epoch()
    shown = terminal.getvalue()
    for words in ("3/4", "steps/s", "left", "loss 0.25", "epoch 1"):
        assert words in shown
    assert "note" not in shown


def test_a_run_that_somebody_opened_stays_open(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        run.log(0, loss=1.0)
        run.flush()
        with training_run(run) as training:
            training.step(loss=2.0)
        assert run.state == "running"
    assert tl.open_run(tmp_path / "a").scalars("loss").steps.tolist() == [0, 1]


def test_what_cannot_be_meant_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tl.InputError, match="give model="):
        training_run(tmp_path / "a", watch="20/s")
    with pytest.raises(tl.InputError, match="known here already"):
        training_run(tmp_path / "a", model=nn.Linear(1, 1), watch={"run": "b"})
    with pytest.raises(tl.InputError, match="first_step"):
        training_run(tmp_path / "a", first_step=-1)
    with pytest.raises(tl.InputError, match="every"):
        training_run(tmp_path / "a", model=nn.Linear(1, 1), watch="often")
    for optimizer in ("sgd", [nn.Linear(1, 1)], 3):
        with pytest.raises(tl.InputError, match=r"torch\.optim\.Optimizer"):
            training_run(tmp_path / "a", optimizer=optimizer)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(tl.InputError, match="give the run a path"):
        training_run()


def test_other_ranks_record_under_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    with training_run(tmp_path / "a") as training:
        training.step(loss=1.0)

    run = tl.open_run(tmp_path / "a")
    assert run.names("scalar") == ["rank-3/loss"]
    assert (tmp_path / "a" / "rank-3.sqlite").exists()


# --- snapshots ----------------------------------------------------------------------------------------------


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


def begin(callback: RecordingCallback, model: nn.Module, run: tl.Run) -> None:
    callback._begin(Recording(run, is_own=False), model, None, first_step=0, rank=0)


def test_a_pass_and_a_moment_are_made_of_what_the_step_was_given(tmp_path: Path) -> None:
    model, twin = Two(), Two()
    twin.load_state_dict(model.state_dict())
    snapshots = RecordingCallback(False, passes=2, netview=2, histograms=1)
    x, shift = torch.randn(4, 3), torch.randn(2)
    drawn = []
    with tl.Run(tmp_path / "a") as run:
        begin(snapshots, model, run)
        for net in (model, twin):
            torch.manual_seed(1)
            for step in range(3):
                if net is model:
                    snapshots._before_step(step, is_first_of_epoch=step == 0)
                net(x, shift=shift).sum().backward()
                if net is model:
                    snapshots._on_gradients(step)
                    snapshots._after_step(step, epoch=0)
            drawn.append(torch.rand(1).item())
        snapshots._end(None)

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
    snapshots = RecordingCallback(False, passes=1)
    with tl.Run(tmp_path / "a") as run, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", TrainingWarning)
        begin(snapshots, model, run)
        for step in range(3):
            snapshots._before_step(step, is_first_of_epoch=False)
            model.is_broken = False
            model(torch.randn(4, 3), shift=torch.zeros(2))
            model.is_broken = True
            snapshots._after_step(step)
        snapshots._before_step(3, is_first_of_epoch=False)
        snapshots._after_step(3)  # in which nothing ran
    texts = [str(warning.message) for warning in told]
    assert len(texts) == 2
    assert "ValueError: not twice" in texts[0]
    assert "neither the model nor a layer" in texts[1]


def test_a_call_that_is_led_round_to_the_step_is_no_pass(tmp_path: Path) -> None:
    """As Lightning does it with a model inside of DistributedDataParallel."""
    model = nn.Linear(3, 2)
    x = torch.zeros(1, 3)

    def wrapped_forward(batch: Any, _: int) -> Tensor:
        model.forward = original  # type: ignore[method-assign]
        return model(batch[0])

    snapshots = RecordingCallback(False, passes=1)
    with tl.Run(tmp_path / "a") as run:
        begin(snapshots, model, run)
        snapshots._before_step(0, is_first_of_epoch=True)
        original, model.forward = model.forward, wrapped_forward  # type: ignore[method-assign,assignment]
        model((x, None), 0)
        snapshots._after_step(0)
    assert len(tl.open_run(tmp_path / "a").passes("pass")) == 1
    assert not model._forward_pre_hooks


@pytest.mark.parametrize("often", ["weekly", 0, -1, 1.5, True])
def test_how_often_is_an_epoch_or_a_number_of_steps(often: Any) -> None:
    with pytest.raises(tl.InputError, match="'epoch', a number of steps"):
        RecordingCallback(False, passes=often)
