"""Run the same expression on tracers and on torch's own tensors, and compare values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import grad, tracer

DOMAINS: dict[str, Callable[[Tensor], Tensor]] = {
    "any": lambda x: x,
    "positive": lambda x: x.abs() + 0.3,
    "unit": lambda x: torch.tanh(x) * 0.95,
    "above one": lambda x: x.abs() + 1.1,
    "share": lambda x: torch.sigmoid(x) * 0.9 + 0.05,
    "apart": lambda x: x + torch.sign(x) * 0.1,  # away from zero
}


def sampled(shapes: Sequence[Sequence[int]], domain: str = "any", seed: int = 0) -> list[Tensor]:
    source = torch.Generator().manual_seed(seed)
    return [
        DOMAINS[domain](torch.randn(tuple(shape), generator=source, dtype=torch.float64)) for shape in shapes
    ]


def floats_of(result: Any) -> list[Tensor]:
    return [one for one in _tensors(result) if one.is_floating_point()]


def _tensors(result: Any) -> Iterator[Tensor]:
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, list | tuple):
        for one in result:
            yield from _tensors(one)


def plain(value: Tensor) -> Tensor:
    return value.detach().as_subclass(Tensor) if isinstance(value, tracer) else value.detach()


def close(ours: Tensor, theirs: Tensor, tolerance: float, what: str) -> None:
    ours, theirs = plain(ours), plain(theirs)
    assert ours.shape == theirs.shape, f"{what}: {tuple(ours.shape)}, and torch has {tuple(theirs.shape)}"
    assert ours.dtype == theirs.dtype, f"{what}: {ours.dtype}, and torch has {theirs.dtype}"
    torch.testing.assert_close(
        ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda message: f"{what}: {message}"
    )


def agrees(
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    *,
    tolerance: float = 1e-10,
    second: bool = True,
    oracle: Callable[..., Any] | None = None,
) -> None:
    """Values, gradients, and gradients of gradients where torch has them, of tensors with these strides."""
    ours = [tracer(one.detach(), requires_grad=True) for one in inputs]
    theirs = [one.detach().requires_grad_() for one in inputs]
    our_result, their_result = function(*ours), (oracle or function)(*theirs)
    our_all, their_all = list(_tensors(our_result)), list(_tensors(their_result))
    assert len(our_all) == len(their_all)
    for one, other in zip(our_all, their_all, strict=True):
        close(one, other, tolerance, "value")
    our_floats = [one for one in floats_of(our_result) if one.requires_grad]
    their_floats = [one for one in floats_of(their_result) if one.requires_grad]
    assert len(our_floats) == len(their_floats), "not the same outputs want a gradient"
    weights = [torch.randn(one.shape, dtype=one.dtype) for one in their_floats]
    our_loss = sum((one * weight).sum() for one, weight in zip(our_floats, weights, strict=True))
    their_loss = sum((one * weight).sum() for one, weight in zip(their_floats, weights, strict=True))
    mine = grad(our_loss, ours, create_graph=True, allow_unused=True)
    his = torch.autograd.grad(their_loss, theirs, create_graph=True, allow_unused=True)
    for place, (one, other) in enumerate(zip(mine, his, strict=True)):
        expected = torch.zeros_like(inputs[place]) if other is None else other
        got = torch.zeros_like(inputs[place]) if one is None else one
        close(got, expected, tolerance, f"gradient of input {place}")
    if second:
        _second_agrees(mine, his, ours, theirs, tolerance)


def _second_agrees(mine: Any, his: Any, ours: Any, theirs: Any, tolerance: float) -> None:
    mixed = [torch.randn(one.shape, dtype=one.dtype) for one in theirs]
    pairs = [(one, mix) for one, mix in zip(his, mixed, strict=True) if one is not None and one.requires_grad]
    if not pairs:
        return
    expected = torch.autograd.grad(sum((one * mix).sum() for one, mix in pairs), theirs, allow_unused=True)
    our_pairs = [
        (one, mix) for one, mix in zip(mine, mixed, strict=True) if one is not None and one.requires_grad
    ]
    if not our_pairs:
        got: Any = [None] * len(ours)
    else:
        got = grad(sum((one * mix).sum() for one, mix in our_pairs), ours, allow_unused=True)
    for place, (one, other) in enumerate(zip(got, expected, strict=True)):
        zeros = torch.zeros_like(theirs[place])
        close(
            zeros if one is None else one,
            zeros if other is None else other,
            tolerance * 10,
            f"second derivative by input {place}",
        )
