"""The models that are measured, each with its input; weights are random, nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

NUM_TINY_OPS = 2000

Built = tuple[nn.Module, Any]


def build(name: str) -> Built:
    """A model in eval mode and its input, the same for the same name in every process."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    return model.eval(), inputs


def requiring_grad(inputs: Tensor) -> Tensor:
    """For a model without parameters, the input is what makes autograd work."""
    return inputs.detach().clone().requires_grad_(inputs.is_floating_point())


class LoopOfTinyOps(nn.Module):
    """Four different ops on 8 × 8 numbers, again and again from the same four lines."""

    def __init__(self, num_ops: int) -> None:
        super().__init__()
        self.num_loops = num_ops // 4

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.num_loops):
            y = x * 0.5
            y = torch.tanh(y)
            y = y + x
            x = y.relu()
        return x


class LoopOfWrites(nn.Module):
    """Two in-place ops on 8 × 8 numbers: each value must be copied before it is written over."""

    def __init__(self, num_ops: int) -> None:
        super().__init__()
        self.num_loops = num_ops // 2

    def forward(self, x: Tensor) -> Tensor:
        x = x.clone()
        for _ in range(self.num_loops):
            x.mul_(0.5)
            x.add_(1)
        return x


def unrolled_tiny_ops(num_ops: int) -> nn.Module:
    """The same ops, each from a source line of its own, so that there is no loop to recognise.

    More than 2,000 are spread over modules: tracemalloc is slow to find its line in a long function.
    """
    if num_ops <= NUM_TINY_OPS:
        return _unrolled_block(num_ops)
    return nn.Sequential(*(_unrolled_block(500) for _ in range(num_ops // 500)))


def _unrolled_block(num_ops: int) -> nn.Module:
    lines = ("    y = x * 0.5", "    y = torch.tanh(y)", "    y = y + x", "    x = y.relu()")
    source = "\n".join(["def forward(self, x):", *(lines[i % 4] for i in range(num_ops)), "    return x"])
    names: dict[str, Any] = {"torch": torch}
    exec(compile(source, f"<{num_ops} lines>", "exec"), names)
    return type("UnrolledTinyOps", (nn.Module,), {"forward": names["forward"]})()


def _alexnet() -> Built:
    from examples.alexnet import AlexNet

    return AlexNet(), _image()


def _resnet18() -> Built:
    from tests.vision import torchvision

    return torchvision.models.resnet18(weights=None), _image()


def _vit_b_16() -> Built:
    from tests.vision import torchvision

    return torchvision.models.vit_b_16(weights=None), _image()


def _gpt2() -> Built:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config()
    return GPT2LMHeadModel(config), torch.randint(0, config.vocab_size, (1, 64))


def _tiny_loop() -> Built:
    return LoopOfTinyOps(NUM_TINY_OPS), torch.randn(8, 8)


def _tiny_unrolled() -> Built:
    return unrolled_tiny_ops(NUM_TINY_OPS), torch.randn(8, 8)


def _image() -> Tensor:
    return torch.rand(1, 3, 224, 224)


ARCHITECTURES = ("AlexNet", "ResNet-18", "ViT-B/16", "GPT-2 small, 64 tokens")
TINY = ("2,000 tiny ops, a loop", "2,000 tiny ops, unrolled")

MODELS: dict[str, Callable[[], Built]] = dict(
    zip(
        (*ARCHITECTURES, *TINY),
        (_alexnet, _resnet18, _vit_b_16, _gpt2, _tiny_loop, _tiny_unrolled),
        strict=True,
    )
)
