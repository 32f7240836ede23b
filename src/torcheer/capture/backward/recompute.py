"""Checkpoints that run a part of the forward again, as a whole, inside one autograd node.

`checkpoint(…, use_reentrant=True)` leaves no autograd nodes in the forward pass: its backward computes
that part again, with gradients, and runs a backward pass of its own. Here the ops of the second run are
recognised, so that their gradients are found too.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, insort
from collections.abc import Callable

import torch
from torch import Tensor, nn

from torcheer.capture.backward.grad_graph import Edge, EdgesTaken, GradGraph, edge_of_tensor
from torcheer.capture.function_mode import Catcher
from torcheer.capture.model_walk import ModelWalk
from torcheer.capture.tape import Record, Scope, Tape, is_call
from torcheer.models import unwrapped_model

_NODE = "CheckpointFunctionBackward"


class Recomputation:
    """Knows which ops of a pass each such node will compute again."""

    def __init__(self, tape: Tape, graph: GradGraph, model: weakref.ref[nn.Module]) -> None:
        self._records = tape.records
        self._graph = graph
        self._model = model
        self._running: list[tuple[Catcher, int]] = []
        self._ends: list[int] = []  # sorted
        self._num_nodes_seen = 0
        self._walk: ModelWalk | None = None  # for as long as a backward pass takes

    @classmethod
    def planned(
        cls, tape: Tape, graph: GradGraph, model: weakref.ref[nn.Module] | None
    ) -> Recomputation | None:
        """None where a pass has no such node."""
        has_any = any(note.name == _NODE for note in graph.notes)
        return cls(tape, graph, model) if has_any and model is not None else None

    def is_at(self, node: int) -> bool:
        return self._graph.notes[node].name == _NODE and self._model() is not None

    def begin(self, node: int, found: Callable[[int, Edge], None]) -> None:
        """From here on, tell of each op of the pass that is met again."""
        model = self._model()
        assert model is not None, "asked before"
        if self._walk is None:
            self._walk = ModelWalk(unwrapped_model(model))
            torch.autograd.Variable._execution_engine.queue_callback(self._forget_walk)
        tape = Tape(self._walk, keep_all=False)
        tape.edges = OpsMetAgain(tape, self._records, self._ops_of(node), found)
        catcher = Catcher(tape, Scope(None, "", "", (), 0))
        catcher.__enter__()  # type: ignore[no-untyped-call]
        self._running.append((catcher, len(self._graph.nodes)))

    def end(self) -> None:
        catcher, first_node = self._running.pop()
        catcher.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        # The second run's graph has done its work.
        self._graph.release(range(first_node, len(self._graph.nodes)))

    def _forget_walk(self) -> None:
        self._walk = None  # it holds the model

    def forget(self) -> None:
        """A second run raised; torch has taken its mode away."""
        for _, first_node in self._running[:1]:
            self._graph.release(range(first_node, len(self._graph.nodes)))
        self._running.clear()
        self._walk = None

    def _ops_of(self, node: int) -> list[int]:
        """The ops between the end of the checkpoint before and the outputs of this one."""
        self._find_ends()
        end = self._last_op(node)
        place = bisect_left(self._ends, end)
        before = self._ends[place - 1] if place else -1
        recomputed = self._graph.recomputed
        return [op for op in range(before + 1, end + 1) if op in recomputed and is_call(self._records[op])]

    def _find_ends(self) -> None:
        """The last op of each checkpoint that is known by now."""
        notes = self._graph.notes
        for node in range(self._num_nodes_seen, len(notes)):
            end = self._last_op(node) if notes[node].name == _NODE else -1
            if end >= 0 and end not in self._ends:
                insort(self._ends, end)
        self._num_nodes_seen = len(notes)

    def _last_op(self, node: int) -> int:
        outputs = [
            op for number in self._graph.outputs_of.get(node, ()) for op in self._graph.ops_at[node, number]
        ]
        return max((op for op in outputs if op in self._graph.recomputed), default=-1)


class OpsMetAgain(EdgesTaken):
    """Knows the ops of a pass again when they are recorded a second time, and tells of their edges."""

    def __init__(
        self, tape: Tape, records: list[Record], expected: list[int], found: Callable[[int, Edge], None]
    ) -> None:
        super().__init__()
        self._records_now = tape.records
        self._records = records
        self._expected = expected
        self._found = found
        self._op_of: dict[int, int | None] = {}

    def take(self, op: int, tensor: Tensor) -> None:
        if op not in self._op_of:
            record = self._records_now[op]
            self._op_of[op] = self._next(record.trait.name) if is_call(record) else None
        known = self._op_of[op]
        edge = None if known is None else edge_of_tensor(tensor)
        if known is not None and edge is not None and self.by_op.get(op) != edge:
            self.by_op[op] = edge
            self._found(known, edge)

    def _next(self, name: str) -> int | None:
        """The next op of that name; ops that do not come again are passed over."""
        for position, op in enumerate(self._expected):
            if self._records[op].trait.name == name:
                del self._expected[: position + 1]
                return op
        return None
