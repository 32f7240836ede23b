"""Functions as transforms: their words, and what they may give."""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.features.transforms import Function, begin_all


def scaled(values: Tensor, by: float = 1.0) -> Tensor:
    return values * by


class Shifter:
    def __call__(self, values: Tensor) -> Tensor:
        return values + 1

    def twice(self, values: Tensor) -> Tensor:
        return values + 2


def words(function: Callable[..., Any]) -> str:
    return Function(function).words


def test_words_name_the_function() -> None:
    room = "tests.features.transforms.test_functions"
    assert words(scaled) == f"function {room}.scaled"
    assert words(functools.partial(scaled, by=2)) == f"function partial({room}.scaled)"
    assert words(Shifter().twice) == f"function {room}.Shifter.twice"
    assert words(Shifter()) == f"function {room}.Shifter"
    assert words(nn.ReLU()) == "module torch.nn.modules.activation.ReLU"
    assert words(torch.abs) == "function torch.abs"
    assert words(lambda values: values).endswith("<lambda>")
    assert Function(torch.abs, words="sizes").words == "function sizes"


def test_a_spawned_process_gives_the_functions_of_a_script_the_same_words() -> None:
    function = FunctionType(scaled.__code__, {}, "scaled")
    function.__module__ = "__mp_main__"
    assert words(function) == "function __main__.scaled"


def run(function: Callable[[Tensor], Any], values: Tensor) -> Tensor:
    begun = Function(function, words="mine").begin("conv", tuple(values.shape[1:]), values.dtype, ("unit",))
    return begun(values)


def test_a_function_is_applied_without_gradients() -> None:
    weight = torch.ones(3, requires_grad=True)
    result = run(lambda values: values * weight * 2, torch.ones(4, 3))
    assert torch.equal(result, torch.full((4, 3), 2.0))
    assert not result.requires_grad


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda values: values.numpy(), r"gave a ndarray.*torch.from_numpy"),
        (lambda values: None, r"gave a NoneType"),
        (lambda values: values.sum(), r"gave \(\).*must stay 4"),
        (lambda values: values.T, r"gave \(3, 4\).*must stay 4"),
    ],
)
def test_a_result_that_cannot_be_kept_is_refused(function: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"function mine of layer 'conv'.*{message}"):
        run(function, torch.ones(4, 3))


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(InputError, match="takes a function"):
        Function(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "dims"),
    [
        (torch.abs, ("channel", "y", "x")),
        (lambda values: values.flatten(1), ("unit",)),
        (lambda values: values[:, :1], ("dim_1", "dim_2", "dim_3")),
    ],
)
def test_dims_keep_their_names_where_the_shape_stays(
    function: Callable[[Tensor], Tensor], dims: tuple[str, ...]
) -> None:
    chain = begin_all([Function(function)], "conv", (2, 3, 3), torch.float32, ("channel", "y", "x"))
    assert chain.dims == dims


def test_what_a_function_raises_goes_through_and_says_where_it_was() -> None:
    def fails(values: Tensor) -> Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        begin_all([Function(fails, words="bad")], "conv", (2,), torch.float32, ("unit",))
    assert caught.value.__notes__ == ["in the transform 'function bad' of layer 'conv'"]
