"""Backward passes, ATen calls and edits in the file of a pass: their rows, written, checked and read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.aten import AtenCall
from torcheer.capture.backward.backward_pass import SavedTensor, Shapes
from torcheer.capture.backward.grad_graph import GradGraph, NodeNote
from torcheer.capture.backward.grad_log import GradientLog, Pass, Slot
from torcheer.capture.keeping.pyvalues import DTYPE_NAMES, DTYPES
from torcheer.capture.keeping.stored import (
    StoredAten,
    StoredBackward,
    StoredGradients,
    StoredNode,
    StoredRun,
    StoredSaved,
    StoredShapes,
    StoredTensor,
)

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory
    from torcheer.capture.keeping.tensorplan import Item


# --- writing ---------------------------------------------------------------------------------


def planned_grads(history: ModelHistory, add: Callable[[str, int, Tensor], Any]) -> list[dict[Slot, Any]]:
    """Have the gradients of each backward pass put among the tensors; returns where each one lies."""
    log = history._gradients
    places: list[dict[Slot, Any]] = []
    for number, one in enumerate([] if log is None else log.passes, 1):
        assert log is not None
        found: dict[Slot, Any] = {}
        names: set[str] = set()
        for slot in one.grads:
            grad, ops = log.grad(one, (slot,)), log.graph.ops_at.get(slot, [])
            if grad is None:
                continue
            name = log.graph.notes[slot[0]].param or history._label(ops[0])
            name = f"grad.{number}.{name}"
            name = name if name not in names else f"{name}.{slot[0]}"  # met again by a checkpoint
            names.add(name)
            item = add(name, ops[0] if ops else 0, grad.detach())
            if item is not None:
                found[slot] = item
        places.append(found)
    return places


def gradients_as_rows(history: ModelHistory, grads: list[dict[Slot, Item]]) -> StoredGradients | None:
    log, tape = history._gradients, history._tape
    if log is None and not tape.keep_all:
        return None
    graph = history._grad_graph if log is None else log.graph
    passes = [] if log is None else log.passes
    memories: dict[int, int] = {}
    return StoredGradients(
        nodes=[_node_row(note, memories) for note in graph.notes],
        slots=[(node, number, ops) for (node, number), ops in graph.ops_at.items()],
        passes=[_pass_row(one, places) for one, places in zip(passes, grads, strict=True)],
        notes=[] if log is None else log.notes,
    )


def _node_row(note: NodeNote, memories: dict[int, int]) -> StoredNode:
    saved = [
        StoredSaved(
            name=one.name,
            shape=list(one.shape),
            dtype=DTYPE_NAMES[one.dtype],
            num_bytes=one.num_bytes,
            param=one.param,
            memory=memories.setdefault(one.memory, len(memories)),
            memory_bytes=one.memory_bytes,
        )
        for one in note.saved
    ]
    return StoredNode(
        name=note.name,
        op=-1 if note.op is None else note.op,
        param=note.param,
        next_nodes=list(note.next_nodes),
        saved=saved,
        recomputes=note.recomputes,
        is_border=note.is_border,
    )


def _pass_row(one: Pass, places: dict[Slot, Item]) -> StoredBackward:
    runs = [
        StoredRun(
            node=node,
            seconds=seconds,
            given=_shape_rows(given),
            made=_shape_rows(made),
            calls=aten_as_rows(calls),
        )
        for node, seconds, given, made, calls in one.runs
    ]
    grads = [(*slot, item.stored) for slot, item in places.items() if item.stored is not None]
    return StoredBackward(kind=one.kind, elapsed_seconds=one.ended - one.started, runs=runs, grads=grads)


def aten_as_rows(calls: tuple[AtenCall, ...]) -> list[StoredAten]:
    return [
        StoredAten(
            name=call.name,
            overload=call.overload,
            input_shapes=[list(shape) for shape in call.input_shapes],
            output_shapes=[list(shape) for shape in call.output_shapes],
            seconds=call.seconds,
        )
        for call in calls
    ]


def _shape_rows(shapes: Shapes) -> StoredShapes:
    return [None if shape is None else list(shape) for shape in shapes]


# --- checking --------------------------------------------------------------------------------


def check_gradients(
    stored: StoredGradients,
    num_ops: int,
    params: frozenset[str],
    check_value: Callable[[StoredTensor], None],
) -> None:
    """ValueError where an index points outside its table, or a value does not fit the file."""
    num_nodes = len(stored.nodes)
    for node in stored.nodes:
        _need(node.op < num_ops, "an autograd node came from no op")
        _need(not node.param or node.param in params, "a gradient is of no parameter")
        _need(all(following < num_nodes for following in node.next_nodes), "a node leads nowhere")
        _need(all(one.dtype in DTYPES for one in node.saved), "a tensor of an unknown type was saved")
    for at, _, ops in stored.slots:
        _need(at < num_nodes and all(op < num_ops for op in ops), "a gradient is of no op")
    for one in stored.passes:
        _need(one.kind in ("backward", "grad"), "a backward pass is of no known kind")
        _need(all(run.node < num_nodes for run in one.runs), "a node ran that is not there")
        for at, _, value in one.grads:
            _need(at < num_nodes, "a gradient arrived nowhere")
            check_value(value)


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


# --- reading ---------------------------------------------------------------------------------


class StoredKept:
    """A gradient in the file."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Tensor]) -> None:
        self._make = make

    @property
    def tensor(self) -> Tensor:
        return self._make()

    def was_written(self) -> bool:
        return False


class StoredGraph(GradGraph):
    """What is known of the nodes; the nodes themselves are gone."""

    def __init__(self, notes: list[NodeNote], ops_at: dict[Slot, list[int]]) -> None:
        # Not the graph's own: there is nothing to walk.
        self.notes = notes
        self.ops_at = ops_at
        self.nodes = []


class StoredGradientLog(GradientLog):
    """Backward passes that are over."""

    def __init__(self, graph: StoredGraph, passes: list[Pass], notes: list[str]) -> None:
        # Not the log's own: there is nothing to hook.
        self.graph = graph
        self.passes = passes
        self._notes = notes
        self._written = set()


def gradients_of_rows(stored: StoredGradients, value: Callable[[StoredTensor], Tensor]) -> GradientLog:
    notes = [_note(row) for row in stored.nodes]
    ops_at = {(node, number): ops for node, number, ops in stored.slots}
    passes: list[Pass] = []
    for row in stored.passes:
        one = Pass(row.kind, 0.0)
        one.ended = row.elapsed_seconds
        for run in row.runs:
            calls = tuple(aten_of_rows(run.calls))
            one.runs.append((run.node, run.seconds, _shapes(run.given), _shapes(run.made), calls))
        for node, number, tensor in row.grads:
            one.grads[node, number] = StoredKept(lambda tensor=tensor: value(tensor))  # type: ignore[assignment,misc]
        passes.append(one)
    return StoredGradientLog(StoredGraph(notes, ops_at), passes, list(stored.notes))


def _note(row: StoredNode) -> NodeNote:
    saved = tuple(
        SavedTensor(
            name=one.name,
            shape=tuple(one.shape),
            dtype=DTYPES[one.dtype],
            num_bytes=one.num_bytes,
            param=one.param,
            memory=one.memory,
            memory_bytes=one.memory_bytes,
        )
        for one in row.saved
    )
    return NodeNote(
        name=row.name,
        op=None if row.op < 0 else row.op,
        param=row.param,
        next_nodes=tuple(row.next_nodes),
        saved=saved,
        recomputes=row.recomputes,
        is_border=row.is_border,
    )


def aten_of_rows(rows: list[StoredAten]) -> list[AtenCall]:
    return [
        AtenCall(
            name=row.name,
            overload=row.overload,
            input_shapes=tuple(tuple(shape) for shape in row.input_shapes),
            output_shapes=tuple(tuple(shape) for shape in row.output_shapes),
            seconds=row.seconds,
        )
        for row in rows
    ]


def _shapes(rows: StoredShapes) -> Shapes:
    return tuple(None if shape is None else tuple(shape) for shape in rows)


class DoneEdit(NamedTuple):
    """What is known of an edit after its pass: as an edit rule has it."""

    key: str
    name: str


class LazyTensors(dict[int, Any]):
    """Tensors of the file by op, made when they are asked for."""

    def __init__(self, rows: dict[int, StoredTensor], value: Callable[[StoredTensor], torch.Tensor]) -> None:
        super().__init__(rows)
        self._value = value

    def __getitem__(self, op: int) -> torch.Tensor:
        return self._value(super().__getitem__(op))

    def get(self, op: int, default: Any = None) -> Any:
        return self[op] if op in self.keys() else default  # this is `get`
