"""Hooks on the autograd nodes of a pass: what each backward pass brings is written down here.

The hooks hold the log weakly: when the history goes, so does what they gathered.
"""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from time import perf_counter
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from torcheer.capture.aliasing import element_range, has_data, shape_of, storage_key, version_of
from torcheer.capture.aten import AtenCall, begin_watching, end_watching, unwatched
from torcheer.capture.backward.backward_pass import Shapes
from torcheer.capture.backward.grad_graph import GradGraph
from torcheer.capture.op import some_of
from torcheer.errors import InputError

_SAMPLE_SIZE = 16


class Kept:
    """A gradient, and what tells whether it was written over since."""

    __slots__ = ("_sample", "tensor", "version")

    def __init__(self, tensor: Tensor, is_shared: bool = False) -> None:
        self.tensor = tensor
        self.version = version_of(tensor)
        self._sample: Tensor | None = None
        if is_shared:
            self.take_sample()

    def take_sample(self) -> None:
        """Scalers, `.data` and NumPy write into a `.grad` without being counted by torch."""
        if self._sample is None:
            with unwatched():
                self._sample = _sample_of(self.tensor)

    def was_written(self) -> bool:
        if version_of(self.tensor) != self.version:
            return True
        before, now = self._sample, None if self._sample is None else _sample_of(self.tensor)
        if before is None or now is None:
            return False
        return now.shape != before.shape or not torch.allclose(now, before, rtol=0, atol=0, equal_nan=True)


def _sample_of(tensor: Tensor) -> Tensor | None:
    """A few elements, spread over it; where they are all zero, also the sum."""
    if tensor.layout == torch.sparse_coo:
        tensor = tensor._values()
    if tensor.layout != torch.strided or not has_data(tensor):
        return None
    tensor = tensor.detach()
    first, last = element_range(tensor)
    if tensor.numel() == 0 or last - first + 1 != tensor.numel():
        return None  # with gaps, or elements that are one
    line = tensor.as_strided((tensor.numel(),), (1,), first)
    sample = line[:: max(1, line.numel() // _SAMPLE_SIZE)][:_SAMPLE_SIZE].clone()
    return sample if sample.any() else torch.cat([sample, line.sum().reshape(1)])


_current_task: Callable[[], int] = torch._C._current_graph_task_id
_will_run: Callable[[Any], bool] = torch._C._will_engine_execute_node

Slot = tuple[int, int]  # a node, and which of its gradients

_REENTRANT = "CheckpointFunctionBackward"
_OPS_WITHOUT = (
    "ops inside a checkpoint with use_reentrant=True have no gradients, since its backward runs on a graph "
    "of its own: use_reentrant=False has them."
)


@dataclass(slots=True)
class Running:
    """A node between its two hooks."""

    node: int
    task: int  # the outermost backward pass that it is a part of
    started: float = 0.0
    calls: list[AtenCall] | None = None  # where ATen calls are watched
    grad: Tensor | None = None  # a copy, where a hook of the user's is about to change it


@dataclass(slots=True, eq=False)
class Pass:
    """One backward pass while it runs. Filled by hooks, so plain lists."""

    kind: str
    started: float
    ended: float
    runs: list[tuple[int, float, Shapes, Shapes, tuple[Any, ...]]] = field(default_factory=list)
    grads: dict[Slot, Kept] = field(default_factory=dict)


class GradientLog:
    """All backward passes through one pass."""

    _known_table: tuple[int, dict[int | str, list[Slot]]] = (-1, {})  # with the size that it was made for

    def __init__(
        self,
        graph: GradGraph,
        wanted: Callable[[int], bool],
        device: str = "same",
        with_aten: bool = False,
    ) -> None:
        self.graph = graph
        self.passes: list[Pass] = []
        self._notes: list[str] = [_OPS_WITHOUT] if any(n.name == _REENTRANT for n in graph.notes) else []
        self._written: set[str] = set()  # of what the kept gradient was found to be written over
        self._wanted = wanted
        self._device = device
        self._with_aten = with_aten
        self._by_task: dict[int, Pass] = {}
        self._task = -1  # the newest one
        self._task_started = 0.0
        self._running: dict[int, list[Running]] = {}  # by thread; more than one where a node runs a backward
        self._kept_on: dict[int | None, list[tuple[Pass, Slot]]] = {}  # what is kept, by its memory
        self._is_following = False  # the backward pass is known to be this pass's own
        self._slots: dict[int, list[int]] = {}  # by node: which of its gradients are to be kept
        self._handles = self._watch(range(len(graph.nodes)))

    def __del__(self) -> None:
        # Parameters' own nodes outlive the pass: leave no trace on them.
        for handle in getattr(self, "_handles", ()):
            handle.remove()

    def _watch(self, nodes: Iterable[int]) -> list[Any]:
        """Hook nodes of the graph, and decide which of their gradients are kept."""
        nodes = dict.fromkeys(nodes)
        self._slots |= {node: [0] for node in nodes if self.graph.notes[node].param}
        for (node, output_nr), ops in self.graph.ops_at.items():
            if node in nodes and not self.graph.notes[node].param and any(map(self._wanted, ops)):
                self._slots.setdefault(node, []).append(output_nr)
        handles, ref = [], weakref.ref(self)
        for node in nodes:
            torch_node = self.graph.nodes[node]
            handles.append(torch_node.register_prehook(functools.partial(_start, ref, node)))
            handles.append(torch_node.register_hook(functools.partial(_ran, ref, node)))
        return handles

    def start(self, node: int, given: tuple[Tensor | None, ...] = ()) -> None:
        running = self._running.setdefault(get_ident(), [])
        if running and not _is_nested():
            running.clear()  # nodes that a backward pass never came back to, since something raised in it
        now = Running(node, running[0].task if running else _current_task())
        leaf = getattr(self.graph.nodes[node], "variable", None)
        if leaf is not None:
            self._protect(leaf)
            if not self._is_ours(now, running):
                return  # a parameter in the backward of another pass
        if now.task != self._task:
            self._task, self._task_started = now.task, perf_counter()
        if getattr(leaf, "_post_accumulate_grad_hooks", None) and given and given[0] is not None:
            now.grad = given[0].detach().clone()
        running.append(now)
        if self._with_aten and self._is_ours(now, running):
            now.calls = begin_watching()
        now.started = perf_counter()

    def _is_ours(self, now: Running, running: list[Running]) -> bool:
        """A parameter's node may be shared with other passes; where this one flows it comes late."""
        if self._is_following or now.task in self._by_task:
            return True
        notes = [self.graph.notes[one.node] for one in running]
        return any(note.op >= 0 and not note.is_border for note in notes)

    def _protect(self, leaf: Tensor) -> None:
        """A `.grad` is about to be added to: what is kept on its memory must not change with it."""
        key = None if leaf.grad is None else storage_key(leaf.grad)
        for one, slot in self._kept_on.pop(key, ()) if key is not None else ():
            kept = one.grads[slot]
            if storage_key(kept.tensor) == key and not kept.was_written():
                with unwatched():
                    one.grads[slot] = Kept(kept.tensor.detach().clone())

    def ran(self, node: int, made: tuple[Tensor | None, ...], given: tuple[Tensor | None, ...]) -> None:
        ended = perf_counter()
        running = self._running.get(get_ident(), [])
        if not running or running[-1].node != node:
            return  # hooked while it ran
        now = running[-1]
        is_ours = self._is_ours(now, running)
        running.pop()
        calls = () if now.calls is None else end_watching(now.calls)
        if not is_ours:
            return  # a parameter shared with another pass, whose backward this is
        one = self._by_task.get(now.task)
        if one is None:
            one = self._by_task[now.task] = Pass(self._kind(), self._task_started, self._task_started)
            self.passes.append(one)
        if not self.graph.notes[node].is_border:
            one.runs.append((node, ended - now.started, _shapes(given), _shapes(made), calls))
        for output_nr in self._slots.get(node, ()):
            grad = given[output_nr] if now.grad is None else now.grad
            if grad is not None and not self._is_batched(grad):
                home = grad if self._device == "same" else grad.to(self._device)
                self._keep(one, (node, output_nr), home)
        one.ended = perf_counter()

    def _keep(self, one: Pass, slot: Slot, grad: Tensor) -> None:
        is_shared = hasattr(self.graph.nodes[slot[0]], "variable")  # with a `.grad`
        earlier = one.grads.get(slot)
        if earlier is not None:  # nested checkpoints bring the gradient of a parameter in parts
            with unwatched():
                grad, is_shared = earlier.tensor + grad, False
        one.grads[slot] = Kept(grad, is_shared)
        on_it = self._kept_on.setdefault(storage_key(grad), [])
        on_it.append((one, slot))
        if is_shared:  # so is what an op was given that is a view of the parameter
            for other, its_slot in on_it:
                other.grads[its_slot].take_sample()

    def _is_batched(self, grad: Tensor) -> bool:
        """Gradients of many losses at once, as torch.func and is_grads_batched have, end with their call."""
        functorch = torch._C._functorch
        batched = functorch.is_functorch_wrapped_tensor(grad) or functorch.is_legacy_batchedtensor(grad)
        note = "gradients that were computed in a batch (is_grads_batched, vmap) were not kept."
        if batched and note not in self._notes:
            self._notes.append(note)
        return batched

    def _kind(self) -> str:
        """`torch.autograd.grad` runs no node that adds to a `.grad`."""
        if self._is_following:
            return "backward"
        for leaf in self.graph.leaves():
            try:
                if _will_run(leaf):
                    return "backward"
            except RuntimeError:  # a leaf whose gradient was asked for
                return "grad"
        return "grad"

    @contextmanager
    def following(self, loss: Tensor) -> Iterator[None]:
        """Also see the nodes between the pass and this loss."""
        try:
            added = self.graph.add_between(loss)
        except LookupError as error:
            raise InputError(
                "the loss does not hang on this pass: make it of history.output, or of a layer's "
                "tensor_contents."
            ) from error
        handles = self._watch(added)
        num_before = len(self.passes)
        self._is_following = True
        try:
            yield
        except BaseException:
            del self.passes[num_before:]  # one that raised is none
            raise
        finally:
            self._is_following = False
            self.graph.release(added)
            for handle in handles:
                handle.remove()

    def params(self) -> list[str]:
        """The addresses of all parameters that a gradient can reach."""
        return list(dict.fromkeys(note.param for note in self.graph.notes if note.param))

    def slots_of(self, op_or_param: int | str) -> list[Slot]:
        """Where the gradients of an op, or of a parameter, are kept."""
        # The table is made anew when nodes have been added.
        size = len(self.graph.ops_at) + len(self.graph.notes)
        if self._known_table[0] != size:
            table: dict[int | str, list[Slot]] = {}
            for slot, ops in self.graph.ops_at.items():
                for op in ops:
                    table.setdefault(op, []).append(slot)
            for node, note in enumerate(self.graph.notes):
                if note.param:
                    table.setdefault(note.param, []).append((node, 0))
            self._known_table = (size, table)
        return self._known_table[1].get(op_or_param, [])

    def has_any(self, slots: list[Slot]) -> bool:
        return any(slot in one.grads for one in self.passes for slot in slots)

    def summed(self, slots: list[Slot]) -> Tensor | None:
        """The gradient over all backward passes, added up as in `.grad`."""
        passes = [one for one in self.passes if any(slot in one.grads for slot in slots)]
        kind = "backward" if any(one.kind == "backward" for one in passes) else "grad"
        passes = [one for one in passes if one.kind == kind]
        grads = [grad for one in passes if (grad := self.grad(one, slots)) is not None]
        # A sum without one of its parts would be wrong without showing it.
        return _added(grads) if grads and len(grads) == len(passes) else None

    def by_pass(self, slots: list[Slot]) -> dict[int, Tensor]:
        found = {number: self.grad(one, slots) for number, one in enumerate(self.passes, 1)}
        return {number: grad for number, grad in found.items() if grad is not None}

    def grad(self, one: Pass, slots: Iterable[Slot]) -> Tensor | None:
        """Of one pass. A parameter under checkpoints gets its gradient in several parts."""
        found = [slot for slot in slots if slot in one.grads]
        if not found:
            return None
        if any(one.grads[slot].was_written() for slot in found):
            self._written.add(self.graph.notes[found[0][0]].param or "an op")
            return None
        if not self.graph.notes[found[0][0]].param:
            found = found[:1]  # what a checkpoint returned is met outside and inside of it
        return _added([one.grads[slot].tensor for slot in found])

    @property
    def notes(self) -> list[str]:
        if not self._written:
            return self._notes
        note = (
            f"the gradients of {some_of(sorted(self._written))} were written in place after backward "
            "(clipped, zeroed, averaged) and are no longer what they were: look at them before that. "
            "zero_grad(set_to_none=True) leaves them alone."
        )
        return [*self._notes, note]


def _added(grads: list[Tensor]) -> Tensor:
    return functools.reduce(operator.add, grads)


def _start(log: weakref.ref[GradientLog], node: int, given: Any) -> None:
    alive = log()
    if alive is not None:
        with torch.no_grad():
            alive.start(node, given)


def _ran(log: weakref.ref[GradientLog], node: int, made: Any, given: Any) -> None:
    alive = log()
    if alive is not None:
        alive.ran(node, made, given)


def _is_nested() -> bool:
    """Whether a node of a backward pass is running another one."""
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        depth += frame.f_code is _RUN_BACKWARD
        frame = frame.f_back
    return depth > 1


_RUN_BACKWARD = torch.autograd.graph._engine_run_backward.__code__


def _shapes(grads: tuple[Tensor | None, ...]) -> Shapes:
    return tuple([None if grad is None else tuple(shape_of(grad)) for grad in grads])
