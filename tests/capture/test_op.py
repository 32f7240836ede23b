"""What an op says of itself."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import torcheer as tl
from examples.alexnet import AlexNet
from tests.capture.models.registry import module_with


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2)
        self.register_buffer("shift", torch.ones(8, 1, 1))
        self.fc = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        y += self.shift
        noise = torch.zeros(8)
        pooled = F.dropout(y.mean((2, 3)), 0.5) + noise
        dead = pooled * 2  # noqa: F841
        return self.fc(pooled)


@pytest.fixture(scope="module")
def history() -> tl.ModelHistory:
    return tl.log_forward_pass(Small(), torch.randn(2, 3, 9, 9))


def test_the_tensor(history: tl.ModelHistory) -> None:
    op = history["conv2d_1"]

    assert op.tensor_shape == (2, 8, 4, 4)
    assert op.tensor_dtype == torch.float32
    assert op.tensor_device == torch.device("cpu")
    assert op.tensor_fsize == 2 * 8 * 4 * 4 * 4
    assert op.grad_fn_name == "ConvolutionBackward0"
    assert op.requires_grad
    assert op.tensor_contents.shape == (2, 8, 4, 4)


def test_the_function(history: tl.ModelHistory) -> None:
    op = history["conv2d_1"]

    assert op.func_applied is torch.conv2d
    assert op.func_applied_name == "conv2d"
    assert op.func_args == ("input_1_0", "conv.weight", "conv.bias", (2, 2), (0, 0), (1, 1), 1)
    assert op.func_args_non_tensor == [2, 2, 0, 0, 1, 1, 1]
    assert op.func_time_elapsed > 0
    assert not op.function_is_inplace
    assert history["add_1"].function_is_inplace
    assert history["mean_1"].func_args[1] == (2, 3)
    assert history["input_1"].func_applied is None


def test_the_parameters(history: tl.ModelHistory) -> None:
    params = history["conv2d_1"].parent_params

    assert [(p.address, p.shape, p.num_elements) for p in params] == [
        ("conv.weight", (8, 3, 3, 3), 216),
        ("conv.bias", (8,), 8),
    ]
    assert history["conv2d_1"].computed_with_params
    assert not history["mean_1"].computed_with_params


def test_the_source_line(history: tl.ModelHistory) -> None:
    line = history["conv2d_1"].source_line

    assert line is not None
    assert line.file == __file__
    assert line.code_text == "y = self.conv(x)"
    assert line.function == "Small.forward"
    stack = history["conv2d_1"].func_call_stack
    assert stack[0].function == "Conv2d._conv_forward"
    assert stack[-1] == line


def test_randomness_is_told_and_its_state_kept(history: tl.ModelHistory) -> None:
    assert history["dropout_1"].func_rng_state is not None
    assert history["conv2d_1"].func_rng_state is None


def test_the_place_in_the_model(history: tl.ModelHistory) -> None:
    op = history["linear_1"]

    assert op.containing_module_origin == "fc"
    assert op.containing_modules_origin_nested == ["fc"]
    assert op.modules_exited == ["fc"]
    assert history["mean_1"].containing_module_origin == ""


def test_the_graph_around_it(history: tl.ModelHistory) -> None:
    op = history["add_2"]

    assert op.parent_layers == ["dropout_1_5", "zeros_1_3"] or set(op.parent_layers) == {
        history["dropout_1"].layer_label,
        history["zeros_1"].layer_label,
    }
    assert op.child_layers == [history["mul_1"].layer_label, history["linear_1"].layer_label]
    assert history["mul_1"].sibling_layers == [history["linear_1"].layer_label]
    assert history["zeros_1"].spouse_layers == [history["dropout_1"].layer_label]
    assert op.input_ancestors == ["input_1_0"]
    assert op.output_descendants == history.output_layers
    assert (op.min_distance_from_input, op.min_distance_from_output) == (5, 2)
    assert history["zeros_1"].initialized_inside_model
    assert not history["zeros_1"].has_input_ancestor
    assert history["buffer_1"].buffer_address == "shift"
    assert not history["mul_1"].is_output_ancestor
    assert history.orphan_layers == [history["mul_1"].layer_label]
    assert history.internally_initialized_layers == [history["zeros_1"].layer_label]
    assert history.buffer_layers == [history["buffer_1"].layer_label]
    assert history.model_is_branching


@pytest.mark.parametrize("make", [AlexNet, lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)])
def test_macs_are_those_that_torch_counts(make) -> None:  # type: ignore[no-untyped-def]
    model = make().train()
    x = torch.randn(1, 3, 224, 224) if isinstance(model, AlexNet) else torch.randn(2, 5, 16)
    with FlopCounterMode(display=False) as counter:
        model(x)

    history = tl.log_forward_pass(model, x)

    assert 2 * history.total_macs == counter.get_total_flops()
    assert history.total_flops >= 2 * history.total_macs


def test_autocast_is_recorded() -> None:
    @module_with(lambda: {"fc": nn.Linear(4, 4)})
    def cast(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.fc(x)
        return y.float()

    history = tl.log_forward_pass(cast(), torch.randn(2, 4))

    assert history["linear_1"].func_autocast_state == {"cpu": torch.bfloat16}
    assert history["linear_1"].tensor_dtype == torch.bfloat16
    assert history["float_1"].func_autocast_state == {}
    assert history.validate()


def test_what_an_opened_function_holds() -> None:
    history = tl.log_forward_pass(nn.MultiheadAttention(4, 2), [torch.randn(3, 1, 4)] * 3)

    assert history["softmax_1"].containing_functions == ["multi_head_attention_forward"]
    assert history["softmax_1"].containing_module_origin == ""


def test_outputs_of_one_call_are_told_apart() -> None:
    class Chunks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            a, b = x.chunk(2)
            return a * b

    history = tl.log_forward_pass(Chunks(), torch.randn(4))

    assert [history[f"chunk_{i}"].iterable_output_index for i in (1, 2)] == [0, 1]
    assert history["mul_1"].iterable_output_index is None


def test_conditional_branches_say_what_decided_and_what_followed() -> None:
    class Branches(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                x = x * 2
                x = x + 1
            else:
                x = x - 1
            while x.max() > 1:
                x = x / 2
            return x.relu() if x.min() < 0 else x.abs()

    history = tl.log_forward_pass(Branches(), torch.full((2,), 1.0))
    branches = history.conditional_branches

    assert history.model_has_conditional_branching
    assert branches[0].layer == history["gt_1"].layer_label
    assert (branches[0].value, branches[0].statement, branches[0].taken) == (True, "if", "then")
    assert branches[0].followed_by == [history["mul_1"].layer_label, history["add_1"].layer_label]
    assert [(b.statement, b.value) for b in branches[1:-1]] == [("while", True)] * 2 + [("while", False)]
    assert branches[-1].statement == "if-expression"
    assert branches[-1].followed_by == [history["abs_1"].layer_label]
    assert history["gt_1"].is_terminal_bool_layer


def test_flops_of_a_convolution(history: tl.ModelHistory) -> None:
    outputs = math.prod((2, 8, 4, 4))

    assert history["conv2d_1"].macs == outputs * 27
    assert history["conv2d_1"].flops == outputs * (2 * 27 + 1)
