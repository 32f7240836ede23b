"""Where a way back begins and where it should lead, as somebody asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import AutogradError, InputError

if TYPE_CHECKING:
    from torcheer.autograd.engine import Node


def seeds_of(outputs: Sequence[Any], gradients: Sequence[Tensor | None]) -> dict[Node, Tensor]:
    """What the walk back starts with: 1, where the output is one number."""
    seeds: dict[Node, Tensor] = {}
    for output, gradient in zip(outputs, gradients, strict=True):
        node = getattr(output, "_node", None)
        if node is None:
            raise AutogradError(
                "this tensor was made of nothing that wants a gradient: call requires_grad_() on an input or "
                "a parameter before, and compute it outside of no_grad()."
            )
        if gradient is None:
            if output.numel() != 1:
                raise AutogradError(
                    f"backward() starts at one number, and this is a tensor of shape {tuple(output.shape)}: "
                    "sum it (x.sum().backward()), or say what arrives at each element (x.backward(gradient))."
                )
            with as_plain():
                gradient = torch.ones_like(output.data)
        elif gradient.shape != output.shape:
            raise InputError(f"a gradient of shape {tuple(gradient.shape)} for one of {tuple(output.shape)}.")
        seeds[node] = gradient if node not in seeds else seeds[node] + gradient
    return seeds


def nodes_of(inputs: Sequence[Any]) -> list[Node]:
    nodes = [getattr(one, "_node", None) for one in inputs]
    if None in nodes:
        raise AutogradError(
            f"input {nodes.index(None)} wants no gradient: call requires_grad_() on it before."
        )
    return cast("list[Node]", nodes)
