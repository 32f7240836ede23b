"""Hooks on the autograd nodes of a pass: what each backward pass brings is written down here.

The hooks hold the log weakly: when the history goes, so does what they gathered.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import torch
from torch import Tensor

from torcheer.capture.backward.edges import Edge
from torcheer.capture.backward.gradgraph import GradGraph
from torcheer.capture.backward.passes import BackwardPass, GradNode, NodeRun, Shapes
from torcheer.capture.memory import has_data, shape_of, storage_key, version_of
from torcheer.errors import InputError

_current_task: Callable[[], int] = torch._C._current_graph_task_id
_will_run: Callable[[Any], bool] = torch._C._will_engine_execute_node

Slot = tuple[int, int]  # a node, and which of its gradients


class Watcher(Protocol):
    """Sees what runs between its beginning and its end."""

    def begin(self) -> None: ...
    def end(self) -> tuple[Any, ...]: ...


class Again(Protocol):
    """Sees a part of the forward that a node computes again, and tells of the ops in it."""

    def is_at(self, node: int) -> bool: ...
    def begin(self, node: int, found: Callable[[int, Edge], None]) -> None: ...
    def end(self) -> None: ...


class Kept:
    """A gradient, and what tells whether it was written over since."""

    __slots__ = ("_sample", "tensor", "version")

    def __init__(self, tensor: Tensor, is_shared: bool = False) -> None:
        self.tensor = tensor
        self.version = version_of(tensor)
        # Scalers, `.data` and NumPy write into a `.grad` without being counted.
        self._sample = _sample_of(tensor) if is_shared else None

    def was_written(self) -> bool:
        if version_of(self.tensor) != self.version:
            return True
        before, now = self._sample, None if self._sample is None else _sample_of(self.tensor)
        if before is None or now is None:
            return False
        return not torch.allclose(now, before, rtol=0, atol=0, equal_nan=True)


def _sample_of(tensor: Tensor) -> Tensor | None:
    """A few elements, spread over it."""
    if tensor.layout != torch.strided or not tensor.is_contiguous() or not has_data(tensor):
        return None
    line = tensor.detach().view(-1)
    return line[:: max(1, line.numel() // _SAMPLE_SIZE)][:_SAMPLE_SIZE].clone()


_SAMPLE_SIZE = 16


class Pass:
    """One backward pass while it runs. Filled by hooks, so plain lists."""

    __slots__ = ("ended", "grads", "kind", "runs", "started")

    def __init__(self, kind: str, started: float) -> None:
        self.kind = kind
        self.started = self.ended = started
        self.runs: list[tuple[int, float, Shapes, Shapes, tuple[Any, ...]]] = []
        self.grads: dict[Slot, Kept] = {}


class GradientLog:
    """All backward passes through one pass."""

    def __init__(
        self,
        graph: GradGraph,
        wanted: Callable[[int], bool],
        device: str = "same",
        aten: Watcher | None = None,
        again: Again | None = None,
    ) -> None:
        self.graph = graph
        self.passes: list[Pass] = []
        self.notes: list[str] = []
        self._wanted = wanted
        self._device = device
        self._aten = aten
        self._again = again
        self._by_task: dict[int, Pass] = {}
        self._task = -1  # the newest one
        self._task_started = 0.0
        self._outer_tasks: list[int] = []  # while a node computes a part of the forward again
        self._late_handles: list[list[Any]] = []  # on nodes that live only so long
        self._started: dict[int, float] = {}
        self._kept_on: dict[int | None, list[tuple[Pass, Slot]]] = {}  # what older passes keep, by its memory
        self._is_following = False  # the backward pass is known to be this pass's own
        self._slots: dict[int, list[int]] = {}  # by node: which of its gradients are to be kept
        self._handles = self._watch(range(len(graph.nodes)))

    def __del__(self) -> None:
        # Parameters' own nodes outlive the pass: leave no trace on them.
        for handle in getattr(self, "_handles", ()):
            handle.remove()

    def _watch(self, nodes: Iterable[int]) -> list[Any]:
        """Hook nodes of the graph, and decide which of their gradients are kept."""
        nodes = list(nodes)
        new = set(nodes)
        for (node, output_nr), ops in self.graph.ops_at.items():
            if node in new and any(map(self._wanted, ops)):
                self._slots.setdefault(node, []).append(output_nr)
        for node in nodes:
            if self.graph.notes[node].param:
                self._slots[node] = [0]
        return [handle for node in nodes for handle in self._hook(node)]

    def _hook(self, node: int) -> tuple[Any, Any]:
        torch_node = self.graph.nodes[node]
        start = _start_leaf if hasattr(torch_node, "variable") else _start
        ref = weakref.ref(self)
        return (
            torch_node.register_prehook(partial(start, ref, node)),
            torch_node.register_hook(partial(_ran, ref, node)),
        )

    # --- called by the hooks ---------------------------------------------------------

    def start(self, node: int) -> None:
        task = self._task_now()
        if task != self._task:
            self._begin_task(task)
        if self._again is not None and self._again.is_at(node):
            self._outer_tasks.append(task)
            self._late_handles.append([])
            self._again.begin(node, self._found_again)
        if self._aten is not None and self._is_ours(node, task):
            self._aten.begin()
        self._started[node] = perf_counter()

    def _is_ours(self, node: int, task: int) -> bool:
        """A parameter's node may be shared with other passes; where this one flows it comes late."""
        note = self.graph.notes[node]
        return self._is_following or task in self._by_task or (note.op is not None and not note.is_border)

    def _task_now(self) -> int:
        return self._outer_tasks[-1] if self._outer_tasks else _current_task()

    def _begin_task(self, task: int) -> None:
        self._task, self._task_started = task, perf_counter()
        self._started.clear()
        self._see_what_is_kept()

    def _see_what_is_kept(self) -> None:
        self._kept_on = {}
        for one in self.passes:
            for slot, kept in one.grads.items():
                self._kept_on.setdefault(storage_key(kept.tensor), []).append((one, slot))

    def protect(self, node: int) -> None:
        """A `.grad` is about to be added to: what is kept on its memory must not change with it."""
        task = self._task_now()
        if task != self._task:
            self._begin_task(task)
        total = self.graph.nodes[node].variable.grad
        key = None if total is None else storage_key(total)
        if self._again is not None:  # such a pass adds to one `.grad` more than once
            self._see_what_is_kept()
        for one, slot in self._kept_on.pop(key, ()) if key is not None else ():
            kept = one.grads[slot]
            if not kept.was_written():
                one.grads[slot] = Kept(kept.tensor.detach().clone())

    def ran(self, node: int, made: tuple[Tensor | None, ...], given: tuple[Tensor | None, ...]) -> None:
        now = perf_counter()
        seconds = now - self._started.pop(node, now)
        task = self._task_now()
        is_ours = self._is_ours(node, task)
        calls = self._aten.end() if self._aten is not None and is_ours else ()
        if self._again is not None and self._again.is_at(node):
            self._again.end()
            self._outer_tasks.pop()
            for handle in self._late_handles.pop():
                handle.remove()
        if not is_ours:
            return  # a parameter shared with another pass, whose backward this is
        one = self._by_task.get(task)
        if one is None:
            one = self._by_task[task] = Pass(self._kind(), self._task_started)
            self.passes.append(one)
        if not self.graph.notes[node].is_border:
            one.runs.append((node, seconds, _shapes(given), _shapes(made), calls))
        for output_nr in self._slots.get(node, ()):
            grad = given[output_nr]
            if grad is not None and not self._is_batched(grad):
                self._keep(one, (node, output_nr), self._at_home(grad))
        one.ended = perf_counter()

    def _keep(self, one: Pass, slot: Slot, grad: Tensor) -> None:
        is_shared = hasattr(self.graph.nodes[slot[0]], "variable")  # with a `.grad`
        earlier = one.grads.get(slot)
        if earlier is not None:  # nested checkpoints bring the gradient of a parameter in parts
            grad, is_shared = earlier.tensor + grad, False
        one.grads[slot] = Kept(grad, is_shared)

    def _at_home(self, grad: Tensor) -> Tensor:
        return grad if self._device == "same" else grad.to(self._device)

    def _is_batched(self, grad: Tensor) -> bool:
        """Gradients of many losses at once, as torch.func and is_grads_batched have, end with their call."""
        functorch = torch._C._functorch
        batched = functorch.is_functorch_wrapped_tensor(grad) or functorch.is_legacy_batchedtensor(grad)
        if batched:
            self._note("gradients that were computed in a batch (is_grads_batched, vmap) were not kept.")
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

    def _found_again(self, op: int, edge: Edge) -> None:
        """An op of the pass was computed again: its gradient will arrive there."""
        self._late_handles[-1] += self._watch(self.graph.add_late(op, edge))
        node = self.graph.index_of[edge[0]]
        if self._wanted(op) and edge[1] not in self._slots.setdefault(node, []):
            self._slots[node].append(edge[1])

    # --- for log_backward ----------------------------------------------------------------

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
        self._is_following = True
        try:
            yield
        finally:
            self._is_following = False
            self.graph.release(added)
            for handle in handles:
                handle.remove()

    # --- for those who ask --------------------------------------------------------------

    def params(self) -> list[str]:
        """The addresses of all parameters that a gradient can reach."""
        return list(dict.fromkeys(note.param for note in self.graph.notes if note.param))

    def slots_of(self, op_or_param: int | str) -> list[Slot]:
        """Where the gradients of an op, or of a parameter, are kept."""
        if isinstance(op_or_param, str):
            notes = enumerate(self.graph.notes)
            return [(node, 0) for node, note in notes if note.param == op_or_param]
        return self._slots_by_op.get(op_or_param, [])

    @property
    def _slots_by_op(self) -> dict[int, list[Slot]]:
        ops_at = self.graph.ops_at
        known: tuple[int, dict[int, list[Slot]]] = self.__dict__.get("_known_slots", (-1, {}))
        if known[0] != len(ops_at):
            table: dict[int, list[Slot]] = {}
            for slot, ops in ops_at.items():
                for op in ops:
                    table.setdefault(op, []).append(slot)
            known = self.__dict__["_known_slots"] = (len(ops_at), table)
        return known[1]

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
            name = self.graph.notes[found[0][0]].param or "an op"
            self._note(
                f"the gradient of {name} was written in place after backward (clipped, zeroed, averaged) and "
                "is no longer what it was: look at it before that, or use zero_grad(set_to_none=True)."
            )
            return None
        if not self.graph.notes[found[0][0]].param:
            found = found[:1]  # what a checkpoint returned is met outside and inside of it
        return _added([one.grads[slot].tensor for slot in found])

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _added(grads: list[Tensor]) -> Tensor:
    total = grads[0]
    for grad in grads[1:]:
        total = total + grad
    return total


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


def _start(log: weakref.ref[GradientLog], node: int, _given: Any) -> None:
    alive = log()
    if alive is not None:
        alive.start(node)


def _start_leaf(log: weakref.ref[GradientLog], node: int, _given: Any) -> None:
    alive = log()
    if alive is not None:
        with torch.no_grad():
            alive.protect(node)
        alive.start(node)


def _ran(log: weakref.ref[GradientLog], node: int, made: Any, given: Any) -> None:
    alive = log()
    if alive is not None:
        alive.ran(node, made, given)


def _shapes(grads: tuple[Tensor | None, ...]) -> Shapes:
    return tuple([None if grad is None else tuple(shape_of(grad)) for grad in grads])


def grad_nodes(log: GradientLog, label: Callable[[int], str]) -> list[GradNode]:
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
        for index, note in enumerate(log.graph.notes)
    ]


def backward_passes(log: GradientLog, label: Callable[[int], str]) -> list[BackwardPass]:
    nodes = grad_nodes(log, label)
    return [_as_seen(log, number, one, nodes, label) for number, one in enumerate(log.passes, 1)]


def _as_seen(
    log: GradientLog, number: int, one: Pass, nodes: list[GradNode], label: Callable[[int], str]
) -> BackwardPass:
    grads: dict[str, Tensor] = {}
    params: dict[str, Tensor] = {}
    for slot in one.grads:
        grad = log.grad(one, (slot,))
        if grad is None:
            continue
        param = nodes[slot[0]].param
        if param:
            params[param] = params[param] + grad if param in params else grad
        for op in log.graph.ops_at.get(slot, ()):
            grads[label(op)] = grad
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
        grads=grads,
        param_grads=params,
    )
