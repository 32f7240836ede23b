"""What torch itself says of a step, asked the long way, and some models to ask it of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from tests.inspector.fake_child import Seen
from torcheer.inspector.frame_format import RowFlag
from torcheer.inspector.layer_hooks import first_tensor
from torcheer.inspector.sampling import LARGE

SAMPLE = 512


class Oracle:
    """Keeps all of one step: outputs of layers and their gradients, and parameters before and after."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.values: dict[str, Tensor] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        handles = [
            module.register_forward_hook(self._keeping(f"{name}." if name else ""))
            for name, module in self.model.named_modules()
        ]
        before = {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        for name, parameter in self.model.named_parameters():
            self.values[name] = parameter.detach().clone()
            # Not in half precision: a difference of two short numbers need not be a short number itself.
            self.values[f"{name}.Delta"] = as_exact(parameter.detach()) - as_exact(before[name])
            if parameter.grad is not None:
                self.values[f"{name}.Grad"] = parameter.grad.clone()

    def _keeping(self, prefix: str) -> Callable[..., None]:
        # Not retain_grad, which follows a tensor that is changed in place: it is the gradient of the output.
        def keep_gradient(gradient: Tensor) -> None:
            self.values[f"{prefix}Grad"] = gradient.clone()

        def keep(_module: nn.Module, _args: Any, output: Any) -> None:
            tensor = first_tensor(output)
            if tensor is not None:
                self.values[f"{prefix}Act"] = tensor.detach().clone()
                if tensor.requires_grad:
                    tensor.register_hook(keep_gradient)  # type: ignore[no-untyped-call]

        return keep


def as_exact(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def as_numbers(tensor: Tensor) -> NDArray[numpy.float64]:
    tensor = tensor.coalesce().values() if tensor.is_sparse else tensor
    tensor = tensor.abs() if tensor.is_complex() else tensor
    return tensor.detach().double().numpy()


def check(seen: Seen, name: str, tensor: Tensor) -> None:
    row, numbers = seen.row(name), as_numbers(tensor)
    assert row["num_elements"] == numbers.size
    assert seen.shape(name) == numbers.shape
    assert seen.dtype(name) == str(tensor.dtype).removeprefix("torch.")
    sample = seen.sample(name)
    if numbers.size <= SAMPLE:
        assert numpy.array_equal(sample, numbers.astype(numpy.float32).reshape(-1), equal_nan=True), name
    else:
        assert len(sample) == SAMPLE
        assert numpy.isin(sample, numbers.astype(numpy.float32)).all()
    if numbers.size > SAMPLE:
        assert row["flags"] & RowFlag.NORM, name
        assert row["norm"] == pytest.approx(numpy.linalg.norm(numbers), rel=1e-5, abs=1e-30)
    if SAMPLE < numbers.size <= LARGE:
        assert row["flags"] & RowFlag.MOMENTS, name
    if row["flags"] & RowFlag.MOMENTS:
        scale = numpy.abs(numbers).mean()
        assert row["mean"] == pytest.approx(numbers.mean(), abs=1e-5 * scale)
        assert row["std"] == pytest.approx(numbers.std(ddof=1), rel=1e-4, abs=1e-6 * scale)
        assert (row["low"], row["high"]) == (numbers.min(), numbers.max())


def cnn() -> tuple[nn.Module, Tensor]:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.Conv2d(16, 8, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 7 * 7, 10),
    )
    return model, torch.randn(6, 3, 16, 16)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 70, batch_first=True)
        self.head = nn.Linear(70, 3)

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.lstm(x)
        head: Tensor = self.head(outputs[:, -1])
        return head


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32, sparse=False)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 50)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.encoder(self.embedding(x)))
        return out


MODELS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "cnn": cnn,
    "cnn in channels last": lambda: (
        cnn()[0].to(memory_format=torch.channels_last),  # type: ignore[call-overload]
        cnn()[1].contiguous(memory_format=torch.channels_last),
    ),
    "double": lambda: (cnn()[0].double(), cnn()[1].double()),
    "bfloat16": lambda: (cnn()[0].bfloat16(), cnn()[1].bfloat16()),
    "lstm": lambda: (Recurrent(), torch.randn(4, 9, 5)),
    "transformer": lambda: (Attending(), torch.randint(0, 50, (3, 12))),
    "one linear layer": lambda: (nn.Linear(300, 40), torch.randn(7, 300)),
    "complex": lambda: (nn.Linear(60, 40, dtype=torch.complex64), torch.randn(7, 60, dtype=torch.complex64)),
}


def train_step(model: nn.Module, optimizer: Optimizer, x: Tensor) -> None:
    optimizer.zero_grad()
    output = model(x)
    (output.abs() if output.is_complex() else output).float().square().mean().backward()
    optimizer.step()


def hooks_of(model: nn.Module, optimizer: Optimizer | None = None) -> int:
    count = sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) + len(module._backward_hooks)
        for module in model.modules()
    )
    for parameter in model.parameters():
        count += len(getattr(parameter, "_backward_hooks", None) or ())
        count += len(getattr(parameter, "_post_accumulate_grad_hooks", None) or ())
    if optimizer is not None:
        count += len(optimizer._optimizer_step_pre_hooks) + len(optimizer._optimizer_step_post_hooks)
    return count
