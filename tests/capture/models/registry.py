"""What a small model is: how to make it, what to feed it, and its graph as a person would draw it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallModel:
    """One difficulty."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], Any]
    kwargs: Callable[[], Mapping[str, Any]]
    drawn: str
    loops: int = 1  # how often the most repeated layer that feeds back into itself runs
    exempt: Mapping[str, str] = field(default_factory=dict)  # layer -> a part of why it is not checked
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    eval: bool = False

    def edges(self) -> set[tuple[str, str]]:
        return {
            (parent, child)
            for groups in self._chains()
            for parents, children in pairwise(groups)
            for parent in parents
            for child in children
        }

    def nodes(self) -> set[str]:
        return {node for groups in self._chains() for group in groups for node in group}

    def _chains(self) -> list[list[list[str]]]:
        """`a, b -> c -> d` is two lines into c, and one from there to d."""
        lines = [line.strip() for line in self.drawn.strip().splitlines()]
        return [
            [[node.strip() for node in group.split(",")] for group in line.split("->")]
            for line in lines
            if line
        ]


MODELS: list[SmallModel] = []


def small(
    inputs: Callable[[], Any],
    drawn: str = "",
    *,
    kwargs: Callable[[], Mapping[str, Any]] = dict,
    parts: Callable[[], Mapping[str, Any]] = dict,
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[[], nn.Module]]:
    """Enter a model in the registry: a class, a function that makes one, or a forward with its `parts`.

    The graph is drawn here, or in the docstring below its first line.
    """

    def enter(entry: Callable[..., Any]) -> Callable[[], nn.Module]:
        is_forward = not isinstance(entry, type) and "self" in inspect.signature(entry).parameters
        make = _module_class(entry, parts) if is_forward else entry
        graph = drawn or (entry.__doc__ or "").partition("\n\n")[2]
        model = SmallModel(name=entry.__name__, make=make, inputs=inputs, kwargs=kwargs, drawn=graph, **more)
        MODELS.append(model)
        return make

    return enter


def module_with(parts: Callable[[], Mapping[str, Any]]) -> Callable[[Callable[..., Any]], type[nn.Module]]:
    """A decorator that makes a module class of a forward."""
    return lambda forward: _module_class(forward, parts)


def _module_class(forward: Callable[..., Any], parts: Callable[[], Mapping[str, Any]]) -> type[nn.Module]:
    def fill(self: nn.Module) -> None:
        nn.Module.__init__(self)
        for name, part in parts().items():
            setattr(self, name, part)

    members = {"__init__": fill, "forward": forward, "__doc__": forward.__doc__}
    return type(forward.__name__.title().replace("_", ""), (nn.Module,), members)
