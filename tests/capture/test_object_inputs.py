"""Tensors inside of an object that a model takes are inputs, named by the way to them."""

from __future__ import annotations

from collections import UserDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import attrs
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests import vision  # noqa: F401  (before transformers)
from tests.capture.models.registry import module_with


class Both(NamedTuple):
    x: Tensor
    y: Tensor


@dataclass
class Data:
    x: Tensor
    y: Tensor


@dataclass(frozen=True, slots=True)
class FrozenData:
    x: Tensor
    y: Tensor


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Tensor) -> None:
        self.x = x


class MoreSlots(Slotted):
    __slots__ = ("y",)

    def __init__(self, x: Tensor, y: Tensor) -> None:
        super().__init__(x)
        self.y = y


@attrs.define
class Defined:
    x: Tensor
    y: Tensor


@attrs.frozen
class FrozenDefined:
    x: Tensor
    y: Tensor


class CanBeCalled:
    """An object that can be called is an object all the same."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __call__(self) -> None:
        raise AssertionError


class Storing:
    """Keeps what it gives in a place of its own."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self._store = {"x": x, "y": y}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._store[name]


class Nesting:
    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.pair, self.named, self.row = Both(x, y), UserDict(z=torch.ones(3)), deque([torch.ones(3)])

    x = property(lambda self: self.pair.x)
    y = property(lambda self: self.pair.y + self.named["z"] + self.row[0])


class Adds(nn.Module):
    def __init__(self, add: Callable[[Any], Tensor]) -> None:
        super().__init__()
        self.add, self.linear = add, nn.Linear(3, 3)

    def forward(self, data: Any) -> Tensor:
        return self.linear(self.add(data)).relu()


def captured(add: Callable[[Any], Tensor], data: Any) -> tl.ModelHistory:
    """The pass, after all that runs the model a second time has been tried on it."""
    model = Adds(add)
    history = tl.log_forward_pass(model, (data,))
    report = history.validate()
    assert report, str(report)
    assert not [op for op in history if op.layer_type == "source"]
    tl.NetView(model, (data,)).close()
    edited = tl.log_forward_pass(model, (data,), edit={"input_1": torch.zeros_like, "relu_1": torch.neg})
    assert (edited.output <= 0).all()
    return history


def names(history: tl.ModelHistory) -> list[str | None]:
    return [op.input_output_address for op in history if op.is_input_layer]


@pytest.mark.parametrize(
    "kind",
    [Both, Data, FrozenData, MoreSlots, Defined, FrozenDefined, CanBeCalled, Storing],
    ids=lambda k: k.__name__,
)
def test_what_an_object_holds_is_an_input(kind: Callable[..., Any]) -> None:
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    data = kind(x, y)

    history = captured(lambda data: data.x + 2 * data.y, data)

    assert names(history) == ["data.x", "data.y"]
    assert history["input_1"].tensor_contents is x
    assert data.x is x  # nobody took it away


def test_objects_in_objects_and_containers_of_all_kinds_are_opened() -> None:
    x, y = torch.randn(2, 3), torch.randn(2, 3)

    deep = captured(lambda data: data.x + data.y, Nesting(x, y))
    inner = captured(lambda data: data["a"][0].x + data["a"][0].y, {"a": [MoreSlots(x, y)]})

    assert names(deep) == ["data.pair.x", "data.pair.y", "data.named.z", "data.row.0"]
    assert names(inner) == ["data.a.0.x", "data.a.0.y"]


def test_the_output_of_a_transformer_is_an_input() -> None:
    from transformers.modeling_outputs import BaseModelOutput

    x = torch.randn(2, 3)
    data = BaseModelOutput(last_hidden_state=x, hidden_states=(x * 2,))

    history = captured(lambda data: data.last_hidden_state + data.hidden_states[0], data)

    assert names(history) == ["data.last_hidden_state", "data.hidden_states.0"]


def test_a_graph_of_torch_geometric_is_an_input_by_its_own_names() -> None:
    from torch_geometric.data import Batch, Data, HeteroData
    from torch_geometric.nn import GCNConv

    @module_with(lambda: {"first": GCNConv(3, 4), "second": GCNConv(4, 2)})
    def graphs(self, data: Any) -> Tensor:
        x = self.first(data.x, data.edge_index).relu()
        return self.second(x, data.edge_index)

    model = graphs()
    graph = Data(x=torch.randn(4, 3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    expected = model(graph)

    history = tl.log_forward_pass(model, graph)

    assert names(history) == ["data.x", "data.edge_index"]
    assert torch.equal(history.output, expected)
    report = history.validate()
    assert report, str(report)
    assert len(tl.summary(model, graph).rows) > 3
    tl.NetView(model, graph).close()
    edited = tl.log_forward_pass(model, graph, edit={"relu_1": torch.zeros_like})
    assert not torch.equal(edited.output, expected)
    several = tl.log_forward_pass(model, Batch.from_data_list([graph, graph]))
    assert names(several)[:2] == ["data.x", "data.edge_index"]

    mixed = HeteroData()
    mixed["paper"].x = torch.randn(2, 3)
    mixed["paper", "cites", "paper"].edge_index = torch.zeros(2, 3, dtype=torch.long)
    history = captured(lambda d: d["paper"].x + d["paper", "cites", "paper"].edge_index.sum(), mixed)
    assert names(history) == ["data.paper.x", "data.paper.cites.paper.edge_index"]
