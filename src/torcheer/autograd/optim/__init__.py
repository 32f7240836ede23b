"""Optimizers, with torch's names: `import torcheer.autograd.optim as optim`."""

from __future__ import annotations

from typing import Never

from torcheer.autograd.optim import lr_scheduler
from torcheer.autograd.optim.adam import Adam, AdamW
from torcheer.autograd.optim.optimizer import Optimizer
from torcheer.autograd.optim.rmsprop import Adagrad, RMSprop
from torcheer.autograd.optim.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]


def __getattr__(name: str) -> Never:
    raise AttributeError(
        f"torcheer.autograd.optim has no {name}, only {', '.join(__all__)}. One of your own is a class on "
        "optim.Optimizer with an update(self, param, grad, state, group) that says what one step does."
    )
