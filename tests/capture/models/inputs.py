"""What goes in and what comes out: nested, named, missing, repeated, or no tensor at all."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

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


@small(lambda: [vector(), vector()], "input_1, input_2 -> add_1 -> output_1")
def two_arguments(self, a: Tensor, b: Tensor) -> Tensor:
    """A list of arguments."""
    return a + b


@small(lambda: [[vector(), (vector(), {"deep": vector()})]])
def nested_input(self, nest: list[Any]) -> Tensor:
    """One argument that holds a list, a tuple and a dict.

    input_1, input_2 -> add_1
    add_1, input_3 -> mul_1 -> output_1
    """
    first, (second, rest) = nest
    return (first + second) * rest["deep"]


@small(lambda: {"b": vector(), "a": vector()}, "input_2, input_1 -> sub_1 -> output_1")
def input_by_name(self, a: Tensor, b: Tensor) -> Tensor:
    """A dict of arguments by name, not in the order of the signature."""
    return a - b


@small(lambda: {"x": vector(), "y": vector()}, "input_1, input_2 -> sub_1 -> output_1")
def dict_input(self, batch: dict[str, Tensor]) -> Tensor:
    """A dict that is itself the one argument."""
    return batch["x"] - batch["y"]


@small(vector, "input_1, input_2 -> mul_1 -> output_1", kwargs=lambda: {"scale": vector()})
def keyword_only(self, x: Tensor, *, scale: Tensor, mask: Tensor | None = None) -> Tensor:
    """A positional argument, one by keyword, and one that is left at its default."""
    return x * scale if mask is None else x * scale * mask


@small(lambda: [vector(), vector(), vector()])
def any_number_of_arguments(self, *tensors: Tensor) -> Tensor:
    """`*args`.

    input_1, input_2, input_3 -> stack_1 -> sum_1 -> output_1
    """
    return torch.stack(tensors).sum(0)


@small(lambda: Batch(image=vector(), extras={"masks": (vector(), vector())}))
def dataclasses(self, batch: Batch) -> Result:
    """A dataclass goes in and another comes out; one input goes straight to the output.

    input_1, input_2 -> mul_1 -> output_1
    input_1 -> output_2
    input_3 -> sin_1 -> output_3
    """
    first, second = batch.extras["masks"]
    return Result(logits=batch.image * first, states=[batch.image, {"sine": second.sin()}])


@small(lambda: [Pair(vector(), vector())])
def named_tuples(self, pair: Pair) -> Pair:
    """A named tuple goes in, and one comes out.

    input_1, input_2 -> add_1 -> output_1
    input_1, input_2 -> sub_1 -> output_2
    """
    return Pair(left=pair.left + pair.right, right=pair.left - pair.right)


@small(lambda: [SimpleNamespace(x=vector(), size=3)], "input_1 -> sin_1 -> output_1")
def object_input(self, holder: SimpleNamespace) -> SimpleNamespace:
    """Tensors that are attributes of some object."""
    return SimpleNamespace(y=holder.x.sin(), size=holder.size)


@small(vector)
def dict_output(self, x: Tensor) -> OrderedDict[str, Any]:
    """A dict comes out, with a number and None among its values.

    input_1 -> sin_1 -> output_1
    input_1 -> cos_1 -> output_2
    """
    return OrderedDict(sine=x.sin(), nothing=None, size=3, cosine=x.cos())


@small(vector)
def same_output_twice(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    """One tensor is returned in two places.

    input_1 -> add_1 -> output_1, output_2
    """
    y = x + 1
    return y, [y]


@small(vector)
def same_argument_twice(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """One tensor stands in two places of a call: one line in the drawing.

    input_1 -> mul_1 -> output_1
    input_1 -> cat_1 -> output_2
    """
    return x * x, torch.cat([x, x])


def _same_twice() -> list[Tensor]:
    x = vector()
    return [x, x]


@small(_same_twice, "input_1 -> sub_1 -> output_1", exempt={"sub_1": "one constant"})
def same_input_twice(self, a: Tensor, b: Tensor) -> Tensor:
    """The caller gives one tensor for two arguments."""
    return a - b


@small(vector, "input_1 -> identity_1 -> output_1")
def returns_its_input(self, x: Tensor) -> Tensor:
    """Nothing happens."""
    return x


@small(lambda: None, "rand_1, arange_1 -> add_1 -> output_1")
def no_input(self) -> Tensor:
    """A model that takes nothing."""
    return torch.rand(3) + torch.arange(3)


@small(lambda: [vector(), vector()])
def unused_input(self, x: Tensor, ignored: Tensor) -> Tensor:
    """An input that nothing reads.

    input_1 -> sin_1 -> output_1
    input_2
    """
    return x.sin()


@small(lambda: [vector(), 2.5, "sum"], "input_1 -> mul_1 -> sum_1 -> output_1")
def numbers_and_strings(self, x: Tensor, factor: float, how: str) -> Tensor:
    """Arguments that are no tensors."""
    return getattr(x * factor, how)()


@small(vector, "input_1 -> sum_1")
def returns_a_number(self, x: Tensor) -> float:
    """A model whose result is no tensor."""
    return x.sum().item()


@small(matrix)
def list_of_rows(self, x: Tensor) -> list[Tensor]:
    """Python iterates over a tensor: the same op on each row, and nothing feeds back.

    input_1 -> unbind_1, unbind_2, unbind_3
    unbind_1 -> mul_1:1 -> output_1
    unbind_2 -> mul_1:2 -> output_2
    unbind_3 -> mul_1:3 -> output_3
    """
    return [row * 2 for row in x]
