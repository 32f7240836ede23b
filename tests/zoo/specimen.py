"""What the zoo holds of a model: how to build it and feed it, and what is known of it beforehand."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Example(NamedTuple):
    """A model with random weights, and one call of it."""

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012  (never written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """One real architecture, built only when it is asked for."""

    name: str
    build: Callable[[], Example]
    quick: bool = False  # also in `make test`
    training: bool = False  # in train mode with gradients; else in eval mode without
    copies: bool = True  # False where deepcopy gives something else, and the model must be built anew
    loops: int = 1  # how often the most repeated layer runs of those that feed back into themselves
    # Parts of notes that the history may bear, each for a reason given where it is set.
    notes: tuple[str, ...] = ()
    # Why tensors come in that are neither inputs nor registered with the model.
    sources: str = ""
    # Parts of the addresses of outputs that no input leads to.
    constant_outputs: tuple[str, ...] = ()


class Shelf(list[Specimen]):
    """The models of one library, in the order they were put there."""

    def add(self, name: str, **facts: Any) -> Callable[[Callable[[], Example]], Callable[[], Example]]:
        def put(build: Callable[[], Example]) -> Callable[[], Example]:
            self.append(Specimen(name=name, build=build, **facts))
            return build

        return put


def image(size: int = 64, *, batch: int = 1, channels: int = 3) -> Tensor:
    return torch.randn(batch, channels, size, size)


def video(frames: int, size: int, *, batch: int = 1) -> Tensor:
    return torch.randn(batch, 3, frames, size, size)


def load(library: str) -> Any:
    """A library, imported when a model of it is built. All of them need tests.vision before them."""
    importlib.import_module("tests.vision")
    return importlib.import_module(library)


def from_config(model: str, sizes: dict[str, Any], **inputs: Any) -> Example:
    """A model of transformers with random weights: the name of its class, and its sizes."""
    made = getattr(load("transformers"), model)
    return Example(made(made.config_class(**sizes)), (), inputs)
