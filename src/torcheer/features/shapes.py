"""Samples whose values differ in shape, such as sentences: padded, ragged or pooled, as it was chosen.

    Padded(128)   every sample gets 128 places; what is left is filled with zeros, and lengths are kept
    Ragged()      every sample as it is, one after the other
    Pooled()      the mean over the tokens that count

Where the batch says which tokens count (an attention mask), the others are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch import Tensor

from torcheer.errors import InputError

TOKEN_DIMS: Final = ("token", "key")
SPACE_DIMS: Final = ("y", "x", "z", "time")
_CHOICES: Final = "shapes=tl.features.Padded(128), 'ragged' or 'pooled'"


@dataclass(frozen=True, slots=True)
class Padded:
    """Filled up to a length that is the same for all: of tokens, or of each dimension of space."""

    length: int | tuple[int, ...]
    value: float = 0.0

    def __post_init__(self) -> None:
        sizes = (self.length,) if isinstance(self.length, int) else self.length
        if not sizes or not all(
            isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in sizes
        ):
            raise InputError(
                f"Padded({self.length!r}): give how many places each sample gets, such as Padded(128)."
            )

    @property
    def words(self) -> str:
        sizes = (self.length,) if isinstance(self.length, int) else self.length
        return f"padded to {'×'.join(map(str, sizes))} with {self.value:g}"


@dataclass(frozen=True, slots=True)
class Ragged:
    """Every sample with the shape that it has."""

    @property
    def words(self) -> str:
        return "ragged"


@dataclass(frozen=True, slots=True)
class Pooled:
    """The mean, or the largest, over tokens or space."""

    kind: Literal["mean", "max"] = "mean"

    def __post_init__(self) -> None:
        if self.kind not in ("mean", "max"):
            raise InputError(f"Pooled({self.kind!r}): take 'mean' or 'max'.")

    @property
    def words(self) -> str:
        return f"pooled by {self.kind}"


Shapes = Padded | Ragged | Pooled


def read_shapes(given: Any) -> Shapes | None:
    """`"ragged"`, `"pooled"`, `"pooled:max"`, `"padded:128"`, or one of the classes."""
    if given is None or isinstance(given, Padded | Ragged | Pooled):
        return given
    if isinstance(given, str):
        kind, _, option = given.partition(":")
        if kind == "ragged" and not option:
            return Ragged()
        if kind == "pooled":
            return Pooled(option or "mean")  # type: ignore[arg-type]
        if kind == "padded" and option and all(part.isdigit() for part in option.split("x")):
            sizes = tuple(int(part) for part in option.split("x"))
            return Padded(sizes[0] if len(sizes) == 1 else sizes)
    if given in (Ragged, Pooled):
        return given()  # type: ignore[no-any-return]
    raise InputError(f"shapes={given!r}: choose 'padded:128' (so many places each), 'ragged' or 'pooled'.")


def varying_dims(dims: tuple[str, ...]) -> tuple[int, ...]:
    """Which dimensions of a sample may vary: those of tokens where there are any, else those of space."""
    tokens = tuple(place for place, name in enumerate(dims) if name in TOKEN_DIMS)
    return tokens or tuple(place for place, name in enumerate(dims) if name in SPACE_DIMS)


def kept_tokens(values: Tensor, mask: Tensor | None, dims: tuple[str, ...]) -> list[Tensor]:
    """Sample by sample, without the tokens that do not count. Layers with other tokens keep all of them."""
    places = [
        place
        for place in varying_dims(dims)
        if dims[place] in TOKEN_DIMS and mask is not None and values.shape[place + 1] == mask.shape[1]
    ]
    if mask is None or not places or bool(mask.all()):
        return list(values)
    found = []
    for sample, counts in zip(values, mask.to(values.device), strict=True):
        for place in places:
            if sample.shape[place] == len(counts):  # a layer may have more places than there are tokens
                sample = sample.index_select(place, torch.nonzero(counts)[:, 0])
        found.append(sample)
    return found


def padded(samples: Sequence[Tensor], choice: Padded, dims: tuple[str, ...], layer: str) -> Tensor:
    places = varying_dims(dims)
    sizes = (choice.length,) * len(places) if isinstance(choice.length, int) else choice.length
    if len(sizes) != len(places):
        raise InputError(f"{layer} varies in {len(places)} dimensions, and {choice} gives {len(sizes)}.")
    shape = list(samples[0].shape)
    for place, size in zip(places, sizes, strict=True):
        most = max(sample.shape[place] for sample in samples)
        if most > size:
            raise InputError(
                f"{layer} has a sample with {most:,} places in its dimension {dims[place]!r}, and "
                f"{choice.words}: give "
                f"Padded({most}) or more (other batches may have longer ones), or shorten the samples."
            )
        shape[place] = size
    whole = samples[0].new_full((len(samples), *shape), choice.value)
    for row, sample in zip(whole, samples, strict=True):
        row[tuple(slice(size) for size in sample.shape)] = sample
    return whole


def pooled(samples: Sequence[Tensor], choice: Pooled, dims: tuple[str, ...]) -> Tensor:
    places = varying_dims(dims)
    rows = []
    for sample in samples:
        if choice.kind == "max":
            rows.append(sample.amax(places))
        else:
            wide = sample if sample.dtype in (torch.float32, torch.float64) else sample.float()
            mean = wide.mean(places)
            rows.append(mean.to(sample.dtype) if sample.is_floating_point() else mean)
    return torch.stack(rows)


def pooled_dims(dims: tuple[str, ...]) -> tuple[str, ...]:
    gone = varying_dims(dims)
    return tuple(name for place, name in enumerate(dims) if place not in gone)


def says_what_to_choose(layer: str, before: tuple[int, ...], now: tuple[int, ...], batch: int) -> InputError:
    return InputError(
        f"{layer} has samples of the shape {now} in batch {batch}, and of {before} in the first: say how "
        "they are to "
        f"be kept, by {_CHOICES} ('padded:128' in the shell)."
    )
