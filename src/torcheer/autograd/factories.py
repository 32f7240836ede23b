"""Tensors made from nothing, as torch's functions make them, that can want a gradient in our sense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd.engine import tracer
from torcheer.autograd.modes import as_plain

# They take `requires_grad`, or make tensors that a script later asks to require a gradient.
NAMES: Final = tuple(
    """
    tensor as_tensor asarray from_numpy zeros ones full empty eye rand randn normal arange linspace logspace
    zeros_like ones_like full_like empty_like rand_like randn_like
    """.split()
)


def param(*sizes: Any, seed: int | None = None, dtype: torch.dtype | None = None) -> tracer:
    """Weights to learn with: `param(3, 4, seed=1)` at random, or as given, `param([[1.0, 2.0]])`."""
    if not all(isinstance(one, int) for one in sizes):
        return tracer(*sizes, dtype=dtype, requires_grad=True)
    return tracer(drawn(sizes, seed, dtype) / 2, requires_grad=True)


def drawn(sizes: Sequence[int], seed: int | None, dtype: torch.dtype | None = None) -> Tensor:
    """Random numbers of a few digits: they can be read, and halves of them are exact, too.

    A seed gives the same ones each time, and leaves torch's own random numbers as they are.
    """
    with as_plain():
        source = None if seed is None else torch.Generator().manual_seed(seed)
        numbers = torch.randn(tuple(sizes), generator=source, dtype=torch.float64)
        return numbers.mul(50).round().div(50).to(dtype or torch.get_default_dtype())


def factory(name: str) -> Callable[..., Any]:
    """A function of torch's that makes tensors: floats as tracers, so that `requires_grad_()` is ours."""
    make = getattr(torch, name)

    def made(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        if name == "randn" and kwargs.get("seed") is not None:  # as in the expressions of the page Learn
            return tracer(drawn(args, **kwargs), requires_grad=requires_grad)
        if name == "as_tensor" and args and isinstance(args[0], tracer):
            return args[0].to(**kwargs) if kwargs else args[0]  # it keeps its history
        with as_plain():
            value: Tensor = make(*args, **kwargs)
        if not requires_grad and not value.is_floating_point():
            return value
        return tracer(value, requires_grad=requires_grad)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"torch.{name}: floats come as tracers; with requires_grad=True they want a gradient."
    return made
