"""What is extracted of what: a model that is ready, data in batches, and what was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from torcheer.capture import (
    AUTOMATIC,
    check_model,
    chosen_device,
    place,
    same_modes_after,
    same_random_state_after,
    seed_everything,
    unwrapped,
)
from torcheer.errors import InputError, TorcheerError
from torcheer.features.givenids import given_ids
from torcheer.features.planning import Plan, plan_extraction
from torcheer.features.recording import batch_seed
from torcheer.features.samples import Caller, Samples
from torcheer.features.shapes import read_shapes
from torcheer.features.sharded import check_whole
from torcheer.features.sources import Source, StreamSource, note_on_batches, source_of
from torcheer.features.wishes import Wishes, read_wishes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """The same for every process that takes a share of it."""

    model: nn.Module
    source: Source
    wishes: Wishes
    caller: Caller
    device: torch.device

    def plan(self) -> tuple[Plan, Samples, list[Tensor]]:
        """Runs the model on the first batch, which is given, too, with its values."""
        samples = self.caller.samples_of(self.source.first()).moved_to(self.device)
        if not samples.num_samples:
            raise InputError("the first batch has no samples: there is nothing to extract.")
        try:
            plan, values = plan_extraction(self.model, samples.copied(), self.wishes)
            return plan, samples, values
        except TorcheerError:
            raise
        except Exception as error:
            note_on_batches(self.source, error)
            raise


@contextmanager
def set_up(
    model: nn.Module,
    data: Any,
    *,
    layers: Any,
    transform: Any = None,
    shapes: Any = None,
    ids: Any = None,
    batch_size: int | None = None,
    device: str | torch.device | None = None,
    seed: int = 0,
) -> Iterator[Task]:
    """With the model on its device and in evaluation mode; afterwards it and all chance are as they were."""
    check_model(model)
    check_whole(model)
    model = unwrapped(model)
    with same_random_state_after():
        seed_everything(batch_seed(_checked_seed(seed), 0))  # a sampler may draw from it
        source = source_of(data, batch_size)
        named, key = given_ids(ids, source)
        wishes = read_wishes(layers, transform, read_shapes(shapes), seed, named, ids)
        caller = Caller(model, key)
        where = _device(device, model)
        if isinstance(source, StreamSource):
            source.count_with(lambda batch: caller.samples_of(batch).num_samples)
        with same_modes_after(model):
            place(model, where)
            model.eval()
            yield Task(model=model, source=source, wishes=wishes, caller=caller, device=where)


def _device(device: str | torch.device | None, model: nn.Module) -> torch.device:
    if device == AUTOMATIC and torch.cuda.is_available():
        local = os.environ.get("LOCAL_RANK", "")
        number = int(local) if local.isascii() and local.isdigit() else torch.cuda.current_device()
        return torch.device("cuda", number % torch.cuda.device_count())
    return chosen_device(device, model)


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed={seed!r}: give a whole number from 0 on.")
    return seed
