"""Memory that several tensors share: copy what was kept before it is written over.

Values are kept by reference. Before an op writes into a tensor, every kept value on the same
memory is replaced by a copy of its own, and every other live tensor on it is marked stale, so
that its next use shows what was written. Nothing is looked up until the first write of a pass.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from torcheer.capture.memory import (
    Geometry,
    byte_range,
    geometry_of,
    overlap,
    private_copy,
    storage_key,
    version_of,
)

if TYPE_CHECKING:
    from torcheer.capture.tape import Tape


class Write(NamedTuple):
    """An op that wrote, and where."""

    op: int
    geometry: Geometry


class Lying(NamedTuple):
    """An op whose tensor lies on a storage, and the bytes that it spans."""

    op: int
    first: int
    last: int


class SharedMemory:
    """Who lies on which storage, and which of them was written through another."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._by_storage: dict[int, list[Lying]] = {}
        self._num_ops_seen = 0
        self._num_params_seen = 0
        self._exposed: set[int] = set()
        self._by_grad_fn: dict[object, int] = {}
        self._num_graph_seen = 0
        self._versions: dict[int | None, set[int]] = {}
        self.stale: dict[int, list[Write]] = {}

    def live(self, index: int) -> Tensor | None:
        """The tensor that an op made, if the model still has it."""
        tape = self._tape
        if index < 0:
            return tape.params[-index - 1][1]
        ref = tape.refs.get(index)
        tensor = None if ref is None else ref()
        if tensor is None and index not in tape.private:
            tensor = tape.values[index]
        return tensor

    def before_write(self, target: Tensor, *, may_grow: bool = False) -> list[int]:
        """Copy what is kept on the target's memory; returns the other ops whose tensors change with it."""
        key = storage_key(target)
        if key is None:
            return self._before_write_alone(target)
        copies: dict[int, Tensor] = {}
        stay: list[Lying] = []
        changed: list[int] = []
        first, last = byte_range(target)
        for lying in self._on_storage(key):
            index = lying.op
            if may_grow:
                self._protect(index, copies)  # `out=` may make its target larger, over its neighbours
            if lying.last < first or last < lying.first:
                stay.append(lying)
                continue
            tensor = self.live(index)
            if tensor is not None and tensor is not target:
                stay.append(lying)
                if not overlap(tensor, target):
                    continue
                changed.append(index)
            self._protect(index, copies)
        self._by_storage[key] = stay
        return changed

    def lying_under(self, target: Tensor, but: int) -> list[int]:
        """Ops whose tensors a target lies on that has just grown."""
        key = storage_key(target)
        found = [] if key is None else [lying.op for lying in self._on_storage(key) if lying.op != but]
        live = [(op, self.live(op)) for op in found]
        return [
            op
            for op, tensor in live
            if tensor is not None and tensor is not target and overlap(tensor, target)
        ]

    def before_side_write(self, target: Tensor, op: int) -> list[int]:
        """The same for a write that makes no node of its own: the target's next use shows it."""
        changed = [*self.before_write(target), op]
        key = storage_key(target)
        if key is not None:
            self._by_storage[key].append(Lying(op, *byte_range(target)))
        return changed

    def note_version(self, tensor: Tensor) -> None:
        """This state of a tensor's memory is one that we know of."""
        version = version_of(tensor)
        if version:
            self._versions.setdefault(storage_key(tensor), set()).add(version)

    def surprises(self) -> list[int]:
        """Ops whose kept value was written since by something that nobody saw."""
        found: list[int] = []
        for index, value in enumerate(self._tape.values):
            if value is not None and index not in self._tape.private:
                version = version_of(value)
                if version and version not in self._versions.get(storage_key(value), ()):
                    found.append(index)
        return found

    def after_write(self, changed: list[int], write: int, target: Tensor) -> None:
        self.note_version(target)
        for index in changed:
            self.stale.setdefault(index, []).append(Write(write, geometry_of(target)))

    def expose(self, tensor: Tensor) -> None:
        """Somebody outside torch may write into this memory from now on."""
        key = storage_key(tensor)
        if key is None:
            return
        copies: dict[int, Tensor] = {}
        for lying in self._on_storage(key):
            self._protect(lying.op, copies)
        self._exposed.add(key)

    @property
    def anything_exposed(self) -> bool:
        return bool(self._exposed)

    def is_exposed(self, tensor: Tensor) -> bool:
        if self._tape.copy_all:
            return True
        return bool(self._exposed) and storage_key(tensor) in self._exposed

    def was_changed_outside(self, index: int, tensor: Tensor) -> bool:
        if index < 0 or not self.is_exposed(tensor):
            return False
        value = self._tape.values[index]
        return value is not None and not value.equal(tensor)

    def find_alias(self, tensor: Tensor) -> int | None:
        """The newest op, or a parameter, whose tensor lies on the same memory."""
        key = storage_key(tensor)
        if key is None or not tensor.numel():
            return None
        newest: int | None = None
        for index, _, _ in self._on_storage(key):
            known = self.live(index)
            if known is not None and (known is tensor or overlap(known, tensor)):
                newest = index
        return newest

    def add_twin(self, index: int, tensor: Tensor) -> None:
        """Another tensor object that shows just what this op made: from now on it stands for it."""
        if self._tape.values[index] is not tensor:
            self._tape.refs[index] = weakref.ref(tensor)

    def parents_by_graph(self, tensor: Tensor) -> tuple[int, ...]:
        """The recorded ops from which autograd's own graph reaches a tensor that nobody saw being made."""
        self._read_graph()
        found: list[int] = []
        queue = [tensor.grad_fn]
        seen: set[object] = set()
        while queue and len(seen) < 1000:
            node = queue.pop(0)
            if node is None or node in seen:
                continue
            seen.add(node)
            index = self._by_grad_fn.get(node)
            leaf = getattr(node, "variable", None)
            if index is None and leaf is not None:
                index = self._tape.owner.get(id(leaf))
            if index is not None:
                found.append(index)
            else:
                queue.extend(following for following, _ in node.next_functions)
        return tuple(dict.fromkeys(found))

    def _read_graph(self) -> None:
        for index in range(self._num_graph_seen, len(self._tape.records)):
            tensor = self.live(index)
            if tensor is not None and tensor.grad_fn is not None:
                self._by_grad_fn[tensor.grad_fn] = index
        self._num_graph_seen = len(self._tape.records)

    def _before_write_alone(self, target: Tensor) -> list[int]:
        index = self._tape.owner.get(id(target))
        if index is not None:
            self._protect(index, {})
        return []

    def _on_storage(self, key: int) -> list[Lying]:
        self._catch_up()
        return self._by_storage.get(key, [])

    def _protect(self, index: int, copies: dict[int, Tensor]) -> None:
        tape = self._tape
        value = tape.params[-index - 1][1] if index < 0 else tape.values[index]
        if value is None or index in tape.private or index in tape.param_values:
            return
        copy = copies.get(id(value))
        if copy is None:
            copy = copies[id(value)] = private_copy(value)
        if index < 0:
            tape.param_values[index] = copy
        else:
            tape.privatise(index, copy)

    def _catch_up(self) -> None:
        for index in range(self._num_ops_seen, len(self._tape.records)):
            self._lay(index, self.live(index))
        self._num_ops_seen = len(self._tape.records)
        for position in range(self._num_params_seen, len(self._tape.params)):
            self._lay(-position - 1, self._tape.params[position][1])
        self._num_params_seen = len(self._tape.params)

    def _lay(self, index: int, tensor: Tensor | None) -> None:
        key = None if tensor is None else storage_key(tensor)
        if key is not None and tensor is not None:
            self._by_storage.setdefault(key, []).append(Lying(index, *byte_range(tensor)))
