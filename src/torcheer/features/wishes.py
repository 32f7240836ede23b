"""What was asked for, and its words: two calls with the same words ask for the same."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from torcheer.features.choosing import keys_of
from torcheer.features.rawbytes import raw_bytes
from torcheer.features.shapes import Shapes
from torcheer.features.stores.protocol import Array
from torcheer.features.transforms.protocol import Transform
from torcheer.features.transforms.reading import read_transforms


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
