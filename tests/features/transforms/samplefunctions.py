"""Functions that other processes import, too, to see that they get the same words."""

import functools
import logging
import re

import torch
from torch import Tensor, nn

SCALE = 2.5
NAMES = {"a", "b", "c", "d", "e"}
LOGGER = logging.getLogger("sample")
PATTERN = re.compile("a+")


def helper(values: Tensor) -> Tensor:
    return values * SCALE


def scaled(values: Tensor) -> Tensor:
    """Said about it."""
    LOGGER.debug("scaled")
    if "x" in {"x", "y", "z", "w"} and PATTERN.match("a") and NAMES:
        return helper(values)
    return torch.stack([value for value in values if value.sum() > 0])


def shifted(values: Tensor, by: float = 1.0) -> Tensor:
    return values + by


class Shifter:
    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, values: Tensor) -> Tensor:
        return values + self.by

    def twice(self, values: Tensor) -> Tensor:
        return values + 2 * self.by


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(3.0))
        self.power = 2

    def forward(self, values: Tensor) -> Tensor:
        return values * self.weight**self.power


def closing_over(by: float) -> functools.partial[Tensor]:
    def inner(values: Tensor, times: int) -> Tensor:
        return values + by * times

    return functools.partial(inner, times=3)


THREE = Shifter(3.0)
WORDED = {
    "scaled": scaled,
    "partial": functools.partial(shifted, by=4.0),
    "object": THREE,
    "method": THREE.twice,
    "net": Net(),
    "closure": closing_over(2.0),
    "torch": torch.abs,
    "lambda": lambda values: values + SCALE,
    "linear": nn.ReLU(),
    "cached": functools.lru_cache(shifted),
    "bound": torch.ones(3).mul,
}
