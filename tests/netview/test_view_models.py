"""Networks that people use: for every connection, what a unit receives sums up to what it holds."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.netview.connection_sums import check_connections
from tests.vision import torchvision
from torcheer.netview import NetView

# They import torchvision, which tests.vision makes possible here.
timm: Any = importlib.import_module("timm")
transformers: Any = importlib.import_module("transformers")

IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
TINY = {"num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 16, "vocab_size": 20}


class Generator(nn.Module):
    """Transposed convolutions with all their settings, and matrices on either side."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.ConvTranspose2d(6, 4, 3, stride=2, groups=2)
        self.second = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1, dilation=2)
        self.matrix = nn.Parameter(torch.randn(6, 6))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(x @ self.matrix) @ self.matrix.t()
        return torch.sigmoid(self.second(F.relu(self.first(x.view(-1, 6, 1, 1)))))


class Odd(nn.Module):
    """Paddings, strides, groups and dilations that are easily got wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.same = nn.Conv1d(4, 6, 4, padding="same", dilation=3)
        self.grouped = nn.Conv1d(6, 6, 3, stride=2, padding=2, groups=3)
        self.volume = nn.Conv3d(2, 3, (1, 2, 3), stride=(1, 2, 1), padding=(0, 1, 2))
        self.fc = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = F.gelu(self.grouped(F.relu_(self.same(x))))
        return self.fc(self.volume(x.reshape(-1, 2, 3, 3, 2)).permute(0, 2, 3, 4, 1))


def _gpt2(attention: str) -> Any:
    config = transformers.GPT2Config(
        n_layer=1,
        n_head=2,
        n_embd=8,
        vocab_size=20,
        n_positions=16,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation=attention,
    )
    return transformers.GPT2LMHeadModel(config)


def _llama(attention: str) -> Any:
    config = transformers.LlamaConfig(
        **TINY, num_key_value_heads=2, intermediate_size=24, attn_implementation=attention
    )
    return transformers.LlamaForCausalLM(config)


def _bert() -> Any:
    return transformers.BertModel(transformers.BertConfig(**TINY, intermediate_size=24))


MODELS: dict[str, tuple[Callable[[], nn.Module], Any, dict[str, int]]] = {
    "resnet18": (
        lambda: torchvision.models.resnet18(num_classes=7),
        torch.randn(2, 3, 32, 32),
        {"conv": 20, "linear": 1},
    ),
    "vit": (
        lambda: timm.models.vision_transformer.VisionTransformer(
            16, 8, embed_dim=8, depth=1, num_heads=2, num_classes=3
        ),
        torch.randn(3, 3, 16, 16),
        {"conv": 1, "linear": 5, "attention": 1},
    ),
    "swin": (
        lambda: timm.models.swin_transformer.SwinTransformer(
            32, 4, embed_dim=8, depths=(2,), num_heads=(2,), window_size=4
        ),
        torch.randn(2, 3, 32, 32),
        {"conv": 1, "linear": 7},
    ),
    "convnext": (
        lambda: timm.create_model("convnext_atto", num_classes=5, depths=(1, 1, 1, 1)),
        torch.randn(2, 3, 32, 32),
        {"conv": 16, "linear": 1},
    ),
    "gpt2": (lambda: _gpt2("sdpa"), IDS, {"embedding": 1, "linear": 5, "attention": 1}),
    "gpt2, written out": (lambda: _gpt2("eager"), IDS, {"embedding": 1, "linear": 5, "attention": 1}),
    "llama": (lambda: _llama("sdpa"), IDS, {"embedding": 1, "linear": 8, "attention": 1}),
    "llama, written out": (lambda: _llama("eager"), IDS, {"embedding": 1, "linear": 8, "attention": 1}),
    "bert with a mask": (
        _bert,
        {"input_ids": IDS, "attention_mask": torch.tensor([[1, 1, 1, 1, 0]] * 2)},
        {"embedding": 1, "linear": 7, "attention": 1},
    ),
    "torch's encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
        torch.randn(3, 5, 8),
        {"linear": 6, "attention": 2},
    ),
    "torch's encoder, tokens first": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16),
        torch.randn(5, 3, 8),
        {"linear": 3},
    ),
    "torch's attention with weights": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        (torch.randn(3, 5, 8),) * 3,
        {"linear": 1, "attention": 1},
    ),
    "generator": (Generator, torch.randn(2, 6), {"linear": 2, "transposed_conv": 2}),
    "odd convolutions": (Odd, torch.randn(3, 4, 9), {"conv": 3, "linear": 1}),
}


@pytest.mark.filterwarnings("ignore:Using padding='same'", "ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", MODELS)
def test_what_the_connections_say_sums_up_to_what_the_layers_hold(name: str, tmp_path: Path) -> None:
    make, x, expected = MODELS[name]
    torch.manual_seed(0)
    with NetView(make().eval(), x, run=tmp_path / "run", weights="all") as view:
        counts = check_connections(view, num_units=3)
        assert view.run.num_dropped == 0
        assert {form: counts.get(form, 0) for form in expected} == expected


def test_the_weights_of_torchs_attention_are_those_that_it_returns(tmp_path: Path) -> None:
    torch.manual_seed(0)
    attention, x = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(3, 5, 8)
    mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    given = {"query": x, "key": x, "value": x, "attn_mask": mask, "average_attn_weights": False}
    expected = attention(**given)[1].detach().numpy()

    for needs_weights in (True, False):  # written out, and by one kernel
        with NetView(
            attention, {**given, "need_weights": needs_weights}, run=tmp_path / str(needs_weights)
        ) as view:
            for item in range(3):
                found = view.values("MultiheadAttention.attn.Act", item=item)
                numpy.testing.assert_allclose(found, expected[item], atol=1e-6)


def test_the_attention_of_gpt2_is_the_same_by_one_kernel_and_written_out(tmp_path: Path) -> None:
    found = []
    for attention in ("sdpa", "eager"):
        torch.manual_seed(0)
        with NetView(_gpt2(attention).eval(), IDS, run=tmp_path / attention) as view:
            found.append(view.values("transformer.h.0.attn.attn.Act", item=1))
    numpy.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert found[0].shape == (2, 5, 5)
    assert not numpy.triu(found[0], 1).any()


def test_a_compiled_model_is_shown_as_what_it_was_made_of(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), torch.randn(2, 4)
    with NetView(torch.compile(model, backend="eager"), x, run=tmp_path / "run") as view:
        assert [layer.name for layer in view.scene.layers] == ["input", "0", "2"]
        numpy.testing.assert_allclose(view.values("2.Act"), model(x)[0].detach().numpy(), rtol=1e-6)
