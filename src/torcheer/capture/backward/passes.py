"""What a backward pass was: the autograd nodes in the order they ran, and the gradients they were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from torcheer.graph import format_table, readable_bytes, readable_seconds

if TYPE_CHECKING:
    from torcheer.capture.aten import AtenCall

Shapes = tuple[tuple[int, ...] | None, ...]  # None where no gradient flowed


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTensor:
    """A tensor that an autograd node keeps from the forward pass until its backward has run."""

    name: str  # as torch calls it: `input`, `weight`, `result`…
    shape: tuple[int, ...]
    dtype: torch.dtype
    num_bytes: int
    param: str  # the parameter's address, where it is one; else ""
    memory: int = field(repr=False, compare=False)  # equal for tensors on the same memory
    memory_bytes: int = field(repr=False)  # of all that it keeps alive, such as the tensor it is a view of


@dataclass(frozen=True, slots=True, kw_only=True)
class GradNode:
    """One node of the backward graph."""

    index: int
    name: str  # `ConvolutionBackward0`, `AccumulateGrad`…
    layer: str  # the op that it came from; "" for a node outside the pass, such as the loss
    param: str  # of an `AccumulateGrad`: the parameter that gets its gradient here; else ""
    next_nodes: tuple[int, ...]  # those that it hands its gradients to
    saved: tuple[SavedTensor, ...]
    recomputes: bool  # inside a checkpoint, which keeps its inputs and runs that part of the forward again

    @property
    def saved_bytes(self) -> int:
        return sum(tensor.num_bytes for tensor in self.saved)


class BackwardGraph(list[GradNode]):
    """The autograd nodes that a pass left, printed as a table."""

    def __str__(self) -> str:
        titles = ("node", "from", "hands on to", "saved for it", "")
        names = {node.index: f"{node.name} {node.param or node.layer}".strip() for node in self}
        rows = [
            (
                node.name,
                node.param or node.layer,
                ", ".join(names[following] for following in node.next_nodes if following in names),
                ", ".join(f"{t.name} {_shapes_as_text((t.shape,))}" for t in node.saved),
                readable_bytes(node.saved_bytes) if node.saved else "",
            )
            for node in self
        ]
        return format_table(titles, rows, (False, False, False, False, True))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """One node, as it ran in one backward pass."""

    node: GradNode
    seconds: float
    grad_output_shapes: Shapes  # of the gradients that it was given
    grad_input_shapes: Shapes  # of those that it made
    aten_calls: tuple[AtenCall, ...] = ()  # with level='aten'

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def layer(self) -> str:
        return self.node.layer


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class BackwardPass:
    """One backward pass through the pass."""

    number: int  # from 1
    kind: str  # 'backward', or 'grad' for torch.autograd.grad, which adds to no `.grad`
    elapsed_seconds: float  # from the first node of the pass to the last
    nodes: tuple[NodeRun, ...]  # in the order they ran
    grads: Mapping[str, Tensor]  # by layer label
    param_grads: Mapping[str, Tensor]  # by address

    def __iter__(self) -> Iterator[NodeRun]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<BackwardPass {self.number} ({self.kind}): {len(self.nodes)} nodes>"

    def __str__(self) -> str:
        head = (
            f"Backward pass {self.number} ({self.kind}): {len(self.nodes)} autograd nodes in "
            f"{readable_seconds(self.elapsed_seconds)}; gradients of {len(self.grads)} ops and "
            f"{len(self.param_grads)} parameters."
        )
        titles = ("node", "from", "time", "gradients in", "gradients out", "saved for it")
        rows = [
            (
                run.name,
                run.node.param or run.layer or "after the pass",
                readable_seconds(run.seconds),
                _shapes_as_text(run.grad_output_shapes),
                _shapes_as_text(run.grad_input_shapes),
                readable_bytes(run.node.saved_bytes) if run.node.saved else "",
            )
            for run in self.nodes
        ]
        return f"{head}\n{format_table(titles, rows, (False, False, True, False, False, True))}"


def _shapes_as_text(shapes: Shapes) -> str:
    return ", ".join("–" if s is None else "×".join(map(str, s)) or "scalar" for s in shapes)
