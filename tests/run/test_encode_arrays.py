"""Tensors of every type and shape are kept bit for bit, and what cannot be kept is told."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import torcheer as tl
from tests.many import examples
from tests.run.encode_checks import FakeRun, logged, refused, same_bits, tensor_again

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
    *(torch.float8_e8m0fnu, torch.complex64, torch.complex128, torch.bool),
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
]
SHAPES = st.lists(st.integers(0, 4), max_size=4)


def any_bits(shape: list[int], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """A tensor of any bits at all: NaN with payloads, infinities, subnormal numbers."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    size = math.prod(shape) * dtype.itemsize
    raw = torch.randint(0, 256, (size,), generator=generator, dtype=torch.uint8)
    return (
        torch.frombuffer(bytearray(raw.tolist()), dtype=dtype).reshape(shape)
        if size
        else torch.empty(shape, dtype=dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=examples(8), deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 1000), turned=st.booleans())
def test_a_tensor_of_any_type_and_shape_comes_back_bit_for_bit(
    dtype: torch.dtype, shape: list[int], seed: int, turned: bool
) -> None:
    tensor = any_bits(shape, dtype, seed)
    if turned:
        tensor = tensor.permute(tuple(reversed(range(tensor.dim()))))

    made = logged(lambda run: run.log_tensor(3, "w", tensor))

    assert same_bits(tensor_again(made), tensor)


@settings(max_examples=examples(40), deadline=None)
@given(
    array=hnp.arrays(
        dtype=st.one_of(
            hnp.boolean_dtypes(),
            hnp.integer_dtypes(endianness="?"),
            hnp.unsigned_integer_dtypes(endianness="?"),
            hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
            hnp.complex_number_dtypes(endianness="?", sizes=(64, 128)),
        ),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    ),
    backwards=st.booleans(),
)
def test_an_array_of_any_byte_order_and_stride_comes_back(array: np.ndarray, backwards: bool) -> None:
    if backwards:
        array = array[(slice(None, None, -1),) * array.ndim]

    made = logged(lambda run: run.log_tensor(0, "w", array))

    again = np.frombuffer(made.data, dtype=np.dtype(made.head.dtype).newbyteorder("<"))
    np.testing.assert_array_equal(again.reshape(made.head.shape), array)
    assert made.head.dtype == array.dtype.name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64])
def test_figures_are_those_of_torch(dtype: torch.dtype) -> None:
    tensor = (torch.randn(50, 7) * 10).to(dtype)
    tensor[0, :3] = 0
    exact = tensor.double()

    head = logged(lambda run: run.log_tensor(0, "w", tensor)).head

    assert head.mean == pytest.approx(exact.mean().item())
    assert head.std == pytest.approx(exact.std().item())
    assert (head.min, head.max) == (exact.min().item(), exact.max().item())
    assert head.num_zeros == (exact == 0).sum().item()


def test_what_is_not_finite_is_counted_and_left_out_of_the_figures() -> None:
    tensor = torch.tensor([1.0, 3.0, math.nan, math.inf, -math.inf, math.nan])

    head = logged(lambda run: run.log_tensor(0, "w", tensor)).head

    assert (head.mean, head.min, head.max, head.num_nan, head.num_inf) == (2.0, 1.0, 3.0, 2, 2)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(3, 4, requires_grad=True),
        torch.nn.Parameter(torch.randn(3)),
        torch.randn(3, 4)[:, ::2],
        torch.randn(2, 1).expand(2, 5),
        torch.randn(4, dtype=torch.complex64).conj(),
        torch.randn(4, dtype=torch.complex64).conj().imag,
        torch.randn(4, 6, dtype=torch.bfloat16).T[1:, ::2],
        torch.as_strided(torch.randn(10_002), (2, 2), (10_000, 1)),
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    ],
    ids=["grad", "parameter", "sliced", "expanded", "conj", "neg", "bfloat16", "strides", "channels_last"],
)
def test_a_tensor_is_kept_as_it_reads_whatever_its_memory(tensor: torch.Tensor) -> None:
    made = logged(lambda run: run.log_tensor(0, "w", tensor))

    assert torch.equal(tensor_again(made), tensor.detach())


def test_a_tensor_of_inference_mode_is_kept() -> None:
    with torch.inference_mode():
        tensor = torch.randn(3)
        made = logged(lambda run: run.log_tensor(0, "w", tensor))

    assert same_bits(tensor_again(made), tensor)


@pytest.mark.parametrize("value", [torch.zeros(3), np.zeros(3)], ids=["tensor", "array"])
def test_what_is_written_into_it_later_does_not_reach_the_run(value: torch.Tensor | np.ndarray) -> None:
    run = FakeRun()
    run.log_tensor(0, "w", value)
    value += 1

    assert torch.equal(tensor_again(run.only().encode()), torch.zeros(3, dtype=torch.as_tensor(value).dtype))


def test_lists_of_numbers_and_of_tensors_are_arrays() -> None:
    numbers = logged(lambda run: run.log_tensor(0, "w", [[1, 2], [3, 4]]))
    tensors = logged(lambda run: run.log_tensor(0, "w", [torch.ones(2, requires_grad=True), torch.zeros(2)]))
    mixed = logged(lambda run: run.log_tensor(0, "w", (torch.ones(2).bfloat16(), torch.zeros(2))))

    assert tensor_again(numbers).tolist() == [[1, 2], [3, 4]]
    assert tensor_again(tensors).tolist() == [[1, 1], [0, 0]]
    assert (mixed.head.dtype, tensor_again(mixed).tolist()) == ("float32", [[1, 1], [0, 0]])


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_numbers_of_half_precision_are_widened() -> None:
    tensor = torch.randn(4, dtype=torch.complex64).to(torch.complex32)

    made = logged(lambda run: run.log_tensor(0, "w", tensor))

    assert same_bits(tensor_again(made), tensor.to(torch.complex64))


def test_long_doubles_become_doubles() -> None:
    made = logged(lambda run: run.log_tensor(0, "w", np.array([0.5, 2.0], dtype=np.longdouble)))

    assert same_bits(tensor_again(made), torch.tensor([0.5, 2.0], dtype=torch.float64))


@pytest.mark.filterwarnings("ignore:.*quantize")
def test_a_quantized_tensor_is_kept_as_the_numbers_it_stands_for() -> None:
    tensor = torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 2, torch.qint8)
    run = FakeRun()
    run.log_tensor(0, "w", tensor)

    assert torch.equal(tensor_again(run.only().encode()), tensor.dequantize())
    assert "quantized" in run.only().description


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_small_sparse_tensor_is_kept_with_its_zeros() -> None:
    for tensor in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()):
        run = FakeRun()
        run.log_tensor(0, "w", tensor)

        assert torch.equal(tensor_again(run.only().encode()), torch.eye(3))
        assert "sparse" in run.only().description


def test_a_tensor_in_a_layout_of_its_own_is_kept() -> None:
    tensor = torch.randn(3, 4)
    run = FakeRun()
    run.log_tensor(0, "w", tensor.to_mkldnn())

    assert torch.equal(tensor_again(run.only().encode()), tensor)
    assert run.only().description == ""


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_large_sparse_tensor_is_refused_before_it_is_written_out() -> None:
    tensor = torch.sparse_coo_tensor(torch.zeros(2, 1, dtype=torch.long), torch.ones(1), (10**6, 10**6))

    assert "coalesce().values()" in refused(lambda run: run.log_tensor(0, "w", tensor))


def test_a_tensor_far_larger_than_its_memory_is_refused_before_it_is_copied() -> None:
    assert "512" in refused(lambda run: run.log_tensor(0, "w", torch.zeros(1).expand(10**12)))
    assert "512" in refused(
        lambda run: run.log_tensor(0, "w", np.broadcast_to(np.float32(0), (10**9, 10**3)))
    )


def test_a_tensor_without_numbers_is_refused() -> None:
    with FakeTensorMode():
        fake = torch.zeros(3)

    for tensor in (torch.zeros(3, device="meta"), fake):
        assert "no numbers" in refused(lambda run, tensor=tensor: run.log_tensor(0, "w", tensor))


def test_a_type_that_numpy_has_not_is_refused_by_name() -> None:
    tensor = torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)

    assert "float4_e2m1fn_x2" in refused(lambda run: run.log_tensor(0, "w", tensor))


@pytest.mark.parametrize(
    "value",
    [object(), ["a", "b"], np.array(["2020-01-01"], dtype="datetime64"), [[1], [2, 3]], {"a": 1}, None, len],
    ids=["object", "text", "dates", "ragged", "dict", "None", "function"],
)
def test_what_is_no_tensor_is_told_and_never_raised(value: object) -> None:
    assert "log_tensor 'w'" in refused(lambda run: run.log_tensor(0, "w", value))


def test_a_nested_tensor_is_refused_with_what_to_do() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)

    assert "unbind()" in refused(lambda run: run.log_tensor(0, "w", nested))


def test_logging_in_a_pass_that_is_recorded_is_no_part_of_it() -> None:
    run = FakeRun()

    class Logging(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * 2
            run.log_tensor(0, "y", y)
            return torch.relu(y)

    x = torch.randn(2, 3, requires_grad=True)
    history = tl.log_forward_pass(Logging(), x)

    assert [op.layer_type for op in history] == ["input", "mul", "relu", "output"]
    assert torch.equal(tensor_again(run.only().encode()), (x * 2).detach())


def test_no_mode_sees_what_logging_does() -> None:
    class Watching(TorchDispatchMode):
        seen: ClassVar[list[str]] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    run, tensor = FakeRun(), torch.randn(2, 3, dtype=torch.bfloat16, requires_grad=True)
    with Watching():
        run.log_tensor(0, "x", tensor)

    assert same_bits(tensor_again(run.only().encode()), tensor)
    assert Watching.seen == []


def test_a_real_tensor_is_kept_where_others_are_fake() -> None:
    run, tensor = FakeRun(), torch.randn(3)
    with FakeTensorMode(allow_non_fake_inputs=True):
        run.log_tensor(0, "w", tensor)

    assert same_bits(tensor_again(run.only().encode()), tensor)


def test_a_model_that_logs_can_be_compiled() -> None:
    run = FakeRun()

    def double(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        run.log_tensor(0, "y", y)
        run.log_histogram(0, "h", y)
        return y + 1

    result = torch.compile(double, backend="eager")(torch.arange(3.0))

    assert result.tolist() == [1, 3, 5]
    assert run.told == []
    assert tensor_again(run.observations[0].encode()).tolist() == [0, 2, 4]


def test_under_vmap_there_are_no_numbers_to_read_and_it_is_told() -> None:
    run = FakeRun()

    def double(x: torch.Tensor) -> torch.Tensor:
        run.log_tensor(0, "x", x)
        return 2 * x

    result = torch.vmap(double)(torch.arange(3.0))

    assert result.tolist() == [0, 2, 4]
    assert len(run.told) == 1
