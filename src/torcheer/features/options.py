"""What was asked for: a model that is ready, data in batches, layers, transforms; and its words."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from torch import nn

from torcheer.capture import check_model, same_random_state_after, seed_everything
from torcheer.errors import InputError
from torcheer.features.dimensions import Shapes, read_shapes
from torcheer.features.layer_choice import batch_seed, keys_of
from torcheer.features.samples import Caller
from torcheer.features.sharded_weights import check_whole
from torcheer.features.sources import Source, StreamSource, source_of
from torcheer.features.stores.store import Array, raw_bytes
from torcheer.features.transforms.chain import read_transforms
from torcheer.features.transforms.transform import Transform
from torcheer.models import AUTOMATIC, chosen_device, place, same_modes_after, unwrapped


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """The same for every process that takes a share of it."""

    model: nn.Module
    source: Source
    wishes: Wishes
    caller: Caller
    device: torch.device


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wishes:
    """What was asked for."""

    layers: Any
    transforms: tuple[Transform, ...]
    shapes: Shapes | None
    seed: int
    ids: Array | None = None  # known before
    ids_words: str = "of the data"
    own_transforms: dict[Any, tuple[Transform, ...]] = field(default_factory=dict)

    def words(self) -> dict[str, str]:
        names = [_name_of(key) for key in self.layers]
        shared = ", ".join(one.words for one in self.transforms)
        own = "; ".join(
            sorted(
                f"{_name_of(key)}: {', '.join(one.words for one in chain)}"
                for key, chain in self.own_transforms.items()
            )
        )
        return {
            "layers": ", ".join(sorted(names)),
            "transforms": "; ".join(part for part in (shared, own) if part) or "none",
            "shapes": self.shapes.words if self.shapes is not None else "as they are",
            "seed": str(self.seed),
            "ids": self.ids_words,
        }


def _name_of(key: Any) -> str:
    return key.__qualname__ if isinstance(key, type) else str(key)


def read_wishes(
    layers: Any, transform: Any, shapes: Shapes | None, seed: int, ids: Array | None, given_ids: Any = None
) -> Wishes:
    """`ids`: as they are known before; `given_ids`: as they were asked for."""
    own = {key: read_transforms(chain) for key, chain in layers.items()} if isinstance(layers, dict) else {}
    words = "of the data"
    if isinstance(given_ids, str):
        words = f"the entry {given_ids!r}"
    elif given_ids is not None and ids is not None:
        words = f"{len(ids):,} of {zlib.crc32(raw_bytes(ids)):08x}"
    return Wishes(
        layers=keys_of(layers),
        transforms=read_transforms(transform),
        shapes=shapes,
        seed=seed,
        ids=ids,
        ids_words=words,
        own_transforms=own,
    )


def given_ids(ids: Any, source: Source) -> tuple[Array | None, str | None]:
    """One for each sample, where that is known before; and the key under which batches have them."""
    if isinstance(ids, str):
        return None, ids
    if ids is None:
        return source.ids(), None
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
    return found.astype(numpy.str_) if found.dtype.kind == "S" else found, None
