"""The passes that the browser tests look at, and small models that show one thing each."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

import torcheer as tl


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm(self.conv1(x)))
        return torch.relu(self.conv2(y) + x)


class Pictures(nn.Module):
    """Small, but with modules in modules, parameters, buffers and images of several channels."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.blocks(torch.relu(self.stem(x)))
        return self.head(self.pool(y).flatten(1))


@cache
def pictures_model() -> Pictures:
    torch.manual_seed(0)
    return Pictures()


@cache
def pictures() -> Any:
    """A pass with gradients. It is captured once: tests only look at it."""
    torch.manual_seed(0)
    history = tl.log_forward_pass(pictures_model(), torch.randn(2, 3, 24, 20), save_gradients=True)
    history.log_backward(history.output.square().sum())
    return history


class Recurrent(nn.Module):
    """One cell that runs again and again."""

    def __init__(self, num_steps: int = 4) -> None:
        super().__init__()
        self.cell = nn.Linear(6, 6)
        self.num_steps = num_steps

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.num_steps):
            x = torch.tanh(self.cell(x))
        return x


def recurrent() -> Any:
    torch.manual_seed(1)
    return tl.log_forward_pass(Recurrent(), torch.randn(3, 6))


class Broken(nn.Module):
    """What is no number, in a place that is known."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.log(x) * 2


BROKEN_INPUT = ((1.0, -1.0, 0.0), (4.0, 0.0, -2.0))


def broken() -> Any:
    return tl.log_forward_pass(Broken(), torch.tensor(BROKEN_INPUT))


class Raising(nn.Module):
    """Fails in its second layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 5)
        self.second = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(x)))


def raised() -> Any:
    try:
        tl.log_forward_pass(Raising(), torch.ones(2, 4))
    except RuntimeError as error:
        return error.history  # type: ignore[attr-defined]
    raise AssertionError("it should have raised")


class ManyShapes(nn.Module):
    """Values of many types and shapes; each is an output, so that its name says which it is."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {
            "scalar": x.sum(),
            "negative_scalar": -x.abs().sum(),
            "empty": x[:0],
            "line": x.flatten()[:11] * 1,
            "five": x.reshape(2, 1, 2, 3, 5) * 1,
            "truth": x > 0,
            "large": torch.tensor([2**53 + 1, -(2**62), 7]) * 1,
            "whole": (x[0] * 1000).to(torch.int32),
            "brain": x.to(torch.bfloat16),
            "half": x.to(torch.float16),
            "complex": torch.complex(x, -x),
            "double": x.double() / 3,
            "same": torch.full_like(x, 0.25),
            "tiny": x * 1e-20,
            "huge": x * 1e20,
            "negative": -x.abs() - 1,
        }


def many_shapes() -> Any:
    torch.manual_seed(2)
    return tl.log_forward_pass(ManyShapes(), torch.randn(4, 15))


class Branch(nn.Module):
    """Some modules in a module, several ops each."""

    def __init__(self, num_children: int, depth: int) -> None:
        super().__init__()
        make = (lambda: Branch(num_children, depth - 1)) if depth > 1 else Leaf
        self.parts = nn.ModuleList(make() for _ in range(num_children))

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x


class Leaf(nn.Module):
    """Five ops."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(torch.relu(x * 0.5) + torch.sigmoid(x))


def large() -> Any:
    """A pass of 5,002 ops, the last but one of which is the only `cos`."""

    class Large(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = Branch(10, 3)

        def forward(self, x: Tensor) -> Tensor:
            return torch.cos(self.body(x))

    return tl.log_forward_pass(Large(), torch.randn(2, 3))
