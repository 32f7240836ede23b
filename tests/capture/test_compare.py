"""Two passes side by side: the first op that differs, and how much all differ."""

import copy
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils import fuse_conv_bn_eval
from torch.testing._comparison import default_tolerances

import torcheer as tl
from tests.many import examples
from tests.vision import torchvision
from torcheer.capture.analysis.compare import compare, difference, usual_tolerance, wider


class Block(nn.Module):
    """A residual block; `extra` is an op that another version of the model does not have."""

    def __init__(self, extra: Any = None) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.up = nn.Linear(6, 12)
        self.down = nn.Linear(12, 6)
        self.extra = extra

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.up(self.norm(x)))
        if self.extra is not None:
            y = self.extra(y)  # the extra op
        return x + self.down(y) * 0.5


def network(num_blocks: int = 4, extra: Any = None) -> nn.Sequential:
    return nn.Sequential(*[Block(extra) for _ in range(num_blocks)])


def pair_of_passes(model: nn.Module, other: nn.Module, x: Tensor) -> tuple[tl.ModelHistory, tl.ModelHistory]:
    return tl.log_forward_pass(model, x), tl.log_forward_pass(other, x)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(3, 6)


# --- the same model --------------------------------------------------------------------


def test_a_pass_is_equal_to_itself(x: Tensor) -> None:
    model = network()

    comparison = compare(*pair_of_passes(model, model, x))

    assert comparison
    assert comparison.first_difference is None
    assert len(comparison) == 1 + 4 * 6 + 1
    assert all(row.label_a == row.label_b and row.max_abs == 0 for row in comparison)
    assert str(comparison).startswith("equal: 26 of 26 pairs of ops are the same to the last bit.")


def test_one_changed_weight_deep_inside_is_found(x: Tensor) -> None:
    model, other = network(), None
    other = copy.deepcopy(model)
    with torch.no_grad():
        other[2].down.weight[1, 3] += 0.1

    comparison = compare(*pair_of_passes(model, other, x))
    first = comparison.first_difference

    assert not comparison
    assert (first.label_a, first.label_b, first.module) == ("linear_6_16", "linear_6_16", "2.down")
    assert first.source_a is not None
    assert first.source_a.code_text == "return x + self.down(y) * 0.5"
    assert first.source_a == first.source_b
    before = list(comparison)[: comparison.table.rows.index(first)]
    assert all(row.max_abs == 0 for row in before)


def test_before_and_after_a_training_step(x: Tensor) -> None:
    model = network()
    for parameter in [*model[0].parameters(), *model[1].parameters(), *model[2].norm.parameters()]:
        parameter.requires_grad_(False)
    before = tl.log_forward_pass(model, x)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)
    model(x).square().sum().backward()
    optimizer.step()

    comparison = compare(before, tl.log_forward_pass(model, x))

    assert comparison.first_difference is not None
    assert comparison.first_difference.module == "2.up"
    assert comparison.table["linear_1"].is_close
    assert not comparison.table["output_1"].is_close


def test_figures_are_those_of_torch(x: Tensor) -> None:
    model, other = network(), network()
    other.load_state_dict({name: value + 0.01 for name, value in model.state_dict().items()})

    a, b = pair_of_passes(model, other, x)
    for row in compare(a, b):
        one, two = a[row.label_a].tensor_contents.double(), b[row.label_b].tensor_contents.double()
        assert row.max_abs == pytest.approx((one - two).abs().max().item())
        assert row.mean_abs == pytest.approx((one - two).abs().mean().item())
        usable = two != 0
        assert row.max_rel == pytest.approx(((one - two)[usable] / two[usable]).abs().max().item())
        largest = torch.maximum(one.abs(), two.abs()).max()
        assert row.relative == pytest.approx(((one - two).abs().max() / largest).item())
        assert row.cosine == pytest.approx(F.cosine_similarity(one.flatten(), two.flatten(), dim=0).item())
        assert row.is_close == torch.allclose(one, two, rtol=row.rtol, atol=row.atol)


def test_the_largest_difference_is_found_and_the_table_sorts(x: Tensor) -> None:
    model = network()
    other = copy.deepcopy(model)
    with torch.no_grad():
        other[1].up.bias += 1

    comparison = compare(*pair_of_passes(model, other, x))
    largest = comparison.max_difference

    assert largest.max_abs == max(row.max_abs or 0 for row in comparison)
    assert comparison.table.sort("max_abs", descending=True)[0].max_abs == largest.max_abs
    assert list(comparison.table.to_pandas().columns) == comparison.table.columns
    assert comparison.table["1.up"].label_a == "linear_3_8"
    text = str(comparison)
    assert "first difference: linear_3_8  in 1.up  3×12" in text
    assert "the largest differences:" in text
    assert repr(comparison).startswith("<Comparison: different: ")
    assert "first difference: linear_3_8" in comparison._repr_html_()


# --- precision -------------------------------------------------------------------------

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.int64,
    torch.bool,
]


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_tolerances_are_those_of_torch_testing(one: torch.dtype, other: torch.dtype) -> None:
    assert tuple(wider(usual_tolerance(one), usual_tolerance(other))) == default_tolerances(one, other)


def test_single_against_half_precision() -> None:
    class Scale(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x * 1.001  # the rounding of bfloat16 allows for this
            z = y - 100.0  # and no longer for this
            return z * 2

    x = torch.full((4,), 100.0)
    a, b = tl.log_forward_pass(Scale(), x), tl.log_forward_pass(Scale(), x.bfloat16())

    comparison = compare(a, b)

    assert comparison.table["mul_1"].is_close
    assert comparison.table["mul_1"].rtol == 1.6e-2
    assert comparison.first_difference is not None
    assert comparison.first_difference.label_a == "sub_1_2"
    assert compare(a, b, atol=1.0)


def test_what_came_through_half_precision_is_judged_by_it() -> None:
    class Mixed(nn.Module):
        def __init__(self, dtype: torch.dtype) -> None:
            super().__init__()
            self.dtype = dtype

        def forward(self, x: Tensor) -> Tensor:
            y = x.to(self.dtype) * 1.5
            return y.float() + 1

    x = torch.rand(50) + 1

    comparison = compare(*pair_of_passes(Mixed(torch.float32), Mixed(torch.bfloat16), x))

    assert comparison
    assert comparison.table["add_1"].rtol == 1.6e-2  # though both are float32 by then
    assert comparison.table["input_1"].rtol == 1.3e-6


def test_given_tolerances_are_used_everywhere(x: Tensor) -> None:
    model = network()
    other = copy.deepcopy(model)
    with torch.no_grad():
        other[0].up.bias += 1e-3
    a, b = pair_of_passes(model, other, x)

    assert not compare(a, b)
    assert compare(a, b, atol=0.1)
    assert not compare(a, b, rtol=1e-9, atol=0)
    assert {row.atol for row in compare(a, b, atol=0.1)} == {0.1}


# --- other structures ------------------------------------------------------------------


def test_an_inserted_op_that_does_nothing_leaves_all_others_paired(x: Tensor) -> None:
    model, other = network(), network(extra=lambda y: y * 1.0)
    other.load_state_dict(model.state_dict())

    comparison = compare(*pair_of_passes(model, other, x))

    assert comparison  # all partners agree, and the output has one
    assert not comparison.only_in_a
    assert len(comparison.only_in_b) == 4
    assert all(label.startswith("mul") for label in comparison.only_in_b)
    assert all(row.max_abs == 0 for row in comparison)
    assert "only in b: mul_1_4" in str(comparison)


def test_an_inserted_op_that_changes_values_is_pointed_at(x: Tensor) -> None:
    model, other = network(), network()
    other.load_state_dict(model.state_dict())
    other[2].extra = torch.tanh

    comparison = compare(*pair_of_passes(model, other, x))

    assert comparison.first_difference is not None
    assert comparison.first_difference.module == "2.down"
    assert comparison.only_in_b == ("tanh_1_16",)


def test_a_missing_op_is_the_same_the_other_way_round(x: Tensor) -> None:
    model, other = network(extra=torch.sigmoid), network()
    other.load_state_dict(model.state_dict())

    comparison = compare(*pair_of_passes(model, other, x))

    assert comparison.only_in_a == tuple(f"sigmoid_{i}_{4 + 7 * (i - 1)}" for i in range(1, 5))
    assert not comparison.only_in_b


class Port(nn.Module):
    """The same network as `network()`, as somebody else would write it."""

    def __init__(self, model: nn.Sequential) -> None:
        super().__init__()
        self.stages = nn.ModuleDict(
            {f"stage{i}": nn.ModuleList([b.norm, b.up, b.down]) for i, b in enumerate(model)}
        )

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        for norm, grow, shrink in self.stages.values():
            hidden = torch.nn.functional.layer_norm(tokens, (6,), norm.weight, norm.bias)
            hidden = torch.addmm(grow.bias, hidden, grow.weight.t())
            hidden = hidden.clamp_min(0)
            hidden = hidden @ shrink.weight.t()
            hidden += shrink.bias
            hidden *= 0.5
            tokens = torch.add(hidden, tokens)
        return {"tokens": tokens}


def test_a_port_with_other_names_and_other_functions_agrees(x: Tensor) -> None:
    model = network()

    comparison = compare(*pair_of_passes(model, Port(model), x), atol=1e-5)

    assert comparison
    assert not comparison.only_in_a
    rows = {row.label_a: row.label_b for row in comparison}
    assert rows["linear_1_2"].startswith("addmm_1_")
    assert rows["relu_1_3"].startswith("clampmin_1_")
    assert rows["linear_2_4"].startswith("add_1_")  # where the bias has been added
    assert {label.split("_")[0] for label in comparison.only_in_b} == {"t", "matmul"}


def test_a_fault_in_a_port_is_found(x: Tensor) -> None:
    model = network()
    port = Port(copy.deepcopy(model))
    with torch.no_grad():
        port.stages["stage1"][0].weight.fill_(2.0)

    comparison = compare(*pair_of_passes(model, port, x), atol=1e-5)

    assert comparison.first_difference is not None
    assert comparison.first_difference.label_a == "layernorm_2_7"
    assert comparison.first_difference.source_b is not None
    assert "layer_norm(tokens" in comparison.first_difference.source_b.code_text


WIDTH = 16


class EncoderBlock(nn.Module):
    """One projection for query, key and value."""

    def __init__(self) -> None:
        super().__init__()
        self.first_norm, self.second_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first_norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(F.gelu(self.up(self.second_norm(x))))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([EncoderBlock() for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class PortedBlock(nn.Module):
    """The same with three projections, and the attention written out; `bug` says what is wrong with it."""

    def __init__(self, block: EncoderBlock, bug: str) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = copy.deepcopy(block.first_norm), copy.deepcopy(block.second_norm)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        weights = block.attention.in_proj_weight.chunk(3), block.attention.in_proj_bias.chunk(3)
        for layer, weight, bias in zip((self.query, self.key, self.value), *weights, strict=True):
            layer.load_state_dict({"weight": weight, "bias": bias})
        self.out = nn.Linear(WIDTH, WIDTH)
        self.out.load_state_dict(block.attention.out_proj.state_dict())
        self.grow, self.shrink = copy.deepcopy(block.up), copy.deepcopy(block.down)
        self.scale = 1.0 if bug == "scale" else 0.5
        self.kind = "tanh" if bug == "gelu" else "none"
        self.norm_2.eps = 1e-2 if bug == "eps" else 1e-5
        if bug == "weight":
            self.shrink.weight.data[0, 0] += 1

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm_1(x)
        query, key, value = (
            layer(y).view(*y.shape[:2], 4, -1).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        weights = (query @ key.transpose(-1, -2) * self.scale).softmax(-1)
        x = x + self.out((weights @ value).transpose(1, 2).reshape(x.shape))
        return x + self.shrink(F.gelu(self.grow(self.norm_2(x)), approximate=self.kind))


class EncoderPort(nn.Module):
    def __init__(self, model: Encoder, bug: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [PortedBlock(block, bug if i == 1 else "") for i, block in enumerate(model.blocks)]
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def test_a_port_that_projects_query_key_and_value_one_by_one_agrees() -> None:
    model = Encoder()

    comparison = compare(
        *pair_of_passes(model, EncoderPort(model, ""), torch.randn(2, 5, WIDTH)), rtol=1e-4, atol=1e-4
    )

    assert comparison, str(comparison)
    # The packed projection is the partner of none of the three.
    assert {label.split("_")[0] for label in comparison.only_in_a} >= {"linear"}
    places = {(row.module, row.module_b) for row in comparison}
    assert {("blocks.2.up", "layers.2.grow"), ("blocks.0.attention", "layers.0.out")} <= places


@pytest.mark.parametrize("way_round", [1, -1])
@pytest.mark.parametrize(
    ("bug", "where"),
    [
        ("scale", ("blocks.1.attention", "layers.1.out")),  # what the attention gives is the first in both
        ("eps", ("blocks.1.second_norm", "layers.1.norm_2")),
        ("gelu", ("blocks.1", "layers.1")),
        ("weight", ("blocks.1.down", "layers.1.shrink")),
    ],
)
def test_the_first_difference_of_a_port_is_its_bug(bug: str, where: tuple[str, str], way_round: int) -> None:
    model = Encoder()
    passes = pair_of_passes(model, EncoderPort(model, bug), torch.randn(2, 5, WIDTH))

    comparison = compare(*passes[::way_round], rtol=1e-4, atol=1e-4)

    first = comparison.first_difference
    assert (first.module, first.module_b) == where[::way_round]
    assert first.max_abs is not None
    if bug == "gelu":
        assert first.type == "gelu"
    assert f"in {first.module} and {first.module_b}" in str(comparison)
    assert {"module", "module_b"} <= set(comparison.table.columns)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_ops_are_told_by_the_values_of_their_parameters(dtype: torch.dtype) -> None:
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(5)]
    moved = [copy.deepcopy(layers[i]).to(dtype) for i in (0, 2, 3, 4)]  # all of them one shape
    with torch.no_grad():
        moved[1].weight[0, 0] += 1  # one touched weight does not make it another
    x = torch.randn(2, WIDTH)

    passes = (
        tl.log_forward_pass(nn.Sequential(*layers), x),
        tl.log_forward_pass(nn.Sequential(*moved), x.to(dtype)),
    )
    rows = {row.module: row.module_b for row in compare(*passes) if row.type == "linear"}

    assert rows == {"0": "0", "2": "1", "3": "2", "4": "3"}


def test_branches_of_other_names_that_run_in_another_order_are_told_by_their_parameters(x: Tensor) -> None:
    class Branches(nn.Module):
        def __init__(self, layers: dict[str, nn.Module]) -> None:
            super().__init__()
            self.layers = nn.ModuleDict(layers)

        def forward(self, x: Tensor) -> Tensor:
            found = {name: layer(x) for name, layer in self.layers.items()}
            return torch.stack([found[name] for name in sorted(found)])

    one, two, three = (nn.Linear(6, 6) for _ in range(3))
    model, other = Branches({"a": one, "b": two, "c": three}), Branches({"z": three, "y": two, "x": one})

    comparison = compare(*pair_of_passes(model, other, x))

    assert comparison, str(comparison)
    assert {(row.module, row.module_b) for row in comparison if row.type == "linear"} == {
        ("layers.a", "layers.x"),
        ("layers.b", "layers.y"),
        ("layers.c", "layers.z"),
    }


class Wide(nn.Module):
    def __init__(self, width: int, scale: float) -> None:
        super().__init__()
        self.up, self.down, self.scale = nn.Linear(6, width), nn.Linear(width, 6), scale

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.up(x).relu()) * self.scale


def test_another_shape_inside_does_not_count_where_all_outputs_agree(x: Tensor) -> None:
    comparison = compare(*pair_of_passes(Wide(8, 0), Wide(9, 0), x))

    assert comparison.only_in_a == ("linear_1_1", "relu_1_2")
    assert [row.label_a for row in comparison.differences] == ["linear_2_3"]


def test_another_shape_inside_counts_where_the_outputs_differ(x: Tensor) -> None:
    comparison = compare(*pair_of_passes(Wide(8, 1), Wide(9, 1), x))

    assert comparison.first_difference is not None
    assert comparison.first_difference.module == "up"
    assert comparison.first_difference.note == "shape 3×8 against 3×9"


@pytest.mark.parametrize("leaves_identity", [True, False])
def test_a_folded_normalisation_agrees(leaves_identity: bool) -> None:
    def stage() -> list[nn.Module]:
        norm = nn.BatchNorm2d(4)
        norm.running_mean, norm.running_var = torch.randn(4), torch.rand(4) + 0.5
        return [nn.Conv2d(4, 4, 3, padding=1), norm, nn.ReLU()]

    stages = [stage() for _ in range(3)]
    model = nn.Sequential(*[layer for one in stages for layer in one]).eval().double()
    folded: list[nn.Module] = []
    for conv, norm, relu in stages:
        folded += [fuse_conv_bn_eval(conv, norm), *([nn.Identity()] if leaves_identity else []), relu]

    comparison = compare(*pair_of_passes(model, nn.Sequential(*folded), torch.randn(2, 4, 5, 5).double()))

    assert comparison
    rows = {row.label_a: row.label_b for row in comparison}
    assert rows["batchnorm_1_4"].startswith("conv2d_1_")
    assert {label.split("_")[0] for label in comparison.only_in_a} == {"conv2d"}
    assert comparison.only_in_b == ()


def test_a_loop_that_runs_once_more(x: Tensor) -> None:
    class Steps(nn.Module):
        def __init__(self, num_steps: int) -> None:
            super().__init__()
            self.step = nn.Linear(6, 6)
            self.num_steps = num_steps

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(self.num_steps):
                x = torch.tanh(self.step(x))
            return x

    model, other = Steps(3), Steps(4)
    other.load_state_dict(model.state_dict())

    comparison = compare(*pair_of_passes(model, other, x))

    assert [row.label_b for row in comparison if row.type == "tanh"] == [f"tanh_1_2:{i}" for i in (1, 2, 3)]
    assert comparison.only_in_b == ("linear_1_1:4", "tanh_1_2:4")
    assert comparison.first_difference is not None
    assert comparison.first_difference.type == "output"


def test_branches_that_run_in_another_order_are_told_by_their_modules(x: Tensor) -> None:
    class Branches(nn.Module):
        def __init__(self, is_swapped: bool) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(6, 6), nn.Linear(6, 6)
            self.is_swapped = is_swapped

        def forward(self, x: Tensor) -> Tensor:
            if self.is_swapped:
                b = self.two(x)
                a = self.one(x)
            else:
                a = self.one(x)
                b = self.two(x)
            return a - b

    model, other = Branches(False), Branches(True)
    other.load_state_dict(model.state_dict())
    a, b = pair_of_passes(model, other, x)

    comparison = compare(a, b)

    assert comparison
    assert [a[row.label_a].containing_module_origin for row in comparison] == ["", "one", "two", "", ""]
    assert [b[row.label_b].containing_module_origin for row in comparison] == ["", "one", "two", "", ""]


def test_the_same_wiring_counts_more_than_names_that_have_moved(x: Tensor) -> None:
    layers = [nn.Linear(6, 6) for _ in range(4)]
    model = nn.Sequential(layers[0], nn.Identity(), *layers[1:])

    comparison = compare(*pair_of_passes(model, nn.Sequential(*layers), x))

    assert comparison
    assert all(row.max_abs == 0 for row in comparison)
    assert not comparison.only_in_a
    assert not comparison.only_in_b


def test_an_expanded_tensor_is_compared_once() -> None:
    class Wide(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.expand(10**9, 10**3, 6)[0, 0] + 1

    comparison = compare(*pair_of_passes(Wide(), Wide(), torch.randn(6)))

    assert comparison.table["expand_1"].max_abs == 0


def test_real_models_are_paired_through_and_through() -> None:
    model = torchvision.models.mobilenet_v3_small().eval()
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.features[6].block[1][0].weight[0] += 0.5

    comparison = compare(*pair_of_passes(model, other, torch.randn(1, 3, 64, 64)))

    assert comparison.first_difference is not None
    assert comparison.first_difference.module == "features.6.block.1.0"
    assert not comparison.only_in_a
    assert not comparison.only_in_b


def test_several_inputs_and_outputs_are_paired_by_name() -> None:
    class Two(nn.Module):
        def __init__(self, swap: bool) -> None:
            super().__init__()
            self.swap = swap

        def forward(self, left: Tensor, right: Tensor) -> dict[str, Tensor]:
            out = {"sum": left + right, "difference": left - right}
            return dict(reversed(out.items())) if self.swap else out

    inputs = [torch.randn(3), torch.randn(3)]
    a = tl.log_forward_pass(Two(False), inputs)
    b = tl.log_forward_pass(Two(True), inputs)

    comparison = compare(a, b)

    assert all(row.is_close for row in comparison)
    names = {a[row.label_a].input_output_address: b[row.label_b].input_output_address for row in comparison}
    assert names == {n: n for n in ("left", "right", "output.sum", "output.difference", None)}
    swapped = compare(a, {"difference": inputs[0] - inputs[1], "sum": inputs[0] + inputs[1]})
    assert swapped


# --- odd values ------------------------------------------------------------------------


class Constant(nn.Module):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = torch.as_tensor(value)

    def forward(self, x: Tensor) -> Tensor:
        return self.value.clone()


def rows_of(a: Any, b: Any) -> Any:
    one, other = pair_of_passes(Constant(a), Constant(b), torch.zeros(1))
    return compare(one, other).table["clone_1"]


def test_nan_in_the_same_places_is_equal_and_said() -> None:
    same = rows_of([math.nan, 1.0, math.inf], [math.nan, 1.0, math.inf])
    near = rows_of([math.nan, 1.0], [math.nan, 1.0 + 1e-7])
    moved = rows_of([math.nan, 1.0], [1.0, math.nan])

    assert (same.is_close, same.max_abs, same.note) == (True, 0, "1 NaN in the same places")
    assert (near.is_close, near.note) == (True, "1 NaN in the same places")
    assert (moved.is_close, moved.max_abs, moved.note) == (False, math.inf, "2 NaN in one of the two only")


@pytest.mark.parametrize(
    ("a", "b", "is_close"),
    [
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([True, False], [True, True], False),
        ([2**53], [2**53 + 1], False),
        ([1 + 1j], [1 + 1j], True),
        ([1 + 1j], [1 + 2j], False),
        ([math.inf], [-math.inf], False),
        ([1.0], [math.inf], False),
        ([math.inf], [1.0], False),
        ([], [], True),
        (1.0, 1.0, True),
        ([1], [1.0], True),
    ],
)
def test_odd_values(a: Any, b: Any, is_close: bool) -> None:
    assert rows_of(a, b).is_close is is_close


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.floats(width=32), min_size=1, max_size=12),
    st.integers(0, 2**31),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_closeness_is_that_of_torch(values: list[float], seed: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(seed)
    a = torch.tensor(values, dtype=torch.float64).to(dtype)
    noise = torch.randn(len(values), generator=generator, dtype=torch.float64) * 1e-6
    b = (a.double() * (1 + noise)).to(dtype)
    tolerance = usual_tolerance(dtype)

    found = difference(a, b, tolerance)

    wide = a.double(), b.double()
    assert (found.verdict == "close") == torch.allclose(*wide, *tolerance, equal_nan=True)


def test_another_shape_is_a_difference() -> None:
    row = rows_of([[1.0, 2.0]], [1.0, 2.0])

    assert row.is_close is False
    assert row.max_abs is None
    assert row.note == "shape 1×2 against 2"


@pytest.mark.parametrize(
    ("a", "b", "relative"),
    [
        ([1e-9, 100.0], [2e-9, 100.0], 1e-11),  # a value next to zero does not make it large
        ([2.0, 0.0], [0.0, 0.0], 1.0),
        ([0.0], [0.0], 0.0),
        ([math.nan, 4.0], [math.nan, 3.0], 0.25),
        ([math.inf], [1.0], math.inf),
        ([], [], None),
    ],
)
def test_the_relative_difference_is_that_to_the_largest_magnitude(a: Any, b: Any, relative: Any) -> None:
    assert rows_of(a, b).relative == (None if relative is None else pytest.approx(relative, rel=1e-4))


# --- what cannot be compared -----------------------------------------------------------


def test_inputs_that_differ_are_said(x: Tensor) -> None:
    model = network()
    a = tl.log_forward_pass(model, x)

    other_values = compare(a, tl.log_forward_pass(model, x + 1))
    other_batch = compare(a, tl.log_forward_pass(model, torch.randn(5, 6)))

    for comparison in (other_values, other_batch):
        assert comparison.first_difference is not None
        assert comparison.first_difference.type == "input"
        assert "give both models the same one" in str(comparison)
    assert "shape 3×6 against 5×6" in str(other_batch)


def test_values_that_were_not_saved_are_counted(x: Tensor) -> None:
    model = network()
    a = tl.log_forward_pass(model, x, layers_to_save=["relu_1", "relu_2", "output_1"])
    b = tl.log_forward_pass(model, x, layers_to_save=["relu_2", "relu_3", "output_1"])

    comparison = compare(a, b)

    assert comparison
    assert [row.label_a for row in comparison if row.is_close] == ["relu_2_9", "output_1_25"]
    assert comparison.num_unseen == 24
    assert "24 pairs were not saved in both" in str(comparison)


def test_nothing_to_compare_is_an_error(x: Tensor) -> None:
    model = network()
    a = tl.log_forward_pass(model, x)
    nothing = tl.log_forward_pass(model, x, layers_to_save="none")
    meta = tl.log_forward_pass(copy.deepcopy(model).to("meta"), x.to("meta"))

    with pytest.raises(tl.InputError, match="layers_to_save='all'"):
        compare(a, nothing)
    with pytest.raises(tl.InputError, match="meta"):
        compare(a, meta)
    with pytest.raises(tl.InputError, match="log_forward_pass"):
        compare(a, model)
    with pytest.raises(tl.InputError, match="takes a history first"):
        compare(model(x), a)  # type: ignore[arg-type]
    with pytest.raises(tl.InputError, match="no tensor"):
        compare(a, "nothing")
    with pytest.raises(tl.InputError, match="save_gradients=True"):
        compare(a, a, of="gradients")


# --- a plain result --------------------------------------------------------------------


def test_eager_against_compiled(x: Tensor) -> None:
    model = network()
    history = tl.log_forward_pass(model, x)
    compiled = torch.compile(model, backend="eager")

    comparison = compare(history, compiled(x))

    assert comparison
    assert [row.label_a for row in comparison] == ["output_1_25"]
    assert "only the outputs were compared" in str(comparison)
    assert not compare(history, model(x) + 1)


def test_a_nest_of_results_is_compared_in_order(x: Tensor) -> None:
    class Heads(nn.Module):
        def forward(self, x: Tensor) -> dict[str, Any]:
            return {"a": x + 1, "b": (x * 2, x * 3)}

    history = tl.log_forward_pass(Heads(), x)

    assert compare(history, {"a": x + 1, "b": (x * 2, x * 3)})
    wrong = compare(history, {"a": x + 1, "b": (x * 2, x * 4)})
    fewer = compare(history, {"a": x + 1})
    assert wrong.first_difference is not None
    assert wrong.first_difference.label_b == "output.b.1"
    assert not fewer
    assert fewer.first_difference is None
    assert len(fewer.only_in_a) == 2


# --- gradients -------------------------------------------------------------------------


def test_gradients_are_compared_in_backward_order(x: Tensor) -> None:
    model = network()
    other = copy.deepcopy(model)
    with torch.no_grad():
        other[1].down.weight[0] += 0.1
    histories = []
    for one in (model, other):
        history = tl.log_forward_pass(one, x, save_gradients=True)
        history.output.sum().backward()
        histories.append(history)

    same = compare(histories[0], histories[0], of="gradients")
    comparison = compare(*histories, of="gradients")

    assert same
    assert {row.label_a for row in same if row.type == "parameter"} == set(dict(model.named_parameters()))
    labels = [row.label_a for row in comparison]
    assert labels.index("linear_8_22") < labels.index("linear_1_2")
    assert comparison.table["3.down.weight"].max_abs is not None
    first = comparison.first_difference
    assert first is not None
    # The values of block 2 on have changed, so its last weight is the first to get another gradient.
    assert first.label_a == "3.down.weight"


def test_gradients_of_a_port_that_projects_one_by_one_agree() -> None:
    packed = Encoder()
    histories = []
    for model in (packed, EncoderPort(packed, "")):
        history = tl.log_forward_pass(model, torch.linspace(-1, 1, 2 * 5 * WIDTH).view(2, 5, WIDTH).sin())
        history.log_backward(history.output.square().sum())
        histories.append(history)

    comparison = compare(*histories, rtol=1e-3, atol=1e-3, of="gradients")

    assert comparison, str(comparison)
    names = {(row.label_a, row.label_b) for row in comparison if row.type == "parameter"}
    assert ("blocks.1.attention.out_proj.weight", "layers.1.out.weight") in names


def test_a_comparison_does_not_keep_the_passes_alive(x: Tensor) -> None:
    import gc
    import weakref

    history = tl.log_forward_pass(network(), x)
    comparison = compare(history, history)
    value = weakref.ref(history["relu_1"].tensor_contents)

    del history
    gc.collect()

    assert value() is None
    assert comparison.table["relu_1"].is_close


def test_statements_in_another_order_are_no_difference() -> None:
    class Attention(nn.Module):
        def __init__(self, order: str) -> None:
            super().__init__()
            self.qkv, self.out, self.order = nn.Linear(8, 24), nn.Linear(8, 8), order

        def forward(self, x: Tensor) -> Tensor:
            parts = dict(zip("qkv", self.qkv(x).chunk(3, -1), strict=True))
            heads = {name: parts[name].view(2, 6, 2, 4).transpose(1, 2) for name in self.order}
            weights = (heads["q"] @ heads["k"].transpose(-1, -2)).softmax(-1)
            return self.out((weights @ heads["v"]).transpose(1, 2).reshape(2, 6, 8))

    torch.manual_seed(0)
    ours, x = Attention("qkv"), torch.randn(2, 6, 8)
    theirs = Attention("kvq")
    theirs.load_state_dict(ours.state_dict())

    same = tl.compare(tl.log_forward_pass(ours, x), tl.log_forward_pass(theirs, x))
    with torch.no_grad():
        theirs.out.bias[0] += 1
    other = tl.compare(tl.log_forward_pass(ours, x), tl.log_forward_pass(theirs, x))

    assert same
    assert not same.differences
    assert other.first_difference.module == "out"
