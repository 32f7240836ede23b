"""What a backward pass was: the autograd nodes in the order they ran, and the gradients they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.aten import AtenCall, Count, Shape
from torcheer.errors import InputError
from torcheer.graph import format_table, readable_bytes, readable_seconds

if TYPE_CHECKING:
    from torcheer.capture.backward.grad_graph import GradGraph
    from torcheer.capture.backward.grad_log import GradientLog, Pass, Slot


Shapes = tuple[Shape | None, ...]  # None where no gradient flowed


class SavedTensor(NamedTuple):
    """A tensor that an autograd node keeps from the forward pass until its backward has run."""

    name: str  # as torch calls it: `input`, `weight`, `result`…
    shape: Shape
    dtype: torch.dtype
    num_bytes: Count
    param: str  # the parameter's address, where it is one; else ""
    memory: Count  # equal for tensors on the same memory
    memory_bytes: Count  # of all that it keeps alive, such as the tensor it is a view of


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


class NodeRun(NamedTuple):
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


def check_loss(loss: Any, log: GradientLog) -> None:
    """Say what is wrong before anything runs."""
    if not isinstance(loss, Tensor):
        raise InputError(f"the loss must be a tensor, not {type(loss).__name__}: log_backward(output.sum()).")
    if not log.graph.nodes:
        raise InputError(
            "no gradient can flow through this pass: capture it with grad enabled (not under no_grad()), "
            "with parameters or inputs that require grad, and with values that are not detached."
        )
    if loss.grad_fn is None:
        raise InputError("the loss hangs on nothing that requires grad: make it of history.output.")


class GradsOfPass(Mapping[str, Tensor]):
    """The gradients of one backward pass by name, looked up when they are asked for.

    What is kept of a pass may move to other memory later, or be written over by somebody else.
    """

    def __init__(self, log: GradientLog, one: Pass, slots: dict[str, list[Slot]]) -> None:
        self._log = log
        self._pass = one
        self._slots = slots

    def __getitem__(self, name: str) -> Tensor:
        grad = self._log.grad(self._pass, self._slots[name])
        if grad is None:
            raise KeyError(name)
        return grad

    def __iter__(self) -> Iterator[str]:
        return (name for name, slots in self._slots.items() if self._log.grad(self._pass, slots) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def grad_nodes(graph: GradGraph, label: Callable[[int], str]) -> list[GradNode]:
    """The backward graph, as its readers see it."""
    return [
        GradNode(
            index=index,
            name=note.name.removeprefix("torch::autograd::"),
            layer="" if note.op < 0 else label(note.op),
            param=note.param,
            next_nodes=note.next_nodes,
            saved=note.saved,
            recomputes=note.recomputes,
        )
        for index, note in enumerate(graph.notes)
    ]


def backward_passes(log: GradientLog, label: Callable[[int], str], first: int = 0) -> list[BackwardPass]:
    """From the given pass on, as their readers see them."""
    nodes = grad_nodes(log.graph, label)
    found = []
    for number, one in list(enumerate(log.passes, 1))[first:]:
        grads: dict[str, list[Slot]] = {}
        params: dict[str, list[Slot]] = {}
        for slot in one.grads:
            if nodes[slot[0]].param:
                params.setdefault(nodes[slot[0]].param, []).append(slot)
            for op in log.graph.ops_at.get(slot, ()):
                grads.setdefault(label(op), []).append(slot)
        seen = BackwardPass(
            number=number,
            kind=one.kind,
            elapsed_seconds=one.ended - one.started,
            nodes=tuple(NodeRun(nodes[run[0]], *run[1:]) for run in one.runs),
            grads=GradsOfPass(log, one, grads),
            param_grads=GradsOfPass(log, one, params),
        )
        found.append(seen)
    return found
