"""Figures of every layer, as a table that sorts."""

import builtins
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import torcheer as tl
from tests.capture.outcomes import Does
from tests.many import examples
from tests.vision import torchvision
from torcheer.capture.analysis.stats import LayerStats


def row_of(function: Any, x: Tensor, layer: int = 1) -> LayerStats:
    history = tl.log_forward_pass(Does(function), x)
    return history.stats()[history[layer].layer_label]


def assert_is_as_torch_says(row: LayerStats, value: Tensor) -> None:
    exact = value.detach().to(torch.float64)
    finite = exact[exact.isfinite()]
    assert row.num_values == value.numel()
    assert row.nonfinite == value.numel() - finite.numel()
    assert row.zeros == (pytest.approx((exact == 0).double().mean().item()) if value.numel() else None)
    if not finite.numel():
        assert (row.mean, row.std, row.min, row.max) == (None, None, None, None)
        return
    scale = finite.abs().max().item()
    assert row.mean == pytest.approx(finite.mean().item(), rel=1e-12, abs=1e-13 * scale)
    assert (row.min, row.max) == (finite.min().item(), finite.max().item())
    if finite.numel() > 1:
        assert row.std == pytest.approx(finite.std().item(), rel=1e-9, abs=1e-13 * scale)
    else:
        assert row.std is None


# --- figures ---------------------------------------------------------------------------


def test_every_layer_of_a_real_model_is_as_torch_says() -> None:
    model = torchvision.models.resnet18().eval()

    history = tl.log_forward_pass(model, torch.randn(2, 3, 48, 48))
    table = history.stats()

    layers = [op for op in history if not op.is_buffer_layer]
    assert [row.layer for row in table] == [op.layer_label for op in layers]
    for row, op in zip(table, layers, strict=True):
        assert_is_as_torch_says(row, op.tensor_contents)
        assert (row.type, row.shape, row.module) == (
            op.layer_type,
            op.tensor_shape,
            op.containing_module_origin,
        )


DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int8,
    torch.uint8,
    torch.bool,
]
LAYOUTS: list[Any] = [
    lambda t: t,
    lambda t: t.transpose(0, 2),
    lambda t: t[::2],
    lambda t: t[:, 1:2].expand(-1, 7, -1),
    lambda t: t.permute(2, 0, 1)[..., ::2],
    lambda t: t.flip(0),
]


@settings(max_examples=examples(80), deadline=None)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from(LAYOUTS),
    st.integers(0, 2**31),
    st.floats(0, 0.5),
)
def test_figures_are_those_of_torch_whatever_the_type_and_layout(
    dtype: torch.dtype, layout: Any, seed: int, share_odd: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(4, 3, 5, generator=generator) * 10
    odd = torch.rand(x.shape, generator=generator)
    x[odd < share_odd] = 0
    if dtype.is_floating_point:
        x[odd < share_odd / 3] = math.nan
        x[odd < share_odd / 6] = -math.inf
    x = x.to(dtype)

    assert_is_as_torch_says(row_of(layout, x, layer=-1), layout(x))


def test_many_values_around_a_large_mean_keep_their_digits() -> None:
    x = torch.randn(700_000, dtype=torch.float64) + 1e8

    assert_is_as_torch_says(row_of(lambda x: x * 1, x), x)


def test_an_expanded_tensor_is_read_once() -> None:
    x = torch.tensor([1.0, 0.0, 5.0])

    row = row_of(lambda x: x.expand(10**9, 10**3, 3), x)  # twelve terabytes, were it laid out

    assert (row.num_values, row.mean, row.min, row.max) == (3 * 10**12, 2.0, 0.0, 5.0)
    assert row.zeros == pytest.approx(1 / 3)


@pytest.mark.parametrize("value", [torch.tensor(3.0), torch.zeros(0, 4), torch.tensor([math.nan])])
def test_scalars_empty_tensors_and_nothing_but_nan(value: Tensor) -> None:
    assert_is_as_torch_says(row_of(lambda x: x.clone(), value), value)


def test_complex_figures_are_those_of_the_magnitude() -> None:
    x = torch.tensor([3 + 4j, 0j, 1j])

    assert_is_as_torch_says(row_of(lambda x: x.clone(), x), x.abs())


def test_sparse_values_count_their_zeros() -> None:
    row = row_of(lambda x: x.to_sparse(), torch.tensor([[0.0, 2.0], [0.0, 0.0]]))

    assert (row.num_values, row.zeros, row.mean) == (4, 0.75, 0.5)


def test_the_figures_of_large_whole_numbers_keep_their_ends() -> None:
    row = row_of(lambda x: x.clone(), torch.tensor([2**62 + 1, -(2**62) - 1]))

    assert (row.min, row.max) == (-(2**62) - 1, 2**62 + 1)


# --- loops -----------------------------------------------------------------------------


def test_passes_of_a_loop_are_put_together_or_shown_by_pass() -> None:
    def loop(x: Tensor) -> Tensor:
        for _ in range(3):
            x = torch.relu(x - 0.5)
        return x

    history = tl.log_forward_pass(Does(loop), torch.randn(20, 4))
    together = torch.cat([op.tensor_contents for op in history.passes("relu_1")])

    assert_is_as_torch_says(history.stats()["relu_1"], together)
    by_pass = history.stats(by_pass=True)
    for op in history.passes("relu_1"):
        assert by_pass[op.layer_label].layer == op.layer_label
        assert_is_as_torch_says(by_pass[op.layer_label], op.tensor_contents)
    assert len(by_pass) == len(history)
    assert len(history.stats()) == len(history.layer_labels_no_pass)


def test_a_unit_of_a_loop_is_dead_when_it_is_so_in_every_pass() -> None:
    def loop(x: Tensor) -> Tensor:
        for step in range(2):
            y = torch.relu(x + torch.tensor([[1.0, -1.0, 0.0]]) * (1 if step else -1))
        return y

    history = tl.log_forward_pass(Does(loop), torch.zeros(4, 3))

    assert history.stats()["relu_1"].dead == 1
    assert [row.dead for row in history.stats(by_pass=True) if row.type == "relu"] == [2, 2]


def test_passes_of_different_shapes_have_no_shape() -> None:
    def loop(x: Tensor) -> Tensor:
        for size in (2, 4):
            y = torch.relu(x[:size])
        return y

    row = tl.log_forward_pass(Does(loop), torch.ones(4, 3)).stats()["relu_1"]

    assert row.shape is None
    assert (row.num_values, row.units, row.dead) == (18, 3, 0)


# --- units -----------------------------------------------------------------------------


def dead_units(model: nn.Module, x: Tensor, key: str = "relu_1") -> tuple[int | None, int | None]:
    row = tl.log_forward_pass(model.eval(), x).stats()[key]
    return row.dead, row.units


def with_dead(layer: Any, units: list[int]) -> Any:
    with torch.no_grad():
        layer.weight[units] = 0
        layer.bias[units] = -1
    return layer


def test_dead_channels_of_a_convolution() -> None:
    model = nn.Sequential(with_dead(nn.Conv2d(3, 8, 3), [1, 5]), nn.ReLU())

    assert dead_units(model, torch.randn(16, 3, 9, 9)) == (2, 8)
    assert dead_units(model, torch.randn(3, 40, 40)) == (2, 8)  # without a batch


def test_dead_features_of_a_linear_layer() -> None:
    model = nn.Sequential(with_dead(nn.Linear(4, 8), [0, 3, 7]), nn.ReLU())

    assert dead_units(model, torch.randn(64, 4)) == (3, 8)
    assert dead_units(model, torch.randn(5, 30, 4)) == (3, 8)
    assert dead_units(model, torch.randn(3, 5, 20, 4)) == (3, 8)  # four dimensions, and still features


@pytest.mark.parametrize(
    "activation",
    [
        nn.ReLU(),
        nn.ReLU6(),
        nn.Threshold(0, 0),
        nn.Hardtanh(0, 3),
        Does(lambda x: x.clamp(min=0)),
        nn.ReLU(True),
    ],
)
def test_every_rectifier_has_dead_units(activation: nn.Module) -> None:
    model = nn.Sequential(with_dead(nn.Conv1d(2, 4, 3), [2]), nn.BatchNorm1d(4), activation)
    history = tl.log_forward_pass(model.eval(), torch.randn(16, 2, 20))

    row = history.stats()[history["2"].layer_label]

    assert (row.dead, row.units) == (1, 4)


def test_units_are_followed_through_a_permutation() -> None:
    class ChannelsLast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 6, 1)
            self.fc = with_dead(nn.Linear(6, 5), [4])

        def forward(self, x: Tensor) -> Tensor:
            first = F.relu(self.fc(self.conv(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2))
            return first.sum() + F.relu(self.conv(x).transpose(1, 3)).sum()

    history = tl.log_forward_pass(ChannelsLast(), torch.randn(8, 3, 7, 7))
    table = history.stats()

    is_dead = (history["relu_1"].tensor_contents == 0).all(dim=3).all(dim=2).all(dim=0)
    assert is_dead[4]
    assert (table["relu_1"].units, table["relu_1"].dead) == (5, int(is_dead.sum()))
    assert table["relu_2"].units == 6


def test_a_dead_relu_tops_the_table_and_masks_do_not() -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = with_dead(nn.Linear(4, 6), [1])
            self.drop = nn.Dropout(0.9)

        def forward(self, x: Tensor) -> Tensor:
            mask = torch.zeros(x.shape[0], 6)
            mask[0] = 1
            return self.drop(F.relu(self.fc(x))) * mask

    table = tl.log_forward_pass(Masked().train(), torch.randn(50, 4)).stats()

    top = table.sort("dead", descending=True)
    assert (top[0].layer, top[0].dead) == (table["relu_1"].layer, 1)
    assert {row.type for row in table if row.dead is not None} == {"linear", "relu"}
    assert table["linear_1"].dead == 0


def test_a_pruned_layer_shows_its_dead_units() -> None:
    layer = nn.Linear(4, 6, bias=False)
    with torch.no_grad():
        layer.weight[[0, 2]] = 0

    assert dead_units(layer, torch.randn(20, 4), "linear_1") == (2, 6)


# --- saturation ------------------------------------------------------------------------

BOUNDED: list[tuple[Any, Any]] = [
    (torch.sigmoid, lambda y: (y <= 0.01) | (y >= 0.99)),
    (torch.tanh, lambda y: y.abs() >= 0.98),
    (F.hardtanh, lambda y: y.abs() == 1),
    (lambda x: F.hardtanh(x, -2, 0.5), lambda y: (y == -2) | (y == 0.5)),
    (F.relu6, lambda y: y == 6),
    (nn.ReLU6(), lambda y: y == 6),
    (F.hardsigmoid, lambda y: (y == 0) | (y == 1)),
    (lambda x: x.clamp(-1, 2), lambda y: (y == -1) | (y == 2)),
    (lambda x: x.clamp(max=2), lambda y: y == 2),
]


@pytest.mark.parametrize(("function", "at_an_end"), BOUNDED)
def test_the_share_at_the_ends_of_a_bounded_activation(function: Any, at_an_end: Any) -> None:
    x = torch.linspace(-9, 9, 500, dtype=torch.float64)

    expected = at_an_end(function(x)).double().mean().item()

    assert expected > 0
    assert row_of(function, x).saturated == pytest.approx(expected)


@pytest.mark.parametrize("function", [torch.relu, torch.exp, lambda x: x * 2, lambda x: x.clamp(min=0)])
def test_saturation_has_no_meaning_elsewhere(function: Any) -> None:
    assert row_of(function, torch.randn(5)).saturated is None


# --- the table -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def history() -> tl.ModelHistory:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2), nn.Sigmoid())
    return tl.log_forward_pass(model, torch.randn(6, 4))


def test_a_row_is_found_by_every_key_of_the_history(history: tl.ModelHistory) -> None:
    table = history.stats()

    for key in ("relu_1_2", "relu_1", "relu", "1"):
        assert table[key].layer == "relu_1_2"
    assert table[2].layer == "relu_1_2"
    assert table[-1].layer == "output_1_5"
    assert [row.layer for row in table[1:3]] == ["linear_1_1", "relu_1_2"]
    with pytest.raises(tl.LayerNotFoundError, match="relu_9"):
        table["relu_9"]


def test_sorting_makes_a_new_table_and_puts_what_is_missing_last(history: tl.ModelHistory) -> None:
    table = history.stats()

    for descending in (False, True):
        by_share = table.sort("saturated", descending=descending)
        assert [row.saturated is None for row in by_share] == [False] + [True] * 5
        means = [row.mean for row in table.sort("mean", descending=descending)]
        assert means == sorted((row.mean for row in table), reverse=descending)  # type: ignore[type-var]
    assert [row.layer for row in table] == history.layer_labels
    assert table.sort("mean")["relu_1"] == table["relu_1"]
    with pytest.raises(tl.InputError, match="num_values"):
        table.sort("size")


def test_rows_can_be_chosen(history: tl.ModelHistory) -> None:
    assert [row.layer for row in history.stats().where(lambda row: row.type == "linear")] == [
        "linear_1_1",
        "linear_2_3",
    ]


def test_the_table_as_text_and_html(history: tl.ModelHistory) -> None:
    table = history.stats()
    lines = str(table).splitlines()

    assert lines[0].split() == table.columns
    assert lines[4].split()[:4] == ["relu_1_2", "relu", "1", "6×3"]
    assert "<td style='text-align:left'>relu_1_2</td>" in table._repr_html_()
    assert repr(table) == "<StatsTable: 6 rows>"


def test_the_table_as_a_data_frame(history: tl.ModelHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    table = history.stats()
    frame = table.to_pandas()

    assert list(frame.columns) == table.columns
    assert list(frame["layer"]) == history.layer_labels
    assert frame["mean"][2] == table["relu_1"].mean

    real_import = builtins.__import__

    def without_pandas(name: str, *args: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real_import(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(tl.InputError, match=r"torcheer\[pandas\]"):
        table.to_pandas()


def test_a_table_does_not_keep_the_pass_alive() -> None:
    import gc
    import weakref

    history = tl.log_forward_pass(nn.Linear(2, 2), torch.ones(1, 2))
    table = history.stats()
    value = weakref.ref(history["linear_1"].tensor_contents)

    del history
    gc.collect()

    assert value() is None
    assert table["linear_1"].num_values == 2


def test_layers_that_were_not_saved_are_left_out_and_said() -> None:
    history = tl.log_forward_pass(
        nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.randn(2, 4), layers_to_save=["relu_1"]
    )
    table = history.stats()

    assert [row.layer for row in table] == ["relu_1_2"]
    assert "3 layers are not shown" in str(table)
    with pytest.raises(tl.LayerNotFoundError, match="not saved"):
        table["linear_1"]


def test_nothing_saved_is_said() -> None:
    nothing = tl.log_forward_pass(nn.Linear(2, 2), torch.ones(1, 2), layers_to_save="none")
    meta = tl.log_forward_pass(nn.Linear(2, 2, device="meta"), torch.ones(1, 2, device="meta"))

    with pytest.raises(tl.InputError, match="layers_to_save='all'"):
        nothing.stats()
    with pytest.raises(tl.InputError, match="meta"):
        meta.stats()
    with pytest.raises(tl.InputError, match="save_gradients=True"):
        nothing.stats("gradients")
    with pytest.raises(tl.InputError, match="'weights'"):
        nothing.stats("weights")


def test_figures_of_gradients() -> None:
    model = nn.Sequential(with_dead(nn.Linear(4, 5), [2]), nn.ReLU(), nn.Linear(5, 3), nn.Sigmoid())
    history = tl.log_forward_pass(model, torch.randn(30, 4), save_gradients=True)
    history.output.sum().backward()

    table = history.stats("gradients")

    for key in ("linear_1", "relu_1", "linear_2"):
        assert_is_as_torch_says(table[key], history[key].grad_contents)
    assert table["linear_1"].dead == 1  # no gradient reaches a dead unit
    assert all(row.saturated is None for row in table)


class Sizes(TorchDispatchMode):
    """Notes how large the tensors are that are made for the time being; views do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        is_new = isinstance(result, Tensor) and not any(
            isinstance(one, Tensor) and one.untyped_storage()._cdata == result.untyped_storage()._cdata
            for one in args
        )
        self.largest = max(self.largest, result.untyped_storage().nbytes() if is_new else 0)
        return result


@pytest.mark.parametrize(
    "look",
    [
        lambda one, other: one.stats(),
        lambda one, other: tl.compare(one, other),
        lambda one, other: one.first_nonfinite(),
    ],
    ids=["stats", "compare", "first_nonfinite"],
)
def test_to_look_at_large_tensors_takes_little_memory(look: Any) -> None:
    x = torch.randn(1 << 22)
    one, other = (tl.log_forward_pass(Does(lambda a: a * 2), x + shift) for shift in (0.0, 1e-9))

    with Sizes() as sizes:
        look(one, other)

    assert sizes.largest <= x.nbytes // 4
