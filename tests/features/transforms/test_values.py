"""Cast, Flatten and Function: what they give, what they refuse, and their words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.features.transforms import CASTS, BegunChain, Cast, Function

WHOLE = ["int8", "int16", "int32", "int64", "uint8"]


def cast(to: Cast, values: Tensor) -> Tensor:
    return to.begin("conv", tuple(values.shape[1:]), values.dtype, ())(values)


@pytest.mark.parametrize("name", CASTS)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64", "uint8", "int64", "bool"])
def test_small_values_become_what_numpy_makes_of_them(name: str, source: str) -> None:
    values = torch.tensor([[0.0, 1.0, 3.0 if name in WHOLE else 2.75, 100.0]]).to(getattr(torch, source))
    result = cast(Cast(name), values).numpy()
    wanted = values.double().numpy().astype(name)
    assert result.dtype == wanted.dtype
    assert numpy.array_equal(result, wanted)


@given(st.lists(st.floats(width=64), min_size=1))
def test_float16_is_refused_or_saturated_just_where_it_would_overflow(numbers: list[float]) -> None:
    values = torch.tensor([numbers], dtype=torch.float64)
    with numpy.errstate(over="ignore"):
        plain = values.numpy().astype("float16")
    is_lost = numpy.isinf(plain) & numpy.isfinite(values.numpy())
    if is_lost.any():
        with pytest.raises(InputError, match=rf"{is_lost.sum()} of {len(numbers)} values are beyond ±65504"):
            cast(Cast("float16"), values)
    else:
        assert numpy.array_equal(cast(Cast("float16"), values).numpy(), plain, equal_nan=True)
    wanted = numpy.where(is_lost, numpy.copysign(65504, values.numpy()), plain)
    assert numpy.array_equal(cast(Cast("float16", saturate=True), values).numpy(), wanted, equal_nan=True)


@given(st.sampled_from(WHOLE), st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_whole_numbers_never_wrap_around(name: str, numbers: list[float]) -> None:
    values, limits = torch.tensor([numbers], dtype=torch.float64).trunc(), numpy.iinfo(name)
    exact = [int(number) for number in numbers]
    wanted = [min(max(number, limits.min), limits.max) for number in exact]
    assert cast(Cast(name, saturate=True), values).tolist() == [wanted]
    if exact == wanted:
        assert cast(Cast(name), values).tolist() == [wanted]
    else:
        with pytest.raises(InputError, match=f"outside {limits.min} to {limits.max}"):
            cast(Cast(name), values)


@given(st.sampled_from(WHOLE), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_wide_whole_numbers_become_narrow_ones(name: str, numbers: list[int]) -> None:
    values, limits = torch.tensor([numbers]), numpy.iinfo(name)
    wanted = [min(max(number, limits.min), limits.max) for number in numbers]
    assert cast(Cast(name, saturate=True), values).tolist() == [wanted]


def test_half_floats_become_whole_numbers() -> None:
    values = torch.tensor([[-128.0, 127.0, 60000.0]], dtype=torch.float16)
    assert cast(Cast("int64"), values).tolist() == [[-128, 127, 60000]]
    assert cast(Cast("int8", saturate=True), values).tolist() == [[-128, 127, 127]]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("saturate", [False, True])
def test_a_whole_number_takes_no_fraction(name: str, saturate: bool) -> None:
    with pytest.raises(InputError, match=r"1 of 2 values are fractions, the farthest ±2\.75"):
        cast(Cast(name, saturate=saturate), torch.tensor([[2.75, 1.0]]))


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_whole_number_is_always_finite(bad: float) -> None:
    with pytest.raises(InputError, match="layer 'conv': 1 of 2 values are not finite"):
        cast(Cast("int8", saturate=True), torch.tensor([[bad, 1.0]]))


def test_complex_values_stay_complex() -> None:
    values = torch.tensor([[1 + 2j, 1e300 - 1j]], dtype=torch.complex128)
    assert torch.equal(cast(Cast("complex64"), values[:, :1]), torch.tensor([[1 + 2j]]))
    with pytest.raises(InputError, match="1 of 4 values are beyond"):
        cast(Cast("complex64"), values)
    saturated = cast(Cast("complex64", saturate=True), values.conj())
    assert saturated[0, 1] == torch.finfo(torch.float32).max + 1j
    assert cast(Cast("complex128"), torch.ones(1, 2)).dtype == torch.complex128
    with pytest.raises(InputError, match=r"imaginary part would be lost.*torch.abs"):
        cast(Cast("float32"), values)


def test_words_and_dims() -> None:
    assert [Cast("float16").words, Cast("int8", saturate=True).words] == ["float16", "int8 (saturated)"]
    assert Cast("torch.float16") == Cast("float16")
    assert Cast("float16").dims(("token", "unit"), (3, 4), (3, 4)) == ("token", "unit")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bfloat16", "Did you mean 'float16'"),
        ("float8_e5m2", "cannot be kept"),
        ("flaot32", "Did you mean 'float32'"),
        ("text", "There are float16, float32"),
    ],
)
def test_an_unknown_dtype_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Cast(name)


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
    room = "tests.features.transforms.test_values"
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
        (lambda values: values.numpy(), "gave a ndarray"),
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
    chain = BegunChain([Function(function)], "conv", torch.zeros(2, 2, 3, 3), ("channel", "y", "x"))
    assert chain.dims == dims


def test_what_a_function_raises_goes_through_and_says_where_it_was() -> None:
    def fails(values: Tensor) -> Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        BegunChain([Function(fails, words="bad")], "conv", torch.zeros(2, 2), ("unit",))
    assert caught.value.__notes__ == ["in the transform 'function bad' of layer 'conv'"]
