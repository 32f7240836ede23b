"""What a reader sees of the backward passes that were logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor

from torcheer.capture.backward.gradgraph import GradGraph
from torcheer.capture.backward.gradients import GradientLog, Pass, Slot
from torcheer.capture.backward.passes import BackwardPass, GradNode, NodeRun
from torcheer.errors import InputError


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
            layer="" if note.op is None else label(note.op),
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
    passes = list(enumerate(log.passes, 1))[first:]
    return [_as_seen(log, number, one, nodes, label) for number, one in passes]


def _as_seen(
    log: GradientLog, number: int, one: Pass, nodes: list[GradNode], label: Callable[[int], str]
) -> BackwardPass:
    grads: dict[str, list[Slot]] = {}
    params: dict[str, list[Slot]] = {}
    for slot in one.grads:
        if nodes[slot[0]].param:
            params.setdefault(nodes[slot[0]].param, []).append(slot)
        for op in log.graph.ops_at.get(slot, ()):
            grads.setdefault(label(op), []).append(slot)
    return BackwardPass(
        number=number,
        kind=one.kind,
        elapsed_seconds=one.ended - one.started,
        nodes=tuple(
            NodeRun(
                node=nodes[node],
                seconds=seconds,
                grad_output_shapes=given,
                grad_input_shapes=made,
                aten_calls=calls,
            )
            for node, seconds, given, made, calls in one.runs
        ),
        grads=GradsOfPass(log, one, grads),
        param_grads=GradsOfPass(log, one, params),
    )
