"""The weights of a unit against the Jacobian matrix of the torch module itself."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.many import examples
from torcheer.errors import InputError
from torcheer.netview import axes_of_weights, weights_of_unit
from torcheer.netview.weight_axes import Axis
from torcheer.run import Connection

SMALL = st.integers(1, 3)
received = partial(weights_of_unit, direction="received")
sent = partial(weights_of_unit, direction="sent")


def connection(form: str, **geometry: Any) -> Connection:
    return Connection(source="below", target="above", form=form, **geometry)


def jacobian(function: Callable[[Tensor], Tensor], source: Tensor) -> numpy.ndarray:
    """Target units down, source units across."""
    matrix = torch.autograd.functional.jacobian(function, source, vectorize=True)
    return matrix.reshape(-1, source.numel()).numpy()


def assert_weights_are(
    matrix: numpy.ndarray,
    link: Connection,
    weight: Tensor,
    source: Sequence[int],
    target: Sequence[int],
    **others: Any,
) -> None:
    """Every row and every column. Weights of the tests are never 0, so that 0 means not connected."""
    assert (weight != 0).all()
    assert_axes_are(matrix, link, weight.detach().numpy(), source, target, **others)
    for unit, row in enumerate(matrix):
        found = received(link, weight.detach().numpy(), source, target, unit, **others)
        assert numpy.array_equal(found.values, row)
        assert numpy.array_equal(found.is_connected, row != 0)
    for unit, column in enumerate(matrix.T):
        found = sent(link, weight.detach().numpy(), source, target, unit, **others)
        assert numpy.array_equal(found.values, column)
        assert numpy.array_equal(found.is_connected, column != 0)


def along(axis: Axis, tokens: Sequence[float]) -> Iterator[tuple[int, int, int]]:
    """Steps of the source, of the target and in the weight that belong together, as a page takes them."""
    for narrow in range(axis.count):
        if axis.slide is None:
            place = int(tokens[narrow]) if axis.is_token else narrow
            yield narrow * axis.source, narrow * axis.target, place * axis.weight
            continue
        num_taps, stride, before, gap, num_wide, is_wide_source = msgspec.structs.astuple(axis.slide)
        for tap in range(num_taps):
            wide = narrow * stride - before + tap * gap
            if 0 <= wide < num_wide:
                source, target = (wide, narrow) if is_wide_source else (narrow, wide)
                yield source * axis.source, target * axis.target, tap * axis.weight


def assert_axes_are(
    matrix: numpy.ndarray,
    link: Connection,
    weight: numpy.ndarray,
    source: Sequence[int],
    target: Sequence[int],
    source_values: Any = None,
) -> None:
    found = axes_of_weights(link, weight.shape, source, target)
    assert found is not None
    tokens = () if source_values is None else numpy.ravel(source_values)
    made = numpy.zeros_like(matrix)
    for steps in itertools.product(*(list(along(axis, tokens)) for axis in found.axes)):
        there, here, place = (sum(parts) for parts in zip((found.first, 0, 0), *steps, strict=True))
        made[here, there] = weight.ravel()[place]
    assert numpy.array_equal(made, matrix)


def assert_module_is(module: nn.Module, link: Connection, source: Sequence[int]) -> None:
    module = module.double()
    inputs = torch.zeros(*source, dtype=torch.float64)
    target = tuple(module(inputs[None])[0].shape)
    matrix = jacobian(lambda x: module(x[None])[0], inputs)
    assert_weights_are(matrix, link, module.weight, source, target)


@given(st.lists(SMALL, max_size=3), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=examples(40), deadline=None)
def test_a_linear_layer_connects_what_has_the_same_place_before_the_last_dimension(
    front: list[int], num_in: int, num_out: int
) -> None:
    assert_module_is(nn.Linear(num_in, num_out), connection("linear"), [*front, num_in])


def test_weights_that_stand_as_input_by_output_are_turned() -> None:
    weight = torch.randn(4, 4, dtype=torch.float64)
    matrix = jacobian(lambda x: x @ weight, torch.zeros(3, 4, dtype=torch.float64))
    assert_weights_are(matrix, connection("linear", is_transposed=True), weight, [3, 4], [3, 4])


def test_a_flatten_before_a_linear_layer_keeps_the_order_of_units() -> None:
    layer = nn.Linear(24, 5).double()
    matrix = jacobian(lambda x: layer(x.flatten()), torch.zeros(2, 3, 4, dtype=torch.float64))
    assert_weights_are(matrix, connection("linear"), layer.weight, [2, 3, 4], [5])


def test_a_view_that_cuts_units_into_other_rows_keeps_their_order() -> None:
    layer = nn.Linear(8, 5).double()
    matrix = jacobian(lambda x: layer(x.reshape(3, 8)), torch.zeros(6, 4, dtype=torch.float64))
    assert_weights_are(matrix, connection("linear"), layer.weight, [6, 4], [3, 5])
    assert_weights_are(matrix, connection("linear"), layer.weight, [24], [15])


def test_tokens_and_features_that_change_places_on_the_way_are_refused() -> None:
    # Three tokens of four features are mixed over the tokens: the order of units is not kept.
    with pytest.raises(InputError, match="do not lead from 'below'"):
        received(connection("linear"), numpy.ones((3, 3)), [3, 4], [4, 3], 0)


@st.composite
def convolutions(draw: st.DrawFn) -> dict[str, Any]:
    num_axes = draw(st.integers(1, 3))
    largest = {1: 9, 2: 6, 3: 4}[num_axes]

    def axes(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(num_axes))

    groups = draw(SMALL)
    return {
        "num_axes": num_axes,
        "in_channels": groups * draw(st.integers(1, 2)),
        "out_channels": groups * draw(st.integers(1, 2)),
        "groups": groups,
        "sizes": axes(1, largest),
        "kernel_size": axes(1, 3),
        "stride": axes(1, 3),
        "padding": axes(0, 2),
        "dilation": axes(1, 2),
    }


def _convolution(kind: str, given: dict[str, Any]) -> tuple[nn.Module, Connection, list[int]]:
    given = dict(given)
    num_axes, sizes = given.pop("num_axes"), given.pop("sizes")
    module = getattr(nn, f"{kind}{num_axes}d")(**given)
    geometry = {name: given[name] for name in ("stride", "padding", "dilation", "groups")}
    form = "transposed_conv" if "Transpose" in kind else "conv"
    return module, connection(form, **geometry), [given["in_channels"], *sizes]


@given(convolutions())
@settings(max_examples=examples(60), deadline=None)
def test_the_kernel_of_a_convolution_lies_where_it_reads(given: dict[str, Any]) -> None:
    reach = [d * (k - 1) + 1 for d, k in zip(given["dilation"], given["kernel_size"], strict=True)]
    padded = [size + 2 * p for size, p in zip(given["sizes"], given["padding"], strict=True)]
    assume(all(wide >= need for wide, need in zip(padded, reach, strict=True)))
    assert_module_is(*_convolution("Conv", given))


@given(convolutions(), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_transposed_convolution_is_read_backwards(given: dict[str, Any], data: st.DataObject) -> None:
    axes = list(zip(*(given[name] for name in ("stride", "padding", "dilation")), strict=True))
    extra = tuple(data.draw(st.integers(0, max(stride, dilation) - 1)) for stride, _, dilation in axes)
    for (stride, padding, dilation), size, kernel, more in zip(
        axes, given["sizes"], given["kernel_size"], extra, strict=True
    ):
        assume((size - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1 > 0)
    assert_module_is(*_convolution("ConvTranspose", {**given, "output_padding": extra}))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_padding_same_of_an_even_kernel_has_its_spare_zero_at_the_back() -> None:
    layer = nn.Conv2d(2, 3, (4, 3), padding="same")
    assert_module_is(layer, connection("conv", padding=(1, 1)), [2, 6, 5])


def test_settings_that_are_left_out_are_those_of_torch() -> None:
    assert_module_is(nn.Conv2d(2, 3, 2), connection("conv"), [2, 4, 5])


def test_a_unit_of_an_embedding_receives_the_weight_of_its_token() -> None:
    layer = nn.Embedding(6, 3).double()
    tokens = torch.tensor([[4, 0], [5, 4]])
    one_hot = F.one_hot(tokens, 6).double()
    by_token = jacobian(lambda x: x @ layer.weight, one_hot).reshape(12, 4, 6)
    # Of what each place could give, that which its token gives.
    matrix = (by_token * one_hot.reshape(4, 6).numpy()).sum(axis=2)
    link = connection("embedding")
    assert_weights_are(matrix, link, layer.weight, [2, 2], [2, 2, 3], source_values=tokens.numpy())


def test_an_embedding_without_its_tokens_says_what_is_missing() -> None:
    with pytest.raises(InputError, match="record its variable Act"):
        received(connection("embedding"), numpy.ones((6, 3)), [2], [2, 3], 0)


@pytest.mark.parametrize("token", [6, -1, 0.5, numpy.nan, numpy.inf])
def test_a_token_without_weights_is_refused(token: float) -> None:
    with pytest.raises(InputError, match="tokens 0 to 5"):
        sent(connection("embedding"), numpy.ones((6, 3)), [2], [2, 3], 1, source_values=[0, token])


HEADS, QUERIES, KEYS, FEATURES = 4, 3, 5, 2


def attention(num_value_heads: int, start: int = 0) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """The attention, and what computes heads x queries x features of values that lie as tokens x features."""
    torch.manual_seed(0)
    queries = torch.randn(HEADS, QUERIES, FEATURES, dtype=torch.float64)
    keys = torch.randn(HEADS, KEYS, FEATURES, dtype=torch.float64)

    def attend(x: Tensor) -> Tensor:
        values = x[:, start:].reshape(KEYS, num_value_heads, FEATURES).transpose(0, 1)
        values = values.repeat_interleave(HEADS // num_value_heads, dim=0)
        return F.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]

    return (queries @ keys.mT / FEATURES**0.5).softmax(-1), attend


def assert_nearly(
    matrix: numpy.ndarray, weight: Tensor, source: Sequence[int], target: Sequence[int], atol: float = 1e-15
) -> None:
    link, numbers = connection("attention"), weight.numpy()
    rows = [received(link, numbers, source, target, unit) for unit in range(len(matrix))]
    columns = [sent(link, numbers, source, target, unit) for unit in range(matrix.shape[1])]
    for found, is_connected in (
        (numpy.array([row.values for row in rows]), numpy.array([row.is_connected for row in rows])),
        (numpy.array([c.values for c in columns]).T, numpy.array([c.is_connected for c in columns]).T),
    ):
        assert numpy.allclose(found, matrix, rtol=0, atol=atol)
        assert numpy.array_equal(is_connected, matrix != 0)


@pytest.mark.parametrize("num_value_heads", [4, 2, 1])
def test_a_unit_receives_its_feature_of_all_tokens_by_the_attention_of_its_head(num_value_heads: int) -> None:
    source = torch.zeros(KEYS, num_value_heads * FEATURES, dtype=torch.float64)
    weight, attend = attention(num_value_heads)
    by_head = jacobian(attend, source)
    assert_nearly(by_head, weight, source.shape, [HEADS, QUERIES, FEATURES])
    by_token = jacobian(lambda x: attend(x).transpose(0, 1), source)
    assert_nearly(by_token, weight, source.shape, [QUERIES, HEADS * FEATURES])
    source = torch.zeros(num_value_heads, KEYS, FEATURES, dtype=torch.float64)
    heads_first = jacobian(lambda x: attend(x.transpose(0, 1).flatten(1)), source)
    assert_nearly(heads_first, weight, source.shape, [HEADS, QUERIES, FEATURES])


@pytest.mark.parametrize("num_value_heads", [4, 2])
def test_queries_and_keys_that_stand_beside_the_values_are_not_connected(num_value_heads: int) -> None:
    num_heads = HEADS + 2 * num_value_heads
    source = torch.zeros(KEYS, num_heads * FEATURES, dtype=torch.float64)
    weight, attend = attention(num_value_heads, start=(num_heads - num_value_heads) * FEATURES)
    matrix = jacobian(lambda x: attend(x).transpose(0, 1), source)
    assert_nearly(matrix, weight, source.shape, [QUERIES, HEADS * FEATURES])


@pytest.mark.parametrize(
    ("form", "shape", "source", "target"),
    [
        ("linear", (5, 4), [3], [5]),  # of another layer
        ("linear", (5, 4), [4], [6]),  # a piece of it
        ("linear", (5,), [4], [5]),
        ("linear", (0, 4), [4], [0, 5]),
        ("conv", (5, 4), [4, 8], [5, 6]),
        ("conv", (5, 4, 3), [3, 8], [5, 6]),
        ("conv", (5, 4, 3), [4, 8], [7, 6]),
        ("conv", (5, 4, 3), [], [5, 6]),
        ("transposed_conv", (5, 4, 3), [4, 8], [5, 6]),
        ("embedding", (6, 3), [2], [2, 4]),
        ("attention", (4, 3, 5), [4, 8], [3, 8]),  # four tokens, attention to five
        ("attention", (4, 3, 5), [5, 8], [3, 7]),  # seven features, four heads
        ("attention", (4, 3, 5), [5, 6], [3, 8]),  # three heads of values
        ("attention", (4, 3, 5), [5, 26], [3, 8]),
        ("attention", (3, 5), [5, 8], [3, 8]),
    ],
)
def test_what_does_not_fit_together_is_refused(
    form: str, shape: tuple[int, ...], source: list[int], target: list[int]
) -> None:
    for find in (received, sent):
        with pytest.raises(InputError):
            find(connection(form), numpy.ones(shape), source, target, 0, source_values=[0, 1])


@pytest.mark.parametrize(
    "geometry",
    [
        {"stride": (0,)},
        {"dilation": (-1,)},
        {"groups": 0},
        {"groups": 2},
        {"stride": (1, 1)},
        {"padding": (2**40,)},
    ],
)
def test_a_damaged_geometry_is_refused(geometry: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        received(connection("conv", **geometry), numpy.ones((5, 4, 3)), [4, 8], [5, 6], 0)


def test_a_unit_that_is_not_there_and_a_form_without_weights_are_refused() -> None:
    with pytest.raises(InputError, match="has 5 units"):
        received(connection("linear"), numpy.ones((5, 4)), [4], [5], 5)
    with pytest.raises(InputError, match="has 4 units"):
        sent(connection("linear"), numpy.ones((5, 4)), [4], [5], 4)
    with pytest.raises(InputError, match="no weights of its own"):
        received(connection("other"), numpy.ones((5, 4)), [4], [5], 0)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float16", "float32"),
        ("int8", "float32"),
        ("complex64", "complex64"),
    ],
)
def test_values_are_exact_in_a_type_that_holds_them(given: str, found: str) -> None:
    weight = numpy.arange(1, 7).reshape(2, 3).astype(given)
    values = received(connection("linear"), weight, [3], [2], 1).values
    assert values.dtype == found
    assert values.tolist() == [4, 5, 6]
