"""A quick little training for the control page and its process, and faults of every kind on request.

Twelve patterns of 8 bits, net 8-6-4, batches of 3: four trials an epoch, twelve items in the test set.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from torcheer.training import Loop, Parameters, Setup, parameter

NUM_ITEMS = 12
NUM_TRIALS = 4  # of an epoch


def _raise() -> None:
    raise ZeroDivisionError("a fault that was asked for")


def _exit() -> None:
    sys.exit(7)


def _leave() -> None:
    print("these are its last words", flush=True)
    os._exit(9)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _crash() -> None:
    ctypes.string_at(0)


def _write_garbage() -> None:
    for descriptor in range(3, 64):
        with suppress(OSError):
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, b"no report at all\n")


def _chatter() -> None:
    print("x" * 200_000, "\n" * 10)


def _hang() -> None:
    while True:
        pass


FAULTS: Mapping[str, Callable[[], None]] = {
    "none": lambda: None,
    "raise": _raise,
    "exit": _exit,
    "leave": _leave,
    "kill": _kill,
    "crash": _crash,
    "garbage": _write_garbage,
    "chatter": _chatter,
    "hang": _hang,
}


@dataclass(frozen=True)
class SmallParameters(Parameters):
    runs: int = 2
    epochs: int = 5
    hidden: int = parameter(6, low=1, high=50, section="Network")
    learning_rate: float = parameter(0.5, low=0.0, live="lr", section="Optimizer")
    momentum: float = parameter(0.5, low=0.0, high=1.0, live="momentum", section="Optimizer")
    trial_seconds: float = parameter(0.0, low=0.0, live=True, section="Data", about="how long a trial rests")
    fault: str = parameter(
        "none", choices=tuple(FAULTS), section="Data", about="what goes wrong in the fourth trial"
    )


class Net(nn.Module):
    """With a rest and a fault in its forward pass, while it is trained."""

    def __init__(self, loop: Loop[Any], parameters: SmallParameters) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, parameters.hidden)
        self.out = nn.Linear(parameters.hidden, 4)
        self._loop, self._fault = loop, parameters.fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training and len(x) > 1:
            if seconds := self._loop.parameters.trial_seconds:
                time.sleep(seconds)
            if self._loop.counters.step >= 3:
                FAULTS[self._fault]()
        outputs: torch.Tensor = self.out(torch.sigmoid(self.hidden(x)))
        return outputs


def items() -> TensorDataset:
    generator = torch.Generator().manual_seed(7)
    inputs = (torch.rand(NUM_ITEMS, 8, generator=generator) < 0.4).float()
    return TensorDataset(inputs, torch.arange(NUM_ITEMS) % 4)


def loop() -> Loop[SmallParameters]:
    torch.set_num_threads(1)  # a net this small is not worth more

    def setup(parameters: SmallParameters) -> Setup:
        model = Net(made, parameters)
        optimizer = torch.optim.SGD(
            model.parameters(), lr=parameters.learning_rate, momentum=parameters.momentum
        )
        data = items()
        return Setup(
            model=model,
            loss=nn.CrossEntropyLoss(),
            optimizer=optimizer,
            train=DataLoader(data, batch_size=3, shuffle=True),
            test=DataLoader(data, batch_size=5),
        )

    made = Loop(setup, SmallParameters(), name="small", seed=1)
    return made
