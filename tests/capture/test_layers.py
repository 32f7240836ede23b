"""Loops: which executions are passes of one layer, and which only look alike."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models import loops
from tests.capture.models.structure import relu_shared_in_sequence, residual_block, siamese


class Model(nn.Module):
    """A forward given as a function, with layers to use in it."""

    def __init__(self, forward: Callable[..., Tensor], **layers: nn.Module) -> None:
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self._forward = forward

    def forward(self, *inputs: Tensor) -> Tensor:
        return self._forward(self, *inputs)


def passes(model: nn.Module, *inputs: Tensor) -> dict[str, int]:
    """How often each layer ran, by its short label; inputs and outputs left out."""
    return passes_of(tl.log_forward_pass(model, list(inputs)))


def passes_of(history: tl.ModelHistory) -> dict[str, int]:
    return {
        op.layer_label_short: op.layer_passes_total
        for op in history
        if not op.is_input_layer and not op.is_output_layer
    }


def layer() -> nn.Linear:
    return nn.Linear(3, 3)


def x() -> Tensor:
    return torch.rand(3)


# --- one layer, several passes ------------------------------------------------------------


@pytest.mark.parametrize("num_steps", [2, 3, 7])
def test_a_recurrence_is_one_layer_of_each_kind(num_steps: int) -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        h = torch.zeros(3)
        for t in range(num_steps):
            h = torch.tanh(self.a(h) + self.b(x[t]))
        return h

    history = tl.log_forward_pass(Model(forward, a=layer(), b=layer()), torch.rand(7, 3))

    assert passes_of(history) == {
        "zeros_1": 1,
        "linear_1": num_steps,
        "getitem_1": num_steps,
        "linear_2": num_steps,
        "add_1": num_steps,
        "tanh_1": num_steps,
    }
    assert history.model_is_recurrent
    assert history.model_max_recurrent_loops == num_steps
    assert f"at most {num_steps} loops" in str(history)


def test_labels_count_layers_once_and_passes_behind_a_colon() -> None:
    history = tl.log_forward_pass(loops.SimpleRecurrence(), torch.rand(3, 3))

    assert history.layer_labels_no_pass == [
        "input_1_0",
        "zeros_1_1",
        "linear_1_2",
        "getitem_1_3",
        "linear_2_4",
        "add_1_5",
        "tanh_1_6",
        "output_1_7",
    ]
    assert history.layer_labels[6:10] == ["tanh_1_6:1", "linear_1_2:2", "getitem_1_3:2", "linear_2_4:2"]
    assert [op.pass_num for op in history.passes("tanh_1")] == [1, 2, 3]
    assert history["tanh_1:2"].parent_layers == ["add_1_5:2"]


def test_a_loop_that_runs_once_is_none() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for _ in range(1):
            x = torch.tanh(self.a(x))
        return x

    history = tl.log_forward_pass(Model(forward, a=layer()), x())

    assert history.layer_labels == ["input_1_0", "linear_1_1", "tanh_1_2", "output_1_3"]
    assert not history.model_is_recurrent
    assert history.model_max_recurrent_loops == 1


def test_loops_of_other_lengths_have_the_same_layers() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        while x.norm() < 50:
            x = self.a(x).exp() + x
        return x

    model = Model(forward, a=layer())
    short, long = tl.log_forward_pass(model, x() + 20), tl.log_forward_pass(model, x())

    assert len(long) > len(short) > 4
    assert long.layer_labels_no_pass == short.layer_labels_no_pass


def test_a_loop_needs_no_parameters() -> None:
    history = tl.log_forward_pass(loops.loop_without_parameters(), x())

    assert passes_of(history) == {"sin_1": 3, "mul_1": 3}
    assert history.model_max_recurrent_loops == 3


def test_nested_loops_add_up() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for i in range(3):
            x = x + 1
            for _ in range(i):
                x = x * 2
                for _ in range(2):
                    x = x.sin()
        return x

    history = tl.log_forward_pass(Model(forward), x())

    assert passes_of(history) == {"add_1": 3, "mul_1": 3, "sin_1": 6}
    assert history.model_max_recurrent_loops == 6


def test_interleaved_loops_are_told_apart() -> None:
    assert passes(loops.two_strands(), x()) == {"sin_1": 3, "cos_1": 3, "add_1": 1}
    assert passes(loops.interleaved_strands(), x()) == {"add_1": 1, "sin_1": 3, "cos_1": 3, "add_2": 1}


def test_numbers_that_change_from_round_to_round_make_no_new_layers() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for t in (0.1, 0.2, 0.4):
            x = x * t + t
        return x

    assert passes(Model(forward), x()) == {"mul_1": 3, "add_1": 3}


def test_shapes_that_change_from_round_to_round_make_no_new_layers() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        while x.shape[-1] > 1:
            x = F.avg_pool1d(x, 2)
        return x

    assert passes(Model(forward), torch.rand(1, 1, 8)) == {"avgpool1d_1": 3}


def test_the_test_of_a_while_loop_runs_once_more_than_its_body() -> None:
    history = tl.log_forward_pass(loops.while_loop(), torch.ones(3) * 5)

    assert passes_of(history) == {"sum_1": 4, "lt_1": 4, "mul_1": 3}
    assert history.model_max_recurrent_loops == 3
    assert [branch.statement for branch in history.conditional_branches] == ["while"] * 4
    assert [branch.value for branch in history.conditional_branches] == [True, True, True, False]


def test_a_loop_through_a_helper_is_a_loop() -> None:
    assert passes(loops.loop_over_helper(), x()) == {"add_1": 3, "tanh_1": 3}


def test_a_helper_in_two_places_of_a_loop_is_two_layers() -> None:
    history = tl.log_forward_pass(loops.helper_twice_in_loop(), x())

    assert passes_of(history) == {"add_1": 2, "tanh_1": 2, "add_2": 2, "tanh_2": 2}


def test_a_recursion_is_a_loop() -> None:
    history = tl.log_forward_pass(loops.Recursion(), x())

    assert passes_of(history) == {"sin_1": 3}
    assert history.model_max_recurrent_loops == 3


def test_a_block_called_in_a_loop_repeats_all_its_layers() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for _ in range(4):
            x = self.block(x)
        return x

    block = nn.Sequential(layer(), nn.ReLU(), nn.LayerNorm(3), nn.Dropout(0.1))
    history = tl.log_forward_pass(Model(forward, block=block), x())

    assert passes_of(history) == {"linear_1": 4, "relu_1": 4, "layernorm_1": 4, "dropout_1": 4}
    assert history.model_max_recurrent_loops == 4


def test_a_module_that_loops_may_be_called_in_a_loop() -> None:
    history = tl.log_forward_pass(loops.LoopInModuleInLoop(), torch.rand(8))

    assert passes_of(history) == {"linear_1": 4, "relu_1": 4, "add_1": 2}
    assert history.model_max_recurrent_loops == 4


def test_equal_modules_with_loops_of_their_own_stay_apart() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        return self.second(self.first(x))

    inner = loops.LoopInModuleInLoop.Inner
    history = tl.log_forward_pass(Model(forward, first=inner(), second=inner()), torch.rand(8))

    assert passes_of(history) == {"linear_1": 2, "relu_1": 2, "linear_2": 2, "relu_2": 2}
    assert history.model_max_recurrent_loops == 2


def test_the_gates_of_an_lstm_stay_apart() -> None:
    history = tl.log_forward_pass(loops.HandMadeLSTM(), torch.rand(3, 3))

    assert set(passes_of(history).values()) == {1, 2}
    assert {name for name, times in passes_of(history).items() if times == 2} == {
        *("getitem_1", "cat_1", "linear_1", "chunk_1", "chunk_2", "chunk_3", "chunk_4"),
        *("sigmoid_1", "sigmoid_2", "sigmoid_3", "tanh_1", "tanh_2", "mul_1", "mul_2", "mul_3", "add_1"),
    }


def test_one_weight_in_two_loops_is_one_layer_and_what_follows_it_is_not() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for _ in range(2):
            x = torch.relu(self.a(x))
        for _ in range(3):
            x = torch.relu(self.a(x)) * 2
        return x

    history = tl.log_forward_pass(Model(forward, a=layer()), x())

    assert passes_of(history) == {"linear_1": 5, "relu_1": 2, "relu_2": 3, "mul_1": 3}


def test_another_function_in_each_round_is_another_layer() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for activate in (torch.relu, torch.tanh, torch.sigmoid):
            x = activate(self.a(x))
        return x

    assert passes(Model(forward, a=layer()), x()) == {
        "linear_1": 3,
        "relu_1": 1,
        "tanh_1": 1,
        "sigmoid_1": 1,
    }


def test_alternating_branches_of_a_loop_are_two_layers() -> None:
    assert passes(loops.alternating_branches(), x()) == {"cos_1": 2, "sin_1": 2}


def test_a_round_may_be_skipped_or_cut_short() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        for i in range(6):
            x = x * 2
            if i % 2:
                continue
            x = x.sin()
            if i == 4:
                break
            x = x + 1
        return x

    assert passes(Model(forward), x()) == {"mul_1": 5, "sin_1": 3, "add_1": 2}


def test_a_sum_from_zero_is_one_layer() -> None:
    history = tl.log_forward_pass(loops.accumulate_from_zero(), torch.rand(3, 3))

    assert passes_of(history) == {"getitem_1": 3, "exp_1": 3, "add_1": 3}
    assert history.model_max_recurrent_loops == 3


def test_reduce_and_generators_are_loops() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        return functools.reduce(lambda state, _: torch.tanh(self.a(state)), range(3), x)

    assert passes(Model(forward, a=layer()), x()) == {"linear_1": 3, "tanh_1": 3}
    assert passes(loops.LoopInGenerator(), x()) == {"sin_1": 3, "stack_1": 1}


def test_passes_have_the_same_labels_when_only_one_is_saved() -> None:
    model, rows = loops.SimpleRecurrence(), torch.rand(3, 3)
    full = tl.log_forward_pass(model, rows)

    second = tl.log_forward_pass(model, rows, layers_to_save=["tanh_1:2"])
    all_three = tl.log_forward_pass(model, rows, layers_to_save=["tanh_1"])

    assert second.layer_labels == all_three.layer_labels == full.layer_labels
    assert [op.layer_label for op in second if op.has_saved_activations] == ["tanh_1_6:2"]
    assert [op.pass_num for op in all_three if op.has_saved_activations] == [1, 2, 3]
    assert torch.equal(second["tanh_1:2"].tensor_contents, full["tanh_1:2"].tensor_contents)


def test_module_passes_count_the_calls() -> None:
    history = tl.log_forward_pass(loops.SimpleRecurrence(), torch.rand(3, 3))

    assert history["a:3"].layer_label == "linear_1_2:3"
    assert history["a:3"].containing_module_pass == 3


# --- several passes, and no feedback ---------------------------------------------------------


def test_siamese_encoders_are_not_recurrent() -> None:
    history = tl.log_forward_pass(siamese(), [torch.rand(3, 4), torch.rand(3, 4)])

    assert passes_of(history) == {"linear_1": 2, "relu_1": 2, "sub_1": 1}
    assert not history.model_is_recurrent
    assert history.model_max_recurrent_loops == 1


def test_a_layer_over_all_rows_is_not_recurrent() -> None:
    history = tl.log_forward_pass(loops.same_layer_over_rows(), torch.rand(3, 3))

    assert passes_of(history) == {"getitem_1": 3, "linear_1": 3, "relu_1": 3, "stack_1": 1}
    assert not history.model_is_recurrent


def test_a_buffer_that_is_updated_and_read_is_no_loop() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        return self.norm(x) - self.norm.running_mean

    history = tl.log_forward_pass(Model(forward, norm=nn.BatchNorm1d(3)), torch.rand(4, 3))

    assert not history.model_is_recurrent


# --- no loop at all ------------------------------------------------------------------------


def test_layers_in_a_loop_have_relus_of_their_own() -> None:
    history = tl.log_forward_pass(loops.loop_over_layers(), torch.rand(8))

    assert history.layer_labels == [
        "input_1_0",
        "linear_1_1",
        "relu_1_2",
        "linear_2_3",
        "relu_2_4",
        "linear_3_5",
        "relu_3_6",
        "output_1_7",
    ]
    assert not history.model_is_recurrent


@pytest.mark.parametrize(
    "make",
    [
        loops.loop_over_layers_relu_first,
        loops.loop_over_layers_one_re_lu,
        loops.residual_stream,
        loops.densely_connected,
    ],
)
def test_a_loop_over_different_layers_is_no_loop(make: Callable[[], nn.Module]) -> None:
    history = tl.log_forward_pass(make(), torch.rand(8))

    assert set(passes_of(history).values()) == {1}
    assert not history.model_is_recurrent


def test_one_relu_module_in_two_places_is_two_layers() -> None:
    for make in (residual_block, relu_shared_in_sequence):
        history = tl.log_forward_pass(make(), torch.rand(3, 4))

        assert {"relu_1": 1, "relu_2": 1}.items() <= passes_of(history).items()
        assert not history.model_is_recurrent


def test_a_residual_block_with_one_relu_can_be_looked_up_by_its_passes() -> None:
    history = tl.log_forward_pass(residual_block(), torch.rand(3, 4))

    assert history["relu"].layer_label == history["relu:1"].layer_label == "relu_1_2"
    assert history["relu:2"].layer_label == "relu_2_5"


def test_blocks_of_one_class_are_different_layers() -> None:
    model = nn.Sequential(*(residual_block() for _ in range(3)))

    history = tl.log_forward_pass(model, torch.rand(3, 4))

    assert set(passes_of(history).values()) == {1}
    assert len(passes_of(history)) == 15


def test_a_plain_repeat_is_no_loop() -> None:
    history = tl.log_forward_pass(loops.plain_repeat(), x())

    assert passes_of(history) == {"relu_1": 1, "relu_2": 1, "relu_3": 1, "relu_4": 1}
    assert not history.model_is_recurrent


def test_a_helper_called_twice_is_no_loop() -> None:
    assert passes(loops.helper_twice(), x()) == {"add_1": 1, "tanh_1": 1, "add_2": 1, "tanh_2": 1}


def test_heads_side_by_side_have_relus_of_their_own() -> None:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        return torch.cat([torch.relu(head(x)) for head in self.heads])

    model = Model(forward, heads=nn.ModuleList(layer() for _ in range(3)))

    assert set(passes(model, x()).values()) == {1}
