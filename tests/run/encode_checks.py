"""A run without a disk, and TensorBoard's own writer and reader to compare with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from torcheer.run.log_methods import LogMethods
from torcheer.run.records import Encoded, Observation, decode_head, encode_head


class FakeRun(LogMethods):
    """Keeps what was put, as Run would hand it to its writer."""

    def __init__(self) -> None:
        self.observations: list[Observation] = []
        self.scalars: list[tuple[int, float, dict[str, float]]] = []
        self.told: list[str] = []
        self.descriptions: dict[tuple[str, str], str] = {}

    def _put(self, observation: Observation) -> None:
        self.observations.append(observation)

    def _put_scalars(self, step: int, time: float, values: Any) -> None:
        self.scalars.append((step, time, dict(values)))

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        self.told.append(message)

    def _describe(self, kind: str, name: str, description: str) -> None:
        self.descriptions[kind, name] = description

    def only(self) -> Observation:
        assert self.told == []
        (observation,) = self.observations
        return observation


def logged(log: Callable[[FakeRun], None]) -> Encoded:
    """What comes of one call, encoded; its head has been written and read again."""
    run = FakeRun()
    log(run)
    return encoded(run.only())


def encoded(observation: Observation) -> Encoded:
    made = observation.encode()
    assert decode_head(encode_head(made.head)) == made.head
    assert made.head.__struct_config__.tag == observation.kind
    assert type(made.data) is bytes
    return made


def refused(log: Callable[[FakeRun], None]) -> str:
    """Why one call logs nothing."""
    run = FakeRun()
    log(run)
    assert run.observations == []
    (message,) = run.told
    return message


def tensor_again(made: Encoded) -> torch.Tensor:
    """A tensor out of a record, in a few lines of its own."""
    dtype = getattr(torch, made.head.dtype)
    if not made.data:
        return torch.empty(made.head.shape, dtype=dtype)
    return torch.frombuffer(bytearray(made.data), dtype=dtype).reshape(made.head.shape)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal in every bit, so NaN is NaN and minus zero is no zero."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    flat = [t.detach().contiguous().reshape(-1).view(torch.uint8) for t in (a, b)] if a.numel() else [a, b]
    return torch.equal(*flat)


def written_by_tensorboard(folder: Path, write: Callable[[Any], None]) -> Any:
    """Write with torch.utils.tensorboard, read with TensorBoard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        write(writer)
    sizes = dict.fromkeys(("scalars", "histograms", "images", "audio", "tensors"), 0)
    return EventAccumulator(str(folder), size_guidance=sizes).Reload()
