"""Passes on meta tensors and under FakeTensorMode: structure, work and memory, with no values."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import torcheer as tl
from tests.copying import ROOT, run_copy
from torcheer.errors import InputError


class Net(nn.Module):
    """Branches, in-place ops, a view that is written into, a loop, a buffer, dropout and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.cell = nn.Linear(8, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.1)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.register_buffer("scale", torch.ones(8))

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        y = self.relu(self.norm(self.conv(x))) * 2
        y[:, 0] += 1
        left, right = y[..., :2], y[..., 2:]
        left.mul_(2)
        y = torch.cat([left, right + 1], dim=3)
        tokens = y.flatten(2).transpose(1, 2) * self.scale
        h = torch.zeros_like(tokens[:, 0])
        for t in range(3):
            h = torch.tanh(self.cell(h) + tokens[:, t])
        attended, _ = self.attention(tokens, tokens, tokens)
        states, _ = self.lstm(attended)
        return {"h": h, "states": states.mean(1)}


@contextmanager
def fake_net() -> Iterator[tuple[Net, torch.Tensor]]:
    with FakeTensorMode():
        yield Net(), torch.randn(2, 3, 4, 4)


@contextmanager
def meta_net() -> Iterator[tuple[Net, torch.Tensor]]:
    with torch.device("meta"):
        net, x = Net(), torch.randn(2, 3, 4, 4)
    yield net, x


@pytest.fixture(params=[meta_net, fake_net], ids=["meta", "fake"])
def dataless(request: pytest.FixtureRequest) -> Iterator[tuple[Net, torch.Tensor]]:
    with request.param() as net_and_input:
        yield net_and_input


@pytest.fixture
def real() -> tl.ModelHistory:
    return tl.log_forward_pass(Net(), torch.randn(2, 3, 4, 4))


def test_structure_work_and_memory_are_those_of_a_real_pass(
    real: tl.ModelHistory, dataless: tuple[Net, torch.Tensor]
) -> None:
    history = tl.log_forward_pass(*dataless)

    assert history.layer_labels == real.layer_labels
    assert [op.parent_layers for op in history] == [op.parent_layers for op in real]
    assert [op.tensor_shape for op in history] == [op.tensor_shape for op in real]
    assert [op.tensor_dtype for op in history] == [op.tensor_dtype for op in real]
    assert history.total_flops == real.total_flops
    assert history.tensor_fsize_total == real.tensor_fsize_total
    assert history.total_params_fsize == real.total_params_fsize
    assert history.model_is_recurrent


def test_nothing_counts_as_saved_and_the_history_says_why(dataless: tuple[Net, torch.Tensor]) -> None:
    history = tl.log_forward_pass(*dataless)

    assert history.is_shape_only
    assert history.num_tensors_saved == 0
    assert history.tensor_fsize_saved == 0
    assert history["conv"].tensor_contents is None
    assert any("shape-only" in note for note in history.notes)
    assert "shape-only" in str(history)
    with pytest.raises(InputError, match="shape-only"):
        history.validate()


def test_a_real_pass_is_not_shape_only(real: tl.ModelHistory) -> None:
    assert not real.is_shape_only
    assert not any("shape-only" in note for note in real.notes)


def test_backward_runs_without_values(dataless: tuple[Net, torch.Tensor]) -> None:
    net, x = dataless
    history = tl.log_forward_pass(net, x, save_gradients=True, level="aten")

    backward = history.log_backward(history.output["h"].sum() + history.output["states"].sum())

    assert {run.node.param for run in backward} - {""} == {name for name, _ in net.named_parameters()}
    assert history["conv"].grad_contents is not None
    assert history["conv"].grad_contents.shape == (2, 8, 4, 4)
    assert history.saved_for_backward_bytes > 0
    assert any(call.name == "aten::convolution" for call in history["conv"].aten_calls)


def test_a_fake_pass_does_to_real_weights_what_a_plain_fake_forward_does() -> None:
    nets, x = [Net(), Net()], torch.randn(2, 3, 4, 4)
    nets[1].load_state_dict(nets[0].state_dict())

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        nets[0](mode.from_tensor(x))
        history = tl.log_forward_pass(nets[1], mode.from_tensor(x))

    assert history["norm"].tensor_shape == (2, 8, 4, 4)
    for name, value in nets[0].state_dict().items():
        assert torch.equal(value, nets[1].state_dict()[name]), name


def test_a_summary_needs_no_values() -> None:
    with torch.device("meta"):
        net, x = nn.Sequential(nn.Linear(10**6, 10**5), nn.ReLU()), torch.empty(1, 10**6)

    text = str(tl.summary(net, x))

    assert "100,000,100,000 parameters" in text


def test_only_chosen_layers_and_an_early_end(dataless: tuple[Net, torch.Tensor]) -> None:
    history = tl.log_forward_pass(*dataless, layers_to_save=["conv"], stop_after="relu")

    assert history.stopped_after == "relu_1_7"
    assert history["conv"].tensor_shape == (2, 8, 4, 4)


LLAMA_70B = """
import resource
import sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
import tests.vision
import torch
from transformers import LlamaConfig, LlamaForCausalLM
import torcheer as tl

config = LlamaConfig(
    hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64,
    num_key_value_heads=8, vocab_size=128256, max_position_embeddings=8192,
)
with torch.device("meta"):
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    words = torch.zeros(1, 2048, dtype=torch.long)
history = tl.log_forward_pass(model, words, save_gradients=True)
history.log_backward(history.output.logits.float().sum())
figures = (history.total_params, len(history), history.total_flops, history.saved_for_backward_bytes)
print(*figures, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.many
def test_a_llama_of_70_billion_parameters_fits_in_2_gigabytes() -> None:
    limit = 12 * 2**30  # of address space: torch alone maps several gigabytes; 140 of weights would not fit

    result = run_copy(["-c", LLAMA_70B, str(limit)], cwd=ROOT)

    assert result.returncode == 0, result.stderr[-2000:]
    num_params, num_ops, flops, saved_bytes, resident_kb = map(int, result.stdout.split()[-5:])
    assert num_params == 70_553_706_496
    assert num_ops > 4_000
    assert 2 * 70e9 * 2048 < flops < 1.1 * 2 * 70.6e9 * 2048
    assert saved_bytes > 10e9
    assert resident_kb * 1024 < 2e9
