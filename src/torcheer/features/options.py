"""What was asked for: a model that is ready, data in batches, layers, transforms; and its words."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import nn

from torcheer.capture import check_model, same_random_state_after, seed_everything
from torcheer.errors import InputError
from torcheer.features.dimensions import Shapes, read_shapes
from torcheer.features.layer_choice import batch_seed, keys_of
from torcheer.features.samples import Caller, check_whole
from torcheer.features.sources import Source, StreamSource, source_of
from torcheer.features.stores import Array, raw_bytes
from torcheer.features.transforms import Transform, read_transforms
from torcheer.models import AUTOMATIC, chosen_device, place, same_modes_after, unwrapped_model


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """The same for every process that takes a share of it."""

    model: nn.Module
    source: Source
    caller: Caller
    device: torch.device
    layers: list[Any]  # keys
    transforms: tuple[Transform, ...]
    own_transforms: dict[Any, tuple[Transform, ...]]  # by key
    shapes: Shapes | None
    seed: int
    ids: Array | None  # known before
    ids_words: str

    def words(self) -> dict[str, str]:
        """The options, by which other ones are noticed."""
        shared = ", ".join(one.words for one in self.transforms)
        own = "; ".join(
            sorted(
                f"{_name_of(key)}: {', '.join(one.words for one in chain)}"
                for key, chain in self.own_transforms.items()
            )
        )
        size = self.source.batch_size
        return {
            "layers": ", ".join(sorted(map(_name_of, self.layers))),
            "transforms": "; ".join(part for part in (shared, own) if part) or "none",
            "shapes": self.shapes.words if self.shapes is not None else "as they are",
            "seed": str(self.seed),
            "ids": self.ids_words,
            "batch size": "different" if size is None else str(size),
        }


def _name_of(key: Any) -> str:
    return key.__qualname__ if isinstance(key, type) else str(key)


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
    model = unwrapped_model(model)
    if type(seed) is not int or seed < 0:
        raise InputError(f"seed={seed!r}: give a whole number from 0 on.")
    with same_random_state_after():
        seed_everything(batch_seed(seed, 0))  # a sampler may draw from it
        source = source_of(data, batch_size)
        named = source.ids() if ids is None else None
        ids_words = "of the data" if ids is None else f"the entry {ids!r}"
        if ids is not None and not isinstance(ids, str):
            named = _given_ids(ids, source)
            ids_words = f"{len(named):,} of {zlib.crc32(raw_bytes(named)):08x}"
        task = Task(
            model=model,
            source=source,
            caller=Caller(model, ids if isinstance(ids, str) else None),
            device=_device(device, model),
            layers=keys_of(layers),
            transforms=read_transforms(transform),
            own_transforms={key: read_transforms(chain) for key, chain in layers.items()}
            if isinstance(layers, dict)
            else {},
            shapes=read_shapes(shapes),
            seed=seed,
            ids=named,
            ids_words=ids_words,
        )
        if isinstance(source, StreamSource):
            source.count = lambda batch: task.caller.samples_of(batch).num_samples
        with same_modes_after(model):
            place(model, task.device)
            model.eval()
            yield task


def _device(device: str | torch.device | None, model: nn.Module) -> torch.device:
    if device == AUTOMATIC and torch.cuda.is_available():
        local = os.environ.get("LOCAL_RANK", "")
        number = int(local) if local.isascii() and local.isdigit() else torch.cuda.current_device()
        return torch.device("cuda", number % torch.cuda.device_count())
    return chosen_device(device, model)


def _given_ids(ids: Any, source: Source) -> Array:
    """One for each sample."""
    found = numpy.asarray(ids)
    if found.ndim != 1 or found.dtype.kind not in "iuUS":
        raise InputError("ids must be whole numbers or texts, one for each sample, or the key of a batch.")
    if source.num_samples is None:
        raise InputError(
            "ids cannot be given for a stream: let its batches have them, and give ids='their key'."
        )
    if len(found) != source.num_samples:
        raise InputError(
            f"there are {len(found):,} ids for {source.num_samples:,} samples: give one for each."
        )
    names, counts = numpy.unique(found, return_counts=True)
    if (counts > 1).any():
        source.notes.append(f"some samples have the same id, such as {names[counts > 1][0]}.")
    return found.astype(numpy.str_) if found.dtype.kind == "S" else found
