"""The values that an expression is made of, as they came about: leaves, ops, and ops inside of ops.

An op that wants a gradient has a node of the engine. What wants none has no node there, but a student wants
to see it all the same: it is known here by the tensor itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd import Node, as_plain, newest_first
from torcheer.learn.lesson_document import Cells, NodeKind


@dataclass(slots=True, eq=False)
class Value:
    """One of them. Filled in while an expression is read: a name may come after the value."""

    tensor: Tensor  # an ordinary one
    kind: NodeKind
    node: Node | None = None
    operands: list[Value] = field(default_factory=list)
    rule: str = ""
    text: str = ""
    name: str = ""
    is_named: bool = False
    line: int = 0
    layer: str = ""
    keeps: Any = None  # the tensor that it is known by, which must live as long as its id is used

    @property
    def can_start(self) -> bool:
        """Whether the way back can begin here."""
        return self.node is not None and self.tensor.numel() == 1


class Values:
    """All of them. What is added twice is known from the first time."""

    def __init__(self, layers: Mapping[int, str] | None = None) -> None:
        self.all: list[Value] = []
        self._layers = layers or {}  # the addresses of modules, by identity
        self._by_node: dict[Node, Value] = {}
        self._by_id: dict[int, Value] = {}
        self._by_memory: dict[tuple[int, int], Value] = {}

    def of(self, tensor: Any) -> Value | None:
        node = getattr(tensor, "_node", None)
        return self._by_id.get(id(tensor)) if node is None else self._by_node.get(node)

    def of_node(self, node: Node) -> Value:
        return self._by_node[node]

    def add_leaf(self, tensor: Any, kind: NodeKind, text: str, line: int) -> Value:
        node = getattr(tensor, "_node", None)
        return self._add(Value(plain(tensor), kind, node, text=text, line=line, keeps=tensor))

    def add_result(self, tensor: Any, operands: Sequence[Any], rule: str, text: str, line: int) -> Value:
        """What an op has made, and whatever ops were done inside of it."""
        known = self.of(tensor)
        if known is not None:
            return known
        node = getattr(tensor, "_node", None)
        if node is None:
            of = [found for found in map(self.of, operands) if found is not None]
            return self._add(
                Value(plain(tensor), "op", operands=of, rule=rule, text=text, line=line, keeps=tensor)
            )
        for one in new_nodes(node, self._by_node):
            self.add_node(one, line).text = text if one is node else ""
        return self._by_node[node]

    def add_node(self, node: Node, line: int = 0) -> Value:
        """An op that the engine remembers; its inputs are here already, or want no gradient."""
        operands = []
        for given, parent in zip(node.inputs, node.parents, strict=True):
            if parent is not None:
                operands.append(self._by_node[parent])
            elif isinstance(given, Tensor):
                operands.append(self._constant(given, line))
        kind: NodeKind = "op" if node.rule is not None else "parameter"
        rule = "" if node.rule is None else node.rule.name
        # The address of the layer that the op happened in, or what it is.
        around = getattr(node.layer, "layer", node.layer)
        layer = "" if around is None else self._layers.get(id(around)) or type(around).__name__
        return self._add(Value(plain(node.value), kind, node, operands, rule, line=line, layer=layer))

    def name(self, tensor: Any, name: str) -> None:
        """Call it so, unless it has a name already: `b = a` makes nothing new."""
        value = self.of(tensor)
        if value is not None and not value.is_named:
            value.name, value.is_named = name, True

    def settle(self) -> list[Value]:
        """All of them, each with a name of its own, and a text."""
        taken: set[str] = set()
        counts: Counter[str] = Counter()
        for value in self.all:
            if value.is_named:  # the name, or the first of name_2, name_3, … that nobody has
                number, name = 1, value.name
                while value.name in taken:
                    number += 1
                    value.name = f"{name}_{number}"
                taken.add(value.name)
        for value in self.all:
            if not value.is_named:
                stem = value.rule or ("param" if value.kind == "parameter" else value.kind)
                counts[stem] += 1
                while f"{stem}_{counts[stem]}" in taken:
                    counts[stem] += 1
                value.name = f"{stem}_{counts[stem]}"
        for value in self.all:
            value.text = value.text or written(value)
        return self.all

    def _add(self, value: Value) -> Value:
        self.all.append(value)
        if value.node is not None:
            self._by_node[value.node] = value
        else:
            self._by_id[id(value.keeps)] = value
            self._by_memory.setdefault((value.tensor.data_ptr(), value.tensor.numel()), value)
        return value

    def _constant(self, tensor: Tensor, line: int) -> Value:
        """An input that wants no gradient: known, the same numbers in another form, or new."""
        known = self._by_id.get(id(tensor))
        if known is not None:
            return known
        same = self._by_memory.get((tensor.data_ptr(), tensor.numel())) if tensor.numel() else None
        made = Value(plain(tensor), "constant", line=line, keeps=tensor)
        if same is not None and same.tensor.dtype == tensor.dtype:
            made.operands, made.rule, made.kind = [same], "reshape", "op"
        return self._add(made)


def plain(tensor: Tensor) -> Tensor:
    """The same numbers as an ordinary tensor."""
    with as_plain():
        return tensor.detach().as_subclass(Tensor)


def new_nodes(node: Node, known: Container[Node] = ()) -> list[Node]:
    """The nodes that lead to this one and are not known, oldest first."""
    return [one for one in reversed(newest_first([node])) if one not in known]


def written(value: Value) -> str:
    """An op as it could have been written."""
    if value.kind != "op":
        return value.name
    names = [operand.name for operand in value.operands]
    if value.node is not None:
        left, inputs = list(names), value.node.inputs
        names = [left.pop(0) if isinstance(one, Tensor) else f"{one}" for one in inputs if one is not None]
    return f"{value.rule}({', '.join(names)})"


MAX_SIDE: Final = 16


def cells_of(value: Tensor, side: int = MAX_SIDE) -> Cells:
    """The last dimension goes across, all others down."""
    with as_plain():
        value = value.detach().as_subclass(Tensor)
        if value.is_complex():
            value = value.real
        columns = value.shape[-1] if value.dim() else 1
        rows = value.numel() // columns if columns else 0
        shown = value.reshape(rows, columns)[:side, :side].cpu()
    return Cells(
        shape=tuple(value.shape),
        num_rows=shown.shape[0],
        num_columns=shown.shape[1],
        values=_numbers(shown),
        is_whole=shown.shape == (rows, columns),
    )


def _numbers(value: Tensor) -> tuple[float | str, ...]:
    if value.dtype == torch.float32:
        # The shortest that is the same number: 0.1, not 0.10000000149011612.
        return tuple(_number(float(str(one))) for one in value.numpy().reshape(-1))
    return tuple(_number(float(one)) for one in value.reshape(-1).tolist())


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value + 0.0  # -0.0 is 0.0
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        yield
    finally:
        torch.set_num_threads(before)
