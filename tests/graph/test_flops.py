"""The cost of an op, against torch's own counter."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils.rnn import pack_padded_sequence
from torch.overrides import TorchFunctionMode, get_overridable_functions
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.flop_counter import FlopCounterMode

from tests.many import examples
from torcheer.graph import Arguments, Work, flops, work_of

Function = Callable[..., Any]

pytestmark = pytest.mark.filterwarnings("ignore:.*oneDNN:UserWarning")

quick = settings(max_examples=examples(40), deadline=None)
sizes = st.integers(1, 5)
batches = st.lists(sizes, max_size=2).map(tuple)


def described(name: str, args: Sequence[object], kwargs: Mapping[str, object], result: object) -> Work | None:
    """What `work_of` says of a call, told what a capture would tell it."""
    shapes = [tuple(leaf.shape) for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
    outputs = [tuple(leaf.shape) for leaf in tree_flatten(result)[0] if isinstance(leaf, Tensor)]
    positional, keywords = tree_map(
        lambda leaf: None if isinstance(leaf, Tensor) else leaf, (list(args), dict(kwargs))
    )
    arguments = Arguments(positional=positional, keywords=keywords)
    return work_of(name.lower().replace("_", ""), shapes, outputs[0], arguments)


def cost(function: Function, *args: object, **kwargs: object) -> Work | None:
    return described(function.__name__, args, kwargs, function(*args, **kwargs))


class Seen(TorchFunctionMode):
    """The cost of the calls that a module makes, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.costs: dict[str, Work | None] = {}

    def __torch_function__(
        self,
        func: Function,
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if any(isinstance(leaf, Tensor) for leaf in tree_flatten(result)[0]):
            self.costs[func.__name__] = described(func.__name__, args, kwargs, result)
        return result


def cost_inside(name: str, module: nn.Module, *args: object) -> Work | None:
    seen = Seen()
    with seen:
        module(*args)
    return seen.costs[name]


def counted_by_torch(function: Function, *args: object, **kwargs: object) -> int:
    counter = FlopCounterMode(display=False)
    # oneDNN's fused LSTM and the CPU's fused attention are unknown to the counter: off with them.
    with counter, torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
        function(*args, **kwargs)
    return counter.get_total_flops()


def as_counted(total: int, *, added: int = 0) -> Work:
    return Work(flops=total + added, macs=total // 2)


# --- ops that contract -------------------------------------------------------------------------------


@quick
@given(data=st.data(), num_dims=st.integers(1, 3), transposed=st.booleans(), has_bias=st.booleans())
def test_convolutions_cost_what_torch_counts(
    data: st.DataObject, num_dims: int, transposed: bool, has_bias: bool
) -> None:
    groups, kernel = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    channels, filters = groups * data.draw(sizes), groups * data.draw(sizes)
    options = {name: data.draw(st.integers(1, 2)) for name in ("stride", "dilation", "padding")}
    options["padding"] -= 1
    x = torch.randn(data.draw(sizes), channels, *[data.draw(st.integers(6, 8)) for _ in range(num_dims)])
    rows, columns = (channels, filters) if transposed else (filters, channels)
    weight = torch.randn(rows, columns // groups, *[kernel] * num_dims)
    bias = torch.randn(filters) if has_bias else None
    function = getattr(F, f"conv{'_transpose' * transposed}{num_dims}d")

    result = function(x, weight, bias, groups=groups, **options)

    counted = counted_by_torch(function, x, weight, bias, groups=groups, **options)
    added = result.numel() if has_bias else 0
    assert cost(function, x, weight, bias, groups=groups, **options) == as_counted(counted, added=added)


def test_a_convolution_without_a_batch_costs_as_a_batch_of_one() -> None:
    x, weight = torch.randn(3, 8, 8), torch.randn(4, 3, 3, 3)

    assert cost(F.conv2d, x, weight) == cost(F.conv2d, x[None], weight)
    assert cost(F.conv_transpose2d, x, weight.transpose(0, 1)) == cost(
        F.conv_transpose2d, x[None], weight.transpose(0, 1)
    )


@pytest.mark.parametrize("transposed", [False, True])
def test_the_general_convolution_knows_whether_it_is_transposed(transposed: bool) -> None:
    given = (torch.randn(2, 4, 7), torch.randn(4, 4, 3), None, [2], [0], [1], transposed, [0], 1)

    assert cost(torch.convolution, *given) == as_counted(counted_by_torch(torch.convolution, *given))


@quick
@given(batch=batches, num_in=sizes, num_out=sizes, has_bias=st.booleans())
def test_linear_costs_what_torch_counts_and_a_bias_adds_its_additions(
    batch: tuple[int, ...], num_in: int, num_out: int, has_bias: bool
) -> None:
    # Three dimensions at least: the counter does not know the product of a matrix and a vector.
    x, weight = torch.randn(2, *batch, num_in), torch.randn(num_out, num_in)
    bias = torch.randn(num_out) if has_bias else None

    counted = counted_by_torch(F.linear, x, weight)

    added = 2 * prod(batch) * num_out if has_bias else 0
    assert cost(F.linear, x, weight, bias) == as_counted(counted, added=added)


@quick
@given(left=batches, right=batches, ones=st.lists(st.booleans(), min_size=2), m=sizes, k=sizes, n=sizes)
def test_matmul_broadcasts_its_batches(
    left: tuple[int, ...], right: tuple[int, ...], ones: list[bool], m: int, k: int, n: int
) -> None:
    # Right-aligned dimensions are made to fit: equal, or one on one side.
    num_shared = min(len(left), len(right))
    right = right[: len(right) - num_shared] + tuple(
        1 if one else size for one, size in zip(ones, left[len(left) - num_shared :], strict=False)
    )
    a, b = torch.randn(*left, m, k), torch.randn(*right, k, n)
    batch = (a @ b).shape[:-2]
    flat_a, flat_b = a.expand(*batch, m, k).reshape(-1, m, k), b.expand(*batch, k, n).reshape(-1, k, n)

    counted = as_counted(counted_by_torch(torch.bmm, flat_a, flat_b))

    assert cost(torch.matmul, a, b) == counted
    assert described("__rmatmul__", (b, a), {}, a @ b) == counted
    assert cost(torch.bmm, flat_a, flat_b) == counted
    assert cost(torch.mm, a.reshape(-1, k), flat_b[0]) == as_counted(
        counted_by_torch(torch.mm, a.reshape(-1, k), flat_b[0])
    )


@quick
@given(batch=batches, m=sizes, k=sizes)
def test_a_vector_in_a_matmul_is_a_matrix_with_one_row_or_column(
    batch: tuple[int, ...], m: int, k: int
) -> None:
    a, matrix, vector = torch.randn(*batch, m, k), torch.randn(m, k), torch.randn(k)
    column, row = vector[:, None], vector[None]

    assert cost(torch.matmul, a, vector) == as_counted(counted_by_torch(torch.matmul, a, column))
    assert cost(torch.matmul, vector, a.mT) == as_counted(counted_by_torch(torch.matmul, row, a.mT))
    assert cost(torch.matmul, vector, vector) == as_counted(counted_by_torch(torch.matmul, row, column))
    assert cost(torch.dot, vector, vector) == cost(torch.matmul, vector, vector)
    assert cost(torch.mv, matrix, vector) == as_counted(counted_by_torch(torch.mm, matrix, column))
    assert cost(torch.inner, a, matrix) == cost(torch.matmul, a, matrix.T)
    assert cost(torch.linalg.vecdot, a, vector) == cost(torch.matmul, a, vector)


def test_vecdot_broadcasts_and_takes_the_dimension_it_is_told() -> None:
    a, b = torch.randn(3, 1, 5), torch.randn(1, 4, 5)

    assert cost(torch.linalg.vecdot, a, b) == as_counted(2 * 3 * 4 * 5)
    assert cost(torch.linalg.vecdot, a.mT, b.mT.expand(3, 5, 4), dim=1) == as_counted(2 * 3 * 4 * 5)


@quick
@given(b=sizes, m=sizes, k=sizes, n=sizes)
def test_matmuls_that_add_cost_the_product_and_one_addition_an_output(b: int, m: int, k: int, n: int) -> None:
    left, right, added = torch.randn(b, m, k), torch.randn(b, k, n), torch.randn(n)

    batched, single = counted_by_torch(torch.bmm, left, right), counted_by_torch(torch.mm, left[0], right[0])

    assert counted_by_torch(torch.baddbmm, added, left, right) == batched
    assert cost(torch.baddbmm, added, left, right) == as_counted(batched, added=b * m * n)
    assert cost(torch.addbmm, added, left, right) == as_counted(batched, added=m * n)
    assert counted_by_torch(torch.addmm, added, left[0], right[0]) == single
    assert cost(torch.addmm, added, left[0], right[0]) == as_counted(single, added=m * n)
    assert cost(torch.addmv, torch.randn(m), left[0], right[0, :, 0]) == as_counted(2 * m * k, added=m)


@quick
@given(free=st.tuples(st.integers(2, 5), sizes), shared=st.lists(sizes, max_size=3))
def test_tensordot_costs_what_torch_counts(free: tuple[int, int], shared: list[int]) -> None:
    # Not for a single output: there torch multiplies and sums, which its counter leaves out.
    a, b = torch.randn(free[0], *shared), torch.randn(*shared, free[1])

    counted = counted_by_torch(torch.tensordot, a, b, dims=len(shared))

    assert cost(torch.tensordot, a, b, dims=len(shared)) == as_counted(counted)


@pytest.mark.parametrize(
    "equation",
    ["ik,kj->ij", "ik,jk", "bik,bkj->bij", "bhid, bhjd -> bhij", "ij,ij->", "ij,j->i", "ijk,kl->lij"],
)
@quick
@given(data=st.data())
def test_einsum_of_two_costs_what_torch_counts(equation: str, data: st.DataObject) -> None:
    terms = equation.replace(" ", "").split("->")[0].split(",")
    # At least two: torch does not call a bmm to sum over a single element.
    size = {label: data.draw(st.integers(2, 5)) for label in {*"".join(terms)}}
    operands = [torch.randn(*(size[label] for label in term)) for term in terms]

    counted = as_counted(counted_by_torch(torch.einsum, equation, *operands))

    assert cost(torch.einsum, equation, *operands) == counted
    assert cost(torch.einsum, equation, operands) == counted


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("...ik,kj->...ij", (2, 3, 4, 5), (5, 6)),
        ("...ik,...kj->...ij", (2, 3, 4, 5), (2, 3, 5, 6)),
        ("...ik,...kj->...ij", (2, 1, 4, 5), (3, 5, 6)),
        ("i...,i...->...", (4, 2, 3), (4, 2, 3)),
    ],
)
def test_einsum_lines_ellipses_up_from_the_right(equation: str, left: tuple[int, ...], right: Any) -> None:
    a, b = torch.randn(left), torch.randn(right)

    assert cost(torch.einsum, equation, a, b) == as_counted(counted_by_torch(torch.einsum, equation, a, b))


def test_einsum_of_any_number_of_operands() -> None:
    a, b, c = torch.randn(2, 3), torch.randn(3, 4), torch.randn(4, 5)

    assert cost(torch.einsum, "ij,jk,kl->il", a, b, c) == Work(flops=3 * 2 * 3 * 4 * 5, macs=2 * 3 * 4 * 5)
    assert cost(torch.einsum, "ij->i", a) == Work(flops=6)
    assert cost(torch.einsum, "ij->ji", a) == Work(flops=0)
    assert cost(torch.einsum, "i,j->ij", a[0], b[0]) == Work(flops=12)
    assert cost(torch.einsum, a, [0, 1], b, [1, 2], [0, 2]) is None


@quick
@given(data=st.data(), is_causal=st.booleans())
def test_attention_costs_what_torch_counts_also_with_grouped_heads(
    data: st.DataObject, is_causal: bool
) -> None:
    batch, heads, group, num_queries, num_keys, width, value_width = (data.draw(sizes) for _ in range(7))
    query = torch.randn(batch, heads * group, num_queries, width)
    key = torch.randn(batch, heads, num_keys, width)
    value = torch.randn(batch, heads, num_keys, value_width)
    options = {"is_causal": is_causal, "enable_gqa": group > 1}

    counted = counted_by_torch(F.scaled_dot_product_attention, query, key, value, **options)

    assert cost(F.scaled_dot_product_attention, query, key, value, **options) == as_counted(counted)


def test_an_attention_mask_changes_nothing() -> None:
    q, mask = torch.randn(2, 3, 4, 5), torch.zeros(4, 4)

    assert cost(F.scaled_dot_product_attention, q, q, q, mask) == cost(
        F.scaled_dot_product_attention, q, q, q
    )


SEQUENCE = torch.randn(5, 2, 3)
PACKED = pack_padded_sequence(SEQUENCE, [5, 3])


@pytest.mark.parametrize(
    ("name", "module", "x", "steps"),
    [
        ("lstm", nn.LSTM(3, 4), SEQUENCE, 10),
        ("lstm", nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), SEQUENCE, 10),
        ("lstm", nn.LSTM(3, 4, bias=False, proj_size=2), SEQUENCE, 10),
        ("gru", nn.GRU(3, 4, num_layers=3), SEQUENCE, 10),
        ("rnn_tanh", nn.RNN(3, 4, bidirectional=True), SEQUENCE, 10),
        ("rnn_relu", nn.RNN(3, 4, nonlinearity="relu", bias=False), SEQUENCE, 10),
        # A packed sequence costs only its real steps.
        ("lstm", nn.LSTM(3, 4, bidirectional=True), PACKED, 8),
        ("gru", nn.GRU(3, 4, num_layers=2), PACKED, 8),
        ("lstm_cell", nn.LSTMCell(3, 4), SEQUENCE[:, 0], 5),
        ("gru_cell", nn.GRUCell(3, 4, bias=False), SEQUENCE[:, 0], 5),
        ("rnn_tanh_cell", nn.RNNCell(3, 4), SEQUENCE[:, 0], 5),
        ("rnn_relu_cell", nn.RNNCell(3, 4, nonlinearity="relu"), SEQUENCE[:, 0], 5),
    ],
)
def test_recurrent_layers_cost_what_torch_counts(name: str, module: nn.Module, x: Any, steps: int) -> None:
    added = steps * sum(p.numel() for p in module.parameters() if p.dim() == 1)

    assert cost_inside(name, module, x) == as_counted(counted_by_torch(module, x), added=added)


def test_bilinear_is_an_einsum_of_three() -> None:
    a, b, weight = torch.randn(2, 3), torch.randn(2, 4), torch.randn(5, 3, 4)

    assert cost(F.bilinear, a, b, weight) == cost(torch.einsum, "bi,bj,oij->bo", a, b, weight)
    assert cost(F.bilinear, a, b, weight, torch.randn(5)) == Work(flops=3 * 120 + 10, macs=120)


# --- ops on elements ---------------------------------------------------------------------------------


SCALAR = "exp log sqrt rsqrt abs neg relu sigmoid tanh erf floor isnan".split()
ACTIVATION = "gelu silu elu mish hardswish leaky_relu softplus logsigmoid relu6".split()


@pytest.mark.parametrize(
    "function", [getattr(torch, n) for n in SCALAR] + [getattr(F, n) for n in ACTIVATION]
)
def test_a_scalar_function_and_an_activation_cost_one_an_element(function: Function) -> None:
    assert cost(function, torch.rand(2, 3, 4)) == Work(flops=24)


@pytest.mark.parametrize("name", "add sub rsub mul div true_divide pow maximum minimum atan2 eq max".split())
def test_arithmetic_costs_one_an_output_after_broadcasting(name: str) -> None:
    assert cost(getattr(torch, name), torch.rand(3, 1), torch.rand(2, 1, 4)) == Work(flops=2 * 3 * 4)


def test_operators_and_in_place_forms_cost_the_same() -> None:
    x = torch.rand(2, 3)

    for operator in (Tensor.__radd__, Tensor.add_, Tensor.__iadd__, Tensor.__rsub__, Tensor.__rpow__):
        assert cost(operator, x, 2.0) == Work(flops=6)


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        *[(name, 1) for name in ("sum", "mean", "prod", "amax", "max", "argmax", "cumsum")],
        *[("norm", 2), ("var", 4), ("std", 4), ("logsumexp", 4), ("softmax", 5), ("log_softmax", 5)],
    ],
)
def test_a_reduction_costs_its_steps_an_input(name: str, steps: int) -> None:
    assert cost(getattr(torch, name), torch.randn(4, 5, 6), dim=1) == Work(flops=steps * 120)


@pytest.mark.parametrize(
    ("name", "module", "steps"),
    [
        ("batch_norm", nn.BatchNorm2d(3), 5 + 2),
        ("batch_norm", nn.BatchNorm2d(3).eval(), 2 + 2),
        ("batch_norm", nn.BatchNorm2d(3, affine=False), 5),
        ("batch_norm", nn.BatchNorm2d(3, affine=False).eval(), 2),
        ("instance_norm", nn.InstanceNorm2d(3), 5),
        ("instance_norm", nn.InstanceNorm2d(3, affine=True), 5 + 2),
        ("instance_norm", nn.InstanceNorm2d(3, affine=True, track_running_stats=True), 5 + 2),
        ("instance_norm", nn.InstanceNorm2d(3, track_running_stats=True).eval(), 2),
        ("layer_norm", nn.LayerNorm(4), 5 + 2),
        ("layer_norm", nn.LayerNorm(4, bias=False), 5 + 1),
        ("group_norm", nn.GroupNorm(3, 3), 5 + 2),
        ("group_norm", nn.GroupNorm(3, 3, affine=False), 5),
        ("rms_norm", nn.RMSNorm(4), 3 + 1),
    ],
)
def test_a_normalisation_costs_its_statistics_its_scaling_and_its_weights(
    name: str, module: nn.Module, steps: int
) -> None:
    x = torch.randn(2, 3, 4, 4)

    assert cost_inside(name, module, x) == Work(flops=steps * x.numel())


@pytest.mark.parametrize(("training", "steps"), [(True, 5 + 2), (False, 2 + 2)])
def test_normalisations_that_take_everything_by_position(training: bool, steps: int) -> None:
    x, channel = torch.randn(2, 3, 4, 4), torch.rand(3)

    for function in (torch.batch_norm, torch.instance_norm):
        assert cost(function, x, *[channel] * 4, training, 0.0, 1e-5, False) == Work(flops=steps * x.numel())


@pytest.mark.parametrize("module", [nn.Dropout(), nn.Dropout2d(), nn.AlphaDropout()])
def test_dropout_costs_nothing_outside_training(module: nn.Module) -> None:
    x = torch.randn(2, 3, 4, 4)

    def total() -> int:
        seen = Seen()
        with seen:
            module(x)
        return sum(work.flops for work in seen.costs.values() if work is not None)

    assert total() >= 2 * x.numel()
    module.eval()
    assert total() == 0


def test_dropout_is_told_of_training_by_position_or_by_name() -> None:
    x = torch.randn(2, 3)

    assert cost(torch.dropout, x, 0.5, True) == cost(torch.dropout, x, 0.5, train=True) == Work(flops=12)
    assert cost(torch.dropout, x, 0.5, False) == cost(torch.dropout, x, 0.5, train=False) == Work(flops=0)
    assert cost(F.dropout, x) == Work(flops=12)
    assert cost(F.alpha_dropout, x) == Work(flops=0)


def num_connections(function: Callable[[Tensor], Tensor], x: Tensor) -> int:
    """How often an element of the input goes into an element of the output."""
    return int((torch.func.jacrev(function)(x) != 0).sum())


@pytest.mark.parametrize(
    ("num_dims", "size", "kernel", "stride"),
    [
        (1, (7,), 3, 2),
        (1, (7,), [2], None),
        (2, (5, 6), 2, None),
        (2, (5, 6), (2, 3), 1),
        (3, (4, 4, 3), 2, 1),
    ],
)
def test_pooling_costs_one_for_every_element_of_every_window(
    num_dims: int, size: tuple[int, ...], kernel: Any, stride: Any
) -> None:
    x = torch.randn(1, 2, *size)
    average, largest = getattr(F, f"avg_pool{num_dims}d"), getattr(torch, f"max_pool{num_dims}d")
    connections = num_connections(lambda x: average(x, kernel, stride), x)

    assert cost(average, x, kernel, stride) == Work(flops=connections)
    assert cost(largest, x, kernel_size=kernel, stride=stride or kernel) == Work(flops=connections)


@pytest.mark.parametrize(
    ("size", "windows"), [((7,), (3,)), ((6, 4), (3, 2)), ((5, 7), (3, 10)), ((3, 4, 5), 2)]
)
def test_adaptive_pooling_counts_elements_that_windows_share(size: tuple[int, ...], windows: Any) -> None:
    x = torch.randn(1, 2, *size)
    function = getattr(F, f"adaptive_avg_pool{len(size)}d")

    assert cost(function, x, windows) == Work(flops=num_connections(lambda x: function(x, windows), x))


@pytest.mark.parametrize(
    ("mode", "num_dims", "steps"),
    [
        ("nearest", 2, 0),
        ("nearest-exact", 2, 0),
        ("linear", 1, 3),
        ("bilinear", 2, 7),
        ("trilinear", 3, 15),
        ("bicubic", 2, 31),
    ],
)
def test_interpolation_costs_a_weighted_sum_of_its_neighbours(mode: str, num_dims: int, steps: int) -> None:
    x = torch.randn(2, 3, *[4] * num_dims)

    assert cost(F.interpolate, x, None, 2.0, mode) == Work(flops=steps * 2 * 3 * 8**num_dims)
    assert cost(F.interpolate, x, scale_factor=2.0, mode=mode) == cost(F.interpolate, x, None, 2.0, mode)


def test_interpolation_by_area_is_adaptive_pooling() -> None:
    x = torch.randn(2, 3, 5, 7)

    assert cost(F.interpolate, x, size=(3, 4), mode="area") == cost(F.adaptive_avg_pool2d, x, (3, 4))


def test_an_embedding_is_looked_up_and_a_bag_of_them_summed() -> None:
    indices, weight, offsets = torch.tensor([1, 2, 4, 5]), torch.randn(10, 3), torch.tensor([0, 2])

    assert cost(F.embedding, indices, weight) == Work(flops=0)
    assert cost(F.embedding_bag, indices, weight, offsets) == Work(flops=4 * 3)
    assert cost(F.embedding_bag, indices.reshape(2, 2), weight) == Work(flops=4 * 3)
    assert cost(torch.embedding_bag, weight, indices, offsets) == Work(flops=4 * 3)


def test_scattered_additions_cost_one_an_element_added() -> None:
    x, indices, source = torch.zeros(10, 4), torch.tensor([1, 2, 1]), torch.randn(3, 4)

    assert cost(torch.index_add, x, 0, indices, source) == Work(flops=12)
    assert cost(torch.scatter_add, x, 0, indices[:, None].expand(3, 4), source) == Work(flops=12)


def test_distances_cost_three_a_coordinate_of_a_pair() -> None:
    a, b = torch.randn(2, 3, 5), torch.randn(2, 4, 5)

    assert cost(torch.cdist, a, b) == Work(flops=3 * (2 * 3 * 4) * 5)
    assert cost(F.pairwise_distance, a[0], b[0, :3]) == Work(flops=3 * 3 * 5)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (Tensor.view, (6, 4)),
        (Tensor.permute, (2, 0, 1)),
        (Tensor.transpose, (0, 1)),
        (Tensor.__getitem__, (0,)),
        (Tensor.expand, (5, 2, 3, 4)),
        (Tensor.chunk, (2,)),
        (Tensor.to, (torch.float64,)),
        (Tensor.contiguous, ()),
        (torch.flatten, ()),
        (torch.zeros_like, ()),
        (F.pad, ((1, 1),)),
    ],
)
def test_moving_data_costs_nothing(function: Function, args: tuple[object, ...]) -> None:
    assert cost(function, torch.randn(2, 3, 4), *args) == Work(flops=0)


# --- the table ---------------------------------------------------------------------------------------


def test_an_op_that_is_not_in_the_table_is_unknown_and_not_free() -> None:
    assert cost(torch.linalg.svd, torch.randn(3, 3)) is None
    assert cost(torch.sort, torch.randn(3)) is None


def test_every_name_in_the_table_is_a_function_of_torch() -> None:
    overridable = [function for functions in get_overridable_functions().values() for function in functions]
    names = {getattr(function, "__name__", "") for function in overridable}
    names.update(name.split("::")[1].split(".")[0] for name in torch._C._dispatch_get_all_op_names())
    names.update(*(dir(place) for place in (torch, Tensor, F, torch.linalg, torch._C._VariableFunctions)))

    assert set(flops._RULES) <= {name.lower().replace("_", "") for name in names}


def test_no_name_stands_twice_in_the_table() -> None:
    assert sum(len(names.split()) for _, names in flops._TABLE) == len(flops._RULES)


shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
scalars = st.none() | st.integers(0, 3) | st.booleans() | st.text(max_size=5) | st.lists(st.integers(0, 3))


@settings(max_examples=examples(500), deadline=None)
@given(
    op_type=st.sampled_from(sorted(flops._RULES)),
    inputs=st.lists(shapes, max_size=5),
    output=shapes,
    arguments=st.builds(
        Arguments,
        positional=st.lists(scalars, max_size=8),
        keywords=st.dictionaries(st.sampled_from(["kernel_size", "mode", "training", "equation"]), scalars),
    ),
)
def test_a_call_that_makes_no_sense_never_raises(
    op_type: str, inputs: list[tuple[int, ...]], output: tuple[int, ...], arguments: Arguments
) -> None:
    work = work_of(op_type, inputs, output, arguments)

    assert work is None or (work.flops >= 0 and work.macs >= 0)
