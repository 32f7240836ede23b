"""What goes in and what comes out: nested, named, missing, repeated, or no tensor at all."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from tests.capture.models.inplace import matrix, vector
from tests.capture.models.registry import small

Pair = namedtuple("Pair", "left right")


@dataclass
class Batch:
    """An input with tensors in two depths."""

    image: Tensor
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass
class Result:
    """An output of the same kind."""

    logits: Tensor
    states: list[Any]


@small(
    lambda: [vector(), vector()],
    "input_1, input_2 -> add_1 -> output_1",
)
class TwoArguments(nn.Module):
    """A list of arguments."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b


@small(
    lambda: [[vector(), (vector(), {"deep": vector()})]],
    """
    input_1, input_2 -> add_1
    add_1, input_3 -> mul_1 -> output_1
    """,
)
class NestedInput(nn.Module):
    """One argument that holds a list, a tuple and a dict."""

    def forward(self, nest: list[Any]) -> Tensor:
        first, (second, rest) = nest
        return (first + second) * rest["deep"]


@small(
    lambda: {"b": vector(), "a": vector()},
    "input_2, input_1 -> sub_1 -> output_1",
)
class InputByName(nn.Module):
    """A dict of arguments by name, not in the order of the signature."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a - b


@small(
    lambda: {"x": vector(), "y": vector()},
    "input_1, input_2 -> sub_1 -> output_1",
)
class DictInput(nn.Module):
    """A dict that is itself the one argument."""

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return batch["x"] - batch["y"]


@small(
    vector,
    "input_1, input_2 -> mul_1 -> output_1",
    kwargs=lambda: {"scale": vector()},
)
class KeywordOnly(nn.Module):
    """A positional argument, one by keyword, and one that is left at its default."""

    def forward(self, x: Tensor, *, scale: Tensor, mask: Tensor | None = None) -> Tensor:
        return x * scale if mask is None else x * scale * mask


@small(
    lambda: [vector(), vector(), vector()],
    """
    input_1, input_2, input_3 -> stack_1 -> sum_1 -> output_1
    """,
)
class AnyNumberOfArguments(nn.Module):
    """`*args`."""

    def forward(self, *tensors: Tensor) -> Tensor:
        return torch.stack(tensors).sum(0)


@small(
    lambda: Batch(image=vector(), extras={"masks": (vector(), vector())}),
    """
    input_1, input_2 -> mul_1 -> output_1
    input_1 -> output_2
    input_3 -> sin_1 -> output_3
    """,
)
class Dataclasses(nn.Module):
    """A dataclass goes in and another comes out; one input goes straight to the output."""

    def forward(self, batch: Batch) -> Result:
        first, second = batch.extras["masks"]
        return Result(logits=batch.image * first, states=[batch.image, {"sine": second.sin()}])


@small(
    lambda: [Pair(vector(), vector())],
    """
    input_1, input_2 -> add_1 -> output_1
    input_1, input_2 -> sub_1 -> output_2
    """,
)
class NamedTuples(nn.Module):
    """A named tuple goes in, and one comes out."""

    def forward(self, pair: Pair) -> Pair:
        return Pair(left=pair.left + pair.right, right=pair.left - pair.right)


@small(
    lambda: [SimpleNamespace(x=vector(), size=3)],
    "input_1 -> sin_1 -> output_1",
)
class ObjectInput(nn.Module):
    """Tensors that are attributes of some object."""

    def forward(self, holder: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(y=holder.x.sin(), size=holder.size)


@small(
    vector,
    """
    input_1 -> sin_1 -> output_1
    input_1 -> cos_1 -> output_2
    """,
)
class DictOutput(nn.Module):
    """A dict comes out, with a number and None among its values."""

    def forward(self, x: Tensor) -> OrderedDict[str, Any]:
        return OrderedDict(sine=x.sin(), nothing=None, size=3, cosine=x.cos())


@small(
    vector,
    """
    input_1 -> add_1 -> output_1, output_2
    """,
)
class SameOutputTwice(nn.Module):
    """One tensor is returned in two places."""

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        y = x + 1
        return y, [y]


@small(
    vector,
    """
    input_1 -> mul_1 -> output_1
    input_1 -> cat_1 -> output_2
    """,
)
class SameArgumentTwice(nn.Module):
    """One tensor stands in two places of a call: one line in the drawing."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * x, torch.cat([x, x])


def _same_twice() -> list[Tensor]:
    x = vector()
    return [x, x]


@small(_same_twice, "input_1 -> sub_1 -> output_1", exempt={"sub_1": "one constant"})
class SameInputTwice(nn.Module):
    """The caller gives one tensor for two arguments."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a - b


@small(vector, "input_1 -> identity_1 -> output_1")
class ReturnsItsInput(nn.Module):
    """Nothing happens."""

    def forward(self, x: Tensor) -> Tensor:
        return x


@small(lambda: None, "rand_1, arange_1 -> add_1 -> output_1")
class NoInput(nn.Module):
    """A model that takes nothing."""

    def forward(self) -> Tensor:
        return torch.rand(3) + torch.arange(3)


@small(
    lambda: [vector(), vector()],
    """
    input_1 -> sin_1 -> output_1
    input_2
    """,
)
class UnusedInput(nn.Module):
    """An input that nothing reads."""

    def forward(self, x: Tensor, ignored: Tensor) -> Tensor:
        return x.sin()


@small(
    lambda: [vector(), 2.5, "sum"],
    "input_1 -> mul_1 -> sum_1 -> output_1",
)
class NumbersAndStrings(nn.Module):
    """Arguments that are no tensors."""

    def forward(self, x: Tensor, factor: float, how: str) -> Tensor:
        return getattr(x * factor, how)()


@small(vector, "input_1 -> sum_1")
class ReturnsANumber(nn.Module):
    """A model whose result is no tensor."""

    def forward(self, x: Tensor) -> float:
        return x.sum().item()


@small(
    matrix,
    """
    input_1 -> unbind_1, unbind_2, unbind_3
    unbind_1 -> mul_1:1 -> output_1
    unbind_2 -> mul_1:2 -> output_2
    unbind_3 -> mul_1:3 -> output_3
    """,
)
class ListOfRows(nn.Module):
    """Python iterates over a tensor: the same op on each row, and nothing feeds back."""

    def forward(self, x: Tensor) -> list[Tensor]:
        return [row * 2 for row in x]
