"""What a small model is: how to make it, what to feed it, and its graph as a person would draw it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from torch import nn

Maker = TypeVar("Maker", bound=Callable[[], nn.Module])


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallModel:
    """One difficulty."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], Any]
    kwargs: Callable[[], Mapping[str, Any]]
    drawn: str
    loops: int  # how often the most repeated layer that feeds back into itself runs
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
    drawn: str,
    *,
    kwargs: Callable[[], Mapping[str, Any]] = dict,
    loops: int = 1,
    exempt: Mapping[str, str] | None = None,
    around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    eval: bool = False,
) -> Callable[[Maker], Maker]:
    """Enter a model class, or a function that makes one, in the registry."""

    def enter(make: Maker) -> Maker:
        MODELS.append(
            SmallModel(
                name=make.__name__,
                make=make,
                inputs=inputs,
                kwargs=kwargs,
                drawn=drawn,
                loops=loops,
                exempt=exempt or {},
                around=around,
                eval=eval,
            )
        )
        return make

    return enter
