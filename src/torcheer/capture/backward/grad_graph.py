"""Find the autograd nodes of a pass, and say which op each came from."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
import torch.utils.checkpoint
from torch import Tensor

from torcheer.capture.aliasing import has_data, num_bytes, shape_of, storage_key, unwrapped
from torcheer.capture.aten import Count, Index
from torcheer.capture.backward.backward_pass import SavedTensor
from torcheer.capture.inputs import tensors_in
from torcheer.capture.tape import BUFFER, INPUT, OUTPUT, SOURCE, Record, Tape
from torcheer.graph import Site

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


# What is before the pass: gradients arrive there, but the node behind is not the pass's own.
_BORDERS = frozenset(id(trait) for trait in (INPUT, SOURCE, BUFFER))


class NodeNote(NamedTuple):
    """What is known of a node, besides the node; also as it is stored in a file."""

    name: str
    op: Index  # -1 for a node that no op of the pass left
    param: str
    next_nodes: tuple[Count, ...]
    saved: tuple[SavedTensor, ...]
    recomputes: bool
    is_border: bool  # it belongs to what came before the pass


def edge_of_op(tape: Tape, op: int) -> Edge | None:
    """Where the gradient of an op's output arrives, as of the moment when the op made it."""
    if tape.edges is not None and op in tape.edges.by_op:
        return tape.edges.by_op[op]
    if op in tape.edges_before_writes:
        return tape.edges_before_writes[op]
    value = tape.values[op]
    if value is None or not value.requires_grad:
        return None
    if op not in tape.private:
        return edge_of_tensor(value)
    # A copy hangs on what it was copied from.
    copied_by = value.grad_fn
    node, output_nr = copied_by.next_functions[0] if copied_by is not None else (None, 0)
    return None if node is None else (node, output_nr)


class GradGraph:
    """The autograd nodes that the ops of a pass left, up to its parameters and inputs."""

    def __init__(self, tape: Tape) -> None:
        self.nodes: list[Node] = []
        self.notes: list[NodeNote] = []
        self.index_of: dict[Node, int] = {}
        self.ops_at: dict[tuple[int, int], list[int]] = {}  # (node, which output): ops whose gradient it is
        self._params = {id(param): address for address, param in tape.params}
        self._param_keys = {storage_key(param): address for address, param in tape.params}
        self._saved_names: dict[Any, list[str]] = {}
        self._params_used = tape.params
        self._parents_of = [record.parents for record in tape.records]
        self._num_saved = 0
        self._memories: dict[int, int] = {}
        self._checkpoints: set[int] = set()
        outside = [op for op, record in enumerate(tape.records) if id(record.trait) in _BORDERS]
        self._outside = {storage_key(value) for op in outside if (value := tape.values[op]) is not None}
        edges = {op: edge for op in range(len(tape.records)) if (edge := edge_of_op(tape, op)) is not None}
        # The op that each node came from: the first whose output it made.
        self._owner: dict[Node, int] = {}
        for op, (node, _) in edges.items():
            if tape.records[op].trait is not OUTPUT:
                self._owner.setdefault(node, op)
        self._borders = {node for node, op in self._owner.items() if id(tape.records[op].trait) in _BORDERS}
        self.recomputed = checkpointed_ops(tape)
        # Where only some ops are known, what lies between them cannot be said to come from either.
        self._knows_all = tape.keep_all or tape.edges is not None
        for op, (node, output_nr) in edges.items():
            index = self.index_of.get(node)
            if index is None:
                index = self._add_with_all_behind(node, self._owner.get(node, op))
            self.ops_at.setdefault((index, output_nr), []).append(op)
        # Inside of a reentrant checkpoint parameters hang on no node of the forward.
        for _, param in tape.params:
            edge = edge_of_tensor(param)
            if edge is not None and edge[0] not in self.index_of and self.recomputed:
                self._add(edge[0], -1)
        self._owner, self._borders = {}, set()  # they would keep the graph's nodes in a second place

    def _add_with_all_behind(self, start: Node, op: int) -> int:
        """Add a node, and all behind it up to what is there already."""
        first = self._add(start, op)
        queue = [first]
        while queue:
            index = queue.pop()
            note = self.notes[index]
            if note.is_border:
                continue
            following: list[int] = []
            for node, _ in self.nodes[index].next_functions:
                if node is None:
                    continue
                known = self.index_of.get(node)
                if known is None:
                    known = self._add(node, self._owner.get(node, note.op if self._knows_all else -1))
                    queue.append(known)
                following.append(known)
            self.notes[index] = note._replace(next_nodes=tuple(following))
        return first

    def _add(self, node: Node, op: int) -> int:
        index = self.index_of[node] = len(self.nodes)
        self.nodes.append(node)
        leaf = getattr(node, "variable", None)
        param = "" if leaf is None else self._params.get(id(leaf), "")
        is_border = op >= 0 and not param and (leaf is not None or node in self._borders)
        recomputes = op in self.recomputed and leaf is None
        looks = leaf is None and not is_border
        self.notes.append(
            NodeNote(
                name=node.name(),
                op=-1 if param else op,
                param=param,
                next_nodes=(),
                saved=tuple(self._saved(node, op)) if looks else (),
                recomputes=recomputes,
                is_border=is_border,
            )
        )
        return index

    def add_between(self, loss: Tensor) -> list[int]:
        """Add the nodes between a loss and the pass. LookupError where the loss does not hang on the pass."""
        found: list[Node] = []
        touches = False
        seen: set[Node] = set()
        queue = [loss.grad_fn]
        while queue:
            node = queue.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            known = self.index_of.get(node)
            if known is not None:
                touches = touches or (self.notes[known].op >= 0 and not self.notes[known].is_border)
                continue
            found.append(node)
            queue.extend(following for following, _ in node.next_functions)
        if not touches:
            raise LookupError("the loss does not hang on the pass")
        added = [self._add(node, -1) for node in found]
        for index in added:
            behind = [self.index_of[node] for node, _ in self.nodes[index].next_functions if node is not None]
            self.notes[index] = self.notes[index]._replace(next_nodes=tuple(behind))
        return added

    def release(self, nodes: Iterable[int]) -> None:
        """Let go of nodes that live for one backward pass only; what is known of them stays."""
        for index in nodes:
            if self.nodes[index] is not None:
                self.index_of.pop(self.nodes[index], None)
                self.nodes[index] = None

    def leaves(self) -> Iterator[Node]:
        """The ends of the graph, also of what came before the pass."""
        seen: set[Node] = set()
        queue = list(self.nodes)
        while queue:
            node = queue.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            following = node.next_functions
            if not following:
                yield node
            queue.extend(behind for behind, _ in following)

    def _saved(self, node: Node, op: int) -> Iterator[SavedTensor]:
        names = self._saved_names.get(type(node))
        if names is None:
            names = [name for name in dir(node) if name.startswith("_raw_saved_")]
            self._saved_names[type(node)] = names
        for name in names:
            try:
                raw = getattr(node, name, None)
                for one in raw if isinstance(raw, tuple | list) else (raw,):
                    # As it was packed: to unpack it may cost a lot, or compute it again.
                    for _, tensor in tensors_in(getattr(one, "data", None)):
                        yield self._saved_tensor(name.removeprefix("_raw_saved_"), tensor, op)
                    # A checkpoint keeps its inputs: they are listed once, with its first node.
                    checkpoint, inputs = inputs_held(getattr(one, "unpack_hook", None))
                    if checkpoint and checkpoint not in self._checkpoints:
                        self._checkpoints.add(checkpoint)
                        yield from [self._saved_tensor("checkpoint input", held, op) for held in inputs]
            except RuntimeError:  # freed by a backward pass, or written over since
                continue

    def _param_of(self, tensor: Tensor, key: int | None, op: int) -> str:
        """The parameter that a saved tensor is, or is a view of."""
        found = "" if key is None else self._param_keys.get(key, "")
        if found or has_data(tensor) or op < 0:
            return found
        # Under FakeTensorMode a real parameter has a fake twin: told by its size.
        own = [self._params_used[-p - 1] for p in self._parents_of[op] if p < 0]
        return next((name for name, param in own if param.numel() == tensor.numel()), "")

    def _saved_tensor(self, name: str, tensor: Tensor, op: int) -> SavedTensor:
        key = storage_key(tensor)
        self._num_saved += 1
        return SavedTensor(
            name=name,
            shape=tuple(shape_of(tensor)),
            dtype=tensor.dtype,
            num_bytes=num_bytes(tensor),
            param=self._param_of(tensor, key, op),
            memory=self._memories.setdefault(-self._num_saved if key is None else key, len(self._memories)),
            # What came in from outside, perhaps a slice of a data set, is not there for this pass.
            memory_bytes=num_bytes(tensor)
            if key is None or key in self._outside
            else tensor.untyped_storage().nbytes(),
        )


_CODES = frozenset(
    id(code)
    for code in (
        inspect.unwrap(torch.utils.checkpoint.checkpoint).__code__,
        torch.utils.checkpoint.CheckpointFunction.forward.__code__,
    )
)


def is_checkpointed(record: Record) -> bool:
    return _passes(record.site) or any(_passes(scope.site) for scope in record.scope.chain())


def checkpointed_ops(tape: Tape) -> frozenset[int]:
    scopes = {id(record.scope): record.scope for record in tape.records}
    inside = {key: any(_passes(one.site) for one in scope.chain()) for key, scope in scopes.items()}
    return frozenset(
        op for op, record in enumerate(tape.records) if inside[id(record.scope)] or _passes(record.site)
    )


def _passes(site: Site) -> bool:
    return len(site) > 2 and any(id(code) in _CODES for code in site[::2])


def inputs_held(unpack_hook: Any) -> tuple[int, list[Tensor]]:
    """Which checkpoint a saved variable belongs to, and the inputs that it holds to compute again from.

    These are torch's own private matters: where they look otherwise, nothing is said to be held.
    """
    for cell in getattr(unpack_hook, "__closure__", None) or ():
        try:
            frame = cell.cell_contents
        except ValueError:
            continue
        if type(frame).__name__ == "_CheckpointFrame":
            saved = [getattr(one, "data", one) for one in getattr(frame, "saved_args", None) or ()]
            return id(frame), [tensor for _, tensor in tensors_in(saved)]
    return 0, []
