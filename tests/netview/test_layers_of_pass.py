"""From a pass to a network: which layers there are, what they are called, and what connects them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.netview.models import Made
from torcheer import InputError, log_forward_pass
from torcheer.netview import plan_of
from torcheer.run import NetScene


def scene_of(model: nn.Module, x: Any, layers: Any = "all") -> NetScene:
    return plan_of(log_forward_pass(model, x), model, layers).scene


def names(scene: NetScene) -> list[str]:
    return [layer.name for layer in scene.layers]


def connections(scene: NetScene) -> dict[tuple[str, str], str]:
    return {(one.source, one.target): one.form for one in scene.connections}


class Functional(nn.Module):
    """A small network whose nonlinearities, sums and views are functions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.skip = nn.Conv2d(3, 4, 1)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.conv(x))
        h = F.max_pool2d(h + self.skip(x), 2)
        h = self.drop(h.contiguous().view(h.shape[0], -1))
        return self.fc(h).softmax(-1)


def test_functions_that_compute_are_layers_and_views_and_dropout_are_not() -> None:
    scene = scene_of(Functional(), torch.randn(2, 3, 8, 8))

    assert names(scene) == ["x", "conv", "skip", "add_1", "maxpool2d_1", "fc"]
    assert [layer.shape for layer in scene.layers] == [
        [3, 8, 8],
        [4, 8, 8],
        [4, 8, 8],
        [4, 8, 8],
        [4, 4, 4],
        [5],
    ]
    assert connections(scene) == {
        ("x", "conv"): "conv",
        ("x", "skip"): "conv",
        ("conv", "add_1"): "other",
        ("skip", "add_1"): "other",
        ("add_1", "maxpool2d_1"): "other",
        ("maxpool2d_1", "fc"): "linear",
    }


def test_the_input_is_a_picture_in_colour_where_it_has_three_maps() -> None:
    assert scene_of(Functional(), torch.randn(2, 3, 8, 8)).layers[0].grid.is_colour
    flat = scene_of(nn.Sequential(nn.Linear(4, 3)), torch.randn(2, 4)).layers[0]
    assert flat.is_input
    assert not flat.grid.is_colour


@pytest.mark.parametrize("inplace", [False, True])
def test_a_nonlinearity_after_a_layer_with_weights_belongs_to_it(inplace: bool) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(inplace=inplace), nn.Linear(3, 2))

    scene = scene_of(model, torch.randn(2, 4))

    assert names(scene) == ["input", "0", "2"]
    assert scene.layers[1].variables == ["Act", "Net"]
    assert "ReLU" in scene.layers[1].note
    assert scene.layers[2].variables == ["Act"]


def test_a_nonlinearity_stands_alone_where_somebody_else_reads_what_is_before_it() -> None:
    def gate(m: Any, x: Tensor) -> Tensor:
        h: Tensor = m.fc(x)
        return h * torch.sigmoid(h)

    scene = scene_of(Made(gate, fc=nn.Linear(4, 4)), torch.randn(2, 4))

    assert names(scene) == ["x", "fc", "sigmoid_1", "mul_1"]
    assert scene.layers[1].variables == ["Act"]


def test_a_layer_that_runs_three_times_is_there_three_times_and_of_twenty_the_last() -> None:
    def loop(num_times: int) -> nn.Module:
        def call(m: Any, x: Tensor) -> Tensor:
            for _ in range(num_times):
                x = torch.tanh(m.cell(x))
            return x

        return Made(call, cell=nn.Linear(4, 4))

    three = scene_of(loop(3), torch.randn(2, 4))
    many = scene_of(loop(20), torch.randn(2, 4))

    assert names(three) == ["x", "cell:1", "cell:2", "cell:3"]
    assert connections(three)["cell:1", "cell:2"] == "linear"
    assert {one.weight for one in three.connections} == {"cell.weight"}
    assert names(many) == ["x", "cell"]
    assert "20 times" in many.layers[1].note


def test_what_only_scales_is_a_layer_just_where_weights_read_it() -> None:
    scene = scene_of(Made(lambda m, x: m.fc(x / 255) * 2, fc=nn.Linear(4, 3)), torch.randn(2, 4))

    assert connections(scene) == {("x", "div_1"): "other", ("div_1", "fc"): "linear"}


def test_a_padding_that_is_not_of_zeros_is_no_plain_convolution() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), nn.Conv2d(4, 2, 3))

    assert connections(scene_of(model, torch.randn(2, 3, 8, 8))) == {
        ("input", "0"): "other",
        ("0", "1"): "conv",
    }


def test_a_weight_that_is_computed_is_no_parameter_of_a_connection() -> None:
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), nn.Linear(3, 2))

    assert connections(scene_of(model, torch.randn(2, 4))) == {("input", "0"): "other", ("0", "1"): "linear"}


def test_a_permutation_between_two_layers_is_no_matrix_between_them() -> None:
    model = Made(
        lambda m, x: m.b(m.a(x).transpose(1, 2).flatten(1)), a=nn.Linear(5, 4), b=nn.Linear(4 * 4, 3)
    )
    scene = scene_of(model, torch.randn(2, 4, 5))

    # The dimensions that change places are of equal length: the shape alone does not show it.
    assert connections(scene) == {
        ("x", "a"): "linear",
        ("a", "transpose_1"): "other",
        ("transpose_1", "b"): "linear",
    }


def test_one_picture_without_a_batch_has_no_items() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(0), nn.Linear(4 * 6 * 6, 2))

    scene = scene_of(model, torch.randn(3, 8, 8))

    assert [layer.has_items for layer in scene.layers] == [False, False, False]
    assert [layer.shape for layer in scene.layers] == [[3, 8, 8], [4, 6, 6], [2]]
    assert list(connections(scene).values()) == ["conv", "linear"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("conv", ["x", "conv"]),
        ("*o*v", ["x", "conv"]),
        ([nn.Linear, "add_1"], ["x", "add_1", "fc"]),
        (nn.Conv2d, ["x", "conv", "skip"]),
        (lambda name, module: isinstance(module, nn.Linear), ["x", "fc"]),
    ],
)
def test_layers_are_chosen_by_the_words_of_a_watch(choice: Any, expected: list[str]) -> None:
    assert names(scene_of(Functional(), torch.randn(2, 3, 8, 8), choice)) == expected


def test_layers_that_are_left_out_are_passed_through_and_no_weights_skip_them() -> None:
    scene = scene_of(Functional(), torch.randn(2, 3, 8, 8), ["conv", "fc"])

    assert connections(scene) == {("x", "conv"): "conv", ("conv", "fc"): "other", ("x", "fc"): "other"}


def test_a_choice_that_nothing_answers_to_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"the nearest of . are conv"):
        scene_of(Functional(), torch.randn(2, 3, 8, 8), "cony")


def test_a_recurrent_layer_gives_its_states_too() -> None:
    def call(m: Any, x: Tensor) -> Any:
        output, (hidden, _) = m.lstm(x)
        return m.fc(output) + hidden.mean()

    model = Made(call, lstm=nn.LSTM(4, 3, batch_first=True), fc=nn.Linear(3, 2))
    scene = scene_of(model, torch.randn(2, 5, 4))

    assert names(scene)[:4] == ["x", "lstm", "lstm[1]", "lstm[2]"]
    assert connections(scene)["lstm", "fc"] == "linear"
    assert not scene.layers[2].has_items


def test_attention_weights_are_a_layer_of_heads_and_tokens() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()

    scene = scene_of(layer, torch.randn(3, 5, 8))

    assert names(scene)[:5] == ["src", "self_attn.v", "self_attn.attn", "self_attn.heads", "self_attn"]
    assert scene.layers[2].shape == [2, 5, 5]
    assert connections(scene)["self_attn.v", "self_attn.heads"] == "attention"
    assert connections(scene)["self_attn.heads", "self_attn"] == "linear"


def test_a_model_without_modules_shows_its_functions() -> None:
    first, second = nn.Parameter(torch.randn(4, 6)), nn.Parameter(torch.randn(3, 6))
    model = Made(lambda m, x: torch.tanh(x @ m.first) @ m.second.t(), first=first, second=second)
    scene = scene_of(model, torch.randn(2, 4))

    found = {(one.source, one.target): (one.weight, one.is_transposed) for one in scene.connections}
    assert found == {("x", "matmul_1"): ("first", True), ("matmul_1", "matmul_2"): ("second", False)}


def test_an_input_that_is_called_as_a_module_leaves_it_its_name() -> None:
    scene = scene_of(Made(lambda m, x: m.x(x), x=nn.Linear(4, 4)), torch.randn(2, 4))

    assert names(scene) == ["x (input)", "x"]
    assert connections(scene) == {("x (input)", "x"): "linear"}


class OddBiases(nn.Module):
    """What is added in a layer goes by any name, or by none."""

    def __init__(self) -> None:
        super().__init__()
        self.usual, self.unused, self.none = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 5, bias=False)
        self.matrix, self.b = nn.Parameter(torch.randn(3, 5)), nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> Tensor:
        h = self.usual(x)
        h = F.linear(h, self.unused.weight)
        return F.linear(self.none(h), self.matrix, self.b)


@pytest.mark.parametrize("is_cast", [False, True])
def test_a_connection_says_what_is_added_and_where_nothing_is(is_cast: bool) -> None:
    model = OddBiases()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_cast):
        scene = scene_of(model, torch.randn(2, 4))

    assert [(one.weight, one.bias) for one in scene.connections] == [
        ("usual.weight", "usual.bias"),
        ("unused.weight", ""),
        ("none.weight", ""),
        ("matrix", "b"),
    ]
