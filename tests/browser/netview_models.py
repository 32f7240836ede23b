"""A small network that has every kind of shape and every kind of connection, and its recordings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import torcheer as tl

NUM_ITEMS: Final = 3
NUM_MOMENTS: Final = 24
BY_HAND: Final = (2, 2, 2, 5)  # tiles down and across, rows and columns of a tile


class EveryShape(nn.Module):
    """A colour picture, maps, a vector, one with a shape by hand, tokens with features, and heads."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(6, 8, (3, 2), padding=(0, 1), groups=2)
        self.vector = nn.Linear(8 * 6 * 7, 37)
        self.hand = nn.Linear(37, 40)
        self.embed = nn.Embedding(11, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 5)

    def forward(self, picture: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        maps = torch.tanh(self.conv2(torch.tanh(self.conv1(picture))))
        seen = self.hand(torch.tanh(self.vector(maps.flatten(1))))
        features = self.embed(words)
        mixed, _ = self.attention(features, features, features)
        return self.out(mixed), seen


def loss_of(outputs: tuple[Tensor, Tensor]) -> Tensor:
    return F.mse_loss(outputs[0], torch.ones_like(outputs[0])) + outputs[1].square().mean()


def every_shape() -> tuple[EveryShape, list[Tensor]]:
    torch.manual_seed(7)
    return EveryShape(), [torch.rand(NUM_ITEMS, 3, 16, 12), torch.randint(0, 11, (NUM_ITEMS, 7))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A folder with the run `net`, and the parameters at each moment of it."""

    folder: Path
    states: list[dict[str, Tensor]]

    def model_at(self, step: int) -> EveryShape:
        model, _ = every_shape()
        model.load_state_dict(self.states[step])
        return model


def record_every_shape(folder: Path) -> Recorded:
    """Trained for some moments, so that no record is like another."""
    model, inputs = every_shape()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    states = [_copied(model)]
    with tl.NetView(model, inputs, run=folder / "net", loss=loss_of, optimizer=optimizer) as view:
        view.reshape("hand", BY_HAND)
        for trial in range(1, NUM_MOMENTS):
            optimizer.zero_grad()
            loss_of(model(*inputs)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            view.update(epoch=trial // 10, trial=trial, name=f"batch {trial}")
            states.append(_copied(model))
    return Recorded(folder=folder, states=states)


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}
