"""How to write the rule that a call asks for, in three lines."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from torch import Tensor


def recipe(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A rule for this very call, in which only the gradient is left open."""
    path = path_of(func, name)
    names = _names_of_inputs(path, max(1, len(args)))
    options = ", **options" if kwargs else ""
    function = f"lambda g, c, {', '.join(names)}{options}: g * ..."
    # Inputs have their gradients by place: each up to the last tensor has one.
    last = max((place for place, one in enumerate(args) if isinstance(one, Tensor)), default=0)
    ways = ", ".join(rf"{one}=({function}, r'\bar c \cdot ...')" for one in names[: last + 1])
    return (
        "    from torcheer.autograd import rule\n"
        f"    rule({name!r}, forward={path},  # the op itself, on ordinary tensors\n"
        f"         {ways})  # its gradient, a formula"
    )


def path_of(func: Any, name: str) -> str:
    """Where torch has it. `torch.linalg.inv` calls itself linalg_inv, and some names are there twice."""
    room, _, short = name.partition("_")
    places = [("torch", name), ("torch.nn.functional", name), (f"torch.{room}", short)]
    there = [(home, here) for home, here in places if hasattr(sys.modules.get(home), here)]
    itself = [(home, here) for home, here in there if getattr(sys.modules[home], here) is func]
    return ".".join([*itself, *there, ("torch.Tensor", name)][0])


def _names_of_inputs(path: str, count: int) -> list[str]:
    """As the function has them, where it says; most of torch's do not."""
    home, _, here = path.rpartition(".")
    try:
        found = list(inspect.signature(getattr(sys.modules.get(home), here)).parameters)
    except (AttributeError, TypeError, ValueError):
        found = []
    return [*found, *["a", "b", *(f"x{place}" for place in range(2, count))][len(found) :]][:count]
