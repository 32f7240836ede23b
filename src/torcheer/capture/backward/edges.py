"""Where in autograd's graph the gradient of a tensor arrives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torcheer.capture.memory import unwrapped

Node = Any  # torch.autograd.graph.Node
Edge = tuple[Node, int]  # a node, and which of its outputs the tensor was


def edge_of_tensor(tensor: Tensor) -> Edge | None:
    """None where no gradient can arrive."""
    tensor = unwrapped(tensor)
    if not tensor.requires_grad:
        return None
    try:
        node = tensor.grad_fn
        if node is not None:
            return node, tensor.output_nr
        with torch.enable_grad():  # a leaf: its node is asked for through a view
            node, output_nr = tensor.view_as(tensor).grad_fn.next_functions[0]  # type: ignore[union-attr]
            return None if node is None else (node, output_nr)
    except (RuntimeError, AttributeError):
        # A view whose base was written over, in a way that torch refuses; or made below autograd.
        return None


class EdgesTaken:
    """The edges of ops whose values nobody keeps, taken while the model runs."""

    def __init__(self) -> None:
        self.by_op: dict[int, Edge] = {}

    def take(self, op: int, tensor: Tensor) -> None:
        """When the op is made, and again at each use.

        What a custom Function returns gets its node only when it has returned; a view gets another one
        when its base is written.
        """
        edge = edge_of_tensor(tensor)
        if edge is not None:
            self.by_op[op] = edge
