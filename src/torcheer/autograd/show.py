"""Print the way that gradients go: each op, or each layer of nn as one, in the order of the walk back.

What went through one after the other, as in most models, is a plain list. Elsewhere each line has a number,
says which lines its gradients come from if they meet there, and where they go.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Final

from torch import Tensor

from torcheer.autograd.capitalised_names import capitalised
from torcheer.autograd.engine import Node, newest_first

SIGN: Final = "↘︎"
_NAMES: Final = {"reshape": "View", "relu": "ReLU", "matmul": "MatMul"}  # where capitals alone do not do
_CONVOLUTIONS: Final = ("conv2d", "conv_transpose2d")


class Line:
    """What is printed as one: the ops of a layer's call, or a single op, or a tensor where gradients end."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer  # the layer of nn; None outside of one
        self.nodes: list[Node] = []  # newest first
        self.sources: list[Line] = []  # where its gradients come from
        self.targets: list[Line] = []  # where they go

    @property
    def is_leaf(self) -> bool:
        return self.nodes[0].rule is None

    def text(self) -> str:
        if self.is_leaf:
            return f"Leaf {_shape(self.nodes[0].value)}"
        title = _op(self.nodes[0]) if self.layer is None else repr(self.layer)
        return title + self._gradient_shapes()

    def _gradient_shapes(self) -> str:
        """Of a convolution, from the gradient of its output to that of its input."""
        if not any(node.rule is not None and node.rule.name in _CONVOLUTIONS for node in self.nodes):
            return ""
        entrance = self._entrance()
        if entrance is None:
            return ""
        output = self.nodes[0].value
        is_row = len(entrance.shape) > len(output.shape)  # a sequence, which is a picture of one row inside
        return f"   GRAD:{_shape(output)} -> {_shape(entrance.squeeze(-2) if is_row else entrance)}"

    def _entrance(self) -> Tensor | None:
        """The tensor that came in from outside: a first input that is no parameter, and was not made here."""
        own = {id(node) for node in self.nodes} | _parameter_nodes(self.layer)
        for node in reversed(self.nodes):
            first = node.inputs[0] if node.inputs else None
            if isinstance(first, Tensor) and id(getattr(first, "_node", None)) not in own:
                return first
        return None


def print_way_back(seeds: Iterable[Node]) -> None:
    """Before the walk: what it will pass, from the structure of the graph alone."""
    print("BackProp:")  # noqa: T201
    for line in described(lines_of(seeds)):
        print(line)  # noqa: T201


def lines_of(seeds: Iterable[Node]) -> list[Line]:
    """The graph with each layer's call as one. Parameters of layers belong to them, and are left out."""
    nodes = newest_first(seeds)
    calls = {id(node.layer): node.layer for node in nodes if node.rule is not None}
    hidden = set().union(*(_parameter_nodes(getattr(call, "layer", None)) for call in calls.values()))
    lines: dict[Any, Line] = {}
    home: dict[Node, Line] = {}
    for node in nodes:
        if id(node) in hidden:
            continue
        key = node if node.rule is None or node.layer is None else node.layer
        if key not in lines:
            lines[key] = Line(None if key is node else getattr(node.layer, "layer", node.layer))
        home[node] = lines[key]
        home[node].nodes.append(node)
    for node, line in home.items():
        for parent in node.parents:
            target = None if parent is None else home.get(parent)
            if target is not None and target is not line and target not in line.targets:
                line.targets.append(target)
                target.sources.append(line)
    return list(lines.values())


def described(lines: list[Line]) -> list[str]:
    return _as_chain(lines) or _as_graph(lines)


def _as_chain(lines: list[Line]) -> list[str]:
    """One after the other, down to the input; empty if there is more than one way."""
    for line, following in itertools.pairwise(lines):
        if line.targets != [following] or len(following.sources) != 1:
            return []
    ops = [line for line in lines if not line.is_leaf]
    return [f"{SIGN} {line.text()}" for line in ops] + [f"{SIGN} Input"]


def _as_graph(lines: list[Line]) -> list[str]:
    numbers = {id(line): number for number, line in enumerate(lines, 1)}
    width = len(str(len(lines)))
    titles = [f"{numbers[id(line)]:>{width}} {SIGN} {line.text()}" for line in lines]
    column = max(len(title) for title in titles) + 2
    return [
        f"{title:<{column}} {_ways(line, numbers)}".rstrip()
        for title, line in zip(titles, lines, strict=True)
    ]


def _ways(line: Line, numbers: dict[int, int]) -> str:
    """`2 + 4 meet -> 7`: gradients from lines 2 and 4 are added, and go on to line 7."""
    sources = sorted(numbers[id(one)] for one in line.sources)
    targets = sorted(numbers[id(one)] for one in line.targets)
    meeting = f"{' + '.join(map(str, sources))} meet " if len(sources) > 1 else ""
    if line.is_leaf:
        return meeting
    return f"{meeting}-> {', '.join(map(str, targets)) or 'Input'}"


def _parameter_nodes(layer: Any) -> set[int]:
    if layer is None or not hasattr(layer, "parameters"):
        return set()
    return {id(one._node) for one in layer.parameters() if one._node is not None}


def _op(node: Node) -> str:
    """An op outside of layers, as `View((3, -1))`: its name and the arguments that are no tensors."""
    assert node.rule is not None
    name = node.rule.name
    if name in _CONVOLUTIONS and len(node.inputs) > 1:
        weight = node.inputs[1]
        return f"Conv{'Transpose' if 'transpose' in name else ''}2d {_channels(name, weight, node.options)}"
    title = _NAMES.get(name) or capitalised(name)
    if name in ("index", "place"):
        return f"{title}([{_key(node.options['key'])}])"
    numbers = [repr(one) for one in node.inputs if not isinstance(one, Tensor) and one is not None]
    told = [(key, value) for key, value in node.options.items() if _is_worth_telling(value)]
    options = [repr(value) if place == 0 else f"{key}={value!r}" for place, (key, value) in enumerate(told)]
    return f"{title}({', '.join(numbers + options)})"


def _channels(name: str, weight: Tensor, options: Any) -> str:
    groups = options.get("groups", 1)
    first, second = weight.shape[0], weight.shape[1] * groups
    return f"{first} -> {second}" if "transpose" in name else f"{second} -> {first}"


def _key(key: Any) -> str:
    """As it is written between the brackets of an index."""
    parts = key if isinstance(key, tuple) else (key,)
    texts = []
    for part in parts:
        if isinstance(part, slice):
            ends = ["" if end is None else str(end) for end in (part.start, part.stop)]
            texts.append(":".join(ends) + ("" if part.step is None else f":{part.step}"))
        elif isinstance(part, Tensor):
            texts.append(f"{len(part)} places" if part.dim() else str(part.item()))
        else:
            texts.append("..." if part is ... else repr(part))
    return ", ".join(texts)


def _is_worth_telling(value: Any) -> bool:
    """Not what is as always, and not the numbers of a tensor."""
    if value is None or value is False or value == ():
        return False
    parts = value if isinstance(value, tuple) else (value,)
    return not any(isinstance(part, Tensor) for part in parts)


def _shape(value: Tensor) -> str:
    return f"torch.Size({list(value.shape)})"
