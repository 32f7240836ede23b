"""Alarms of real trainings: each kind is provoked in one, and silent in another that is much like it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

import torcheer as tl
from torcheer.inspector.protocol import Raised


@dataclass(slots=True, kw_only=True)
class Training:
    """Points of two spirals are told apart, unless somebody interferes."""

    model: nn.Module
    optimizer: Optimizer
    num_steps: int = 60
    batch: Callable[[int], tuple[Tensor, Tensor]] | None = None
    before_step: Callable[[int], object] = lambda step: None
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy

    def watched(self, run: Path) -> list[Raised]:
        """What was raised; the run has the same."""
        batches = spirals()
        with tl.watch(
            self.model, self.optimizer, run, every=1, budget=None, when_full="block", tensors=False
        ) as watcher:
            for step in range(self.num_steps):
                x, y = next(batches) if self.batch is None else self.batch(step)
                self.before_step(step)
                self.optimizer.zero_grad()
                loss = self.loss(self.model(x), y)
                loss.backward()
                watcher.log(loss=loss.detach())
                self.optimizer.step()
            assert watcher.flush(300)  # the child is nice, and the machine may be busy
        raised = list(watcher.alarms)
        kept = sorted((alarm.alarm, alarm.layer, alarm.step) for alarm in tl.open_run(run).alarms)
        assert kept == sorted((alarm.alarm, alarm.layer, alarm.step) for alarm in raised)
        return raised


def spirals(batch_size: int = 32) -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    while True:
        y = torch.randint(0, 2, (batch_size,), generator=generator)
        radius = torch.rand(batch_size, generator=generator)
        angle = 4 * radius + 3.14159 * y
        yield torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), y


def mlp(activation: type[nn.Module] = nn.ReLU, depth: int = 3, width: int = 24) -> nn.Sequential:
    torch.manual_seed(0)
    inner = [layer for _ in range(depth - 1) for layer in (activation(), nn.Linear(width, width))]
    return nn.Sequential(nn.Linear(2, width), *inner, activation(), nn.Linear(width, 2))


def kinds(raised: list[Raised]) -> set[str]:
    return {alarm.alarm for alarm in raised}


# --- provoked ---------------------------------------------------------------------------------------


class Dividing(nn.Module):
    """Divides by 0 in its tenth pass."""

    num_passes = 0

    def forward(self, x: Tensor) -> Tensor:
        self.num_passes += 1
        return x / x.mul(0) * 0 if self.num_passes == 10 else x


def test_nan_is_named_where_it_began(tmp_path: Path) -> None:
    model = mlp()
    model.insert(3, Dividing())
    raised = Training(model=model, optimizer=SGD(model.parameters(), 0.1), num_steps=15).watched(tmp_path)
    of_tensors = [alarm for alarm in raised if alarm.layer]
    assert [(alarm.alarm, alarm.layer, alarm.variable, alarm.step) for alarm in of_tensors] == [
        ("nan", "3", "Act", 9)
    ]
    assert kinds(raised) == {"nan"}


def test_a_batch_that_is_far_too_large_explodes_and_spikes(tmp_path: Path) -> None:
    model = mlp()
    batches = spirals()

    def batch(step: int) -> tuple[Tensor, Tensor]:
        x, y = next(batches)
        return (1e5 * x if step == 50 else x), y

    training = Training(model=model, optimizer=Adam(model.parameters(), 0.001), batch=batch)
    raised = training.watched(tmp_path)
    assert {(alarm.alarm, alarm.step) for alarm in raised} == {("exploding_gradient", 50), ("loss_spike", 50)}


def test_a_learning_rate_that_is_too_high_explodes(tmp_path: Path) -> None:
    model = mlp(nn.Identity)
    optimizer = SGD(model.parameters(), 0.01)

    def before_step(step: int) -> None:
        if step == 40:
            optimizer.param_groups[0]["lr"] = 30.0

    def loss(output: Tensor, y: Tensor) -> Tensor:
        return F.mse_loss(output[:, 0], y.float())

    raised = Training(model=model, optimizer=optimizer, before_step=before_step, loss=loss).watched(tmp_path)
    assert "exploding_gradient" in kinds(raised)
    assert min(alarm.step for alarm in raised) > 40


def test_many_sigmoids_make_the_gradient_vanish(tmp_path: Path) -> None:
    model = mlp(nn.Sigmoid, depth=12)
    raised = Training(model=model, optimizer=SGD(model.parameters(), 0.1), num_steps=30).watched(tmp_path)
    assert [(alarm.alarm, alarm.layer) for alarm in raised] == [("vanishing_gradient", "0")]


def test_a_bias_far_below_zero_kills_units(tmp_path: Path) -> None:
    model = mlp()
    nn.init.constant_(model[2].bias, -100.0)  # type: ignore[arg-type]
    raised = Training(model=model, optimizer=SGD(model.parameters(), 0.1), num_steps=30).watched(tmp_path)
    dead = [(alarm.layer, alarm.variable) for alarm in raised if alarm.alarm == "dead_units"]
    assert dead == [("3", "Act")]
    assert "stuck_weight" in kinds(raised)  # nothing reaches the layers before it


def test_large_weights_saturate_the_activation_after_them(tmp_path: Path) -> None:
    model = mlp(nn.Tanh)
    nn.init.normal_(model[2].weight, std=100.0)  # type: ignore[arg-type]
    raised = Training(model=model, optimizer=SGD(model.parameters(), 0.01), num_steps=30).watched(tmp_path)
    assert [(alarm.alarm, alarm.layer) for alarm in raised] == [("saturated", "3")]


class Detached(nn.Module):
    """Cuts its first layer off by mistake."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(2, 24), nn.Linear(24, 2)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.last(self.first(x).relu().detach())
        return output


def test_a_weight_that_is_left_out_of_the_optimizer_is_stuck(tmp_path: Path) -> None:
    model = mlp()
    left_out = set(model[2].parameters())
    optimizer = Adam([one for one in model.parameters() if one not in left_out], 0.01)
    raised = Training(model=model, optimizer=optimizer, num_steps=40).watched(tmp_path)
    assert [(alarm.alarm, alarm.layer) for alarm in raised] == [("stuck_weight", "2")] * 2


def test_a_weight_that_is_cut_off_is_stuck(tmp_path: Path) -> None:
    model = Detached()
    raised = Training(model=model, optimizer=SGD(model.parameters(), 0.1), num_steps=40).watched(tmp_path)
    assert {(alarm.alarm, alarm.layer) for alarm in raised} == {("stuck_weight", "first")}
    assert "it gets no gradient" in raised[0].message


# --- silent -----------------------------------------------------------------------------------------


class Words(nn.Module):
    """An embedding of many words of which a batch has few, and a recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(3000, 8)
        self.memory = nn.LSTM(8, 16, batch_first=True)
        self.last = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        found = self.words(((x + 1) * 1499).long().clamp(0, 2999))
        output: Tensor = self.last(self.memory(found)[0][:, -1])
        return output


def transformer() -> Training:
    """With a learning rate that begins and ends at 0."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = nn.Sequential(nn.Linear(2, 16), nn.Unflatten(1, (1, 16)), encoder, nn.Flatten(), nn.Linear(16, 2))
    optimizer = AdamW(model.parameters(), 0.01)
    schedule = LambdaLR(optimizer, lambda step: min(step / 30, max(0.0, (120 - step) / 90)))
    return Training(
        model=model, optimizer=optimizer, num_steps=130, before_step=lambda step: step and schedule.step()
    )


def normalised() -> Training:
    """Biases before a normalisation have no gradient to speak of; the first layer is frozen."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(2, 24), nn.BatchNorm1d(24), nn.ReLU6(), nn.Linear(24, 24), nn.BatchNorm1d(24), nn.ReLU(),
        nn.Dropout(0.2), nn.Linear(24, 2),
    )  # fmt: skip
    model[0].requires_grad_(False)
    optimizer = SGD([one for one in model.parameters() if one.requires_grad], 0.05, momentum=0.9)
    return Training(model=model, optimizer=optimizer, num_steps=120)


def deep() -> Training:
    """Learns nothing for a while, and then all at once."""
    model = mlp(depth=8)
    return Training(model=model, optimizer=Adam(model.parameters(), 0.003), num_steps=150)


def noisy() -> Training:
    """One example at a time."""
    model, batches = mlp(nn.Tanh), spirals(1)
    training = Training(model=model, optimizer=SGD(model.parameters(), 0.1), num_steps=200)
    training.batch = lambda _: next(batches)
    return training


def recurrent() -> Training:
    torch.manual_seed(0)
    model, batches = Words(), spirals(4)
    training = Training(model=model, optimizer=SGD(model.parameters(), 0.1), num_steps=120)
    training.batch = lambda _: next(batches)
    return training


def certain() -> Training:
    """Ends in a Sigmoid that is sure of itself, with nothing left to learn."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1), nn.Sigmoid())

    def loss(output: Tensor, y: Tensor) -> Tensor:
        return F.binary_cross_entropy(output[:, 0], y.float())

    x = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    return Training(
        model=model,
        optimizer=Adam(model.parameters(), 0.05),
        num_steps=250,
        batch=lambda _: (x, torch.tensor([0, 0, 1, 1])),
        loss=loss,
    )


@pytest.mark.parametrize(
    "make",
    [
        transformer,
        recurrent,
        certain,
        *(pytest.param(make, marks=pytest.mark.many) for make in (normalised, deep, noisy)),
    ],
)
def test_a_healthy_training_raises_nothing(make: Callable[[], Training], tmp_path: Path) -> None:
    assert make().watched(tmp_path) == []
