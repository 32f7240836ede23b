"""Run a small model, plainly or captured, from one and the same start; compare what comes out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models import SmallModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A model after a forward, and all that the forward may have changed."""

    model: nn.Module
    inputs: list[Tensor]
    outputs: list[Tensor]
    history: tl.ModelHistory | None
    random_state: tuple[Any, ...]


class Does(nn.Module):
    """A model that is one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def run(small: SmallModel, *, captured: bool, **options: Any) -> Outcome:
    """To be called inside `small.around()`."""
    seed_all(0)
    model = small.make()
    model.train(not small.eval)
    inputs, kwargs = small.inputs(), dict(small.kwargs())
    seed_all(1)
    if captured:
        history = tl.log_forward_pass(model, inputs, kwargs, **options)
        outputs = [history[label].tensor_contents for label in history.output_layers]
    else:
        history = None
        args, named = arguments(small, inputs, kwargs)
        outputs = list(tensors_in(model(*args, **named)))
    return Outcome(
        model=model,
        inputs=list(tensors_in((inputs, kwargs))),
        outputs=outputs,
        history=history,
        random_state=(torch.get_rng_state().tolist(), random.random(), np.random.rand()),
    )


def capture(small: SmallModel, **options: Any) -> tl.ModelHistory:
    history = run(small, captured=True, **options).history
    assert history is not None
    return history


def arguments(small: SmallModel, inputs: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """How a person would call the model with what log_forward_pass is given."""
    if inputs is None:
        return [], kwargs
    if isinstance(inputs, dict) and small.name == "input_by_name":
        return [], {**inputs, **kwargs}
    return (inputs if isinstance(inputs, list) else [inputs]), kwargs


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor of a nested value, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif is_dataclass(value):
        yield from tensors_in([getattr(value, f.name) for f in fields(value)])
    elif isinstance(value, SimpleNamespace):
        yield from tensors_in(vars(value))


def same(a: Tensor, b: Tensor) -> bool:
    """The same numbers, bit for bit but for NaN."""
    a, b = plain_parts(a), plain_parts(b)
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)


def plain_parts(tensor: Tensor) -> Tensor:
    """A strided tensor of real numbers in which two odd ones can be compared."""
    tensor = tensor.detach()
    if tensor.is_nested:
        return torch.cat([part.flatten() for part in tensor.unbind()])
    if tensor.is_quantized:
        return tensor.int_repr()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return torch.nan_to_num(tensor, nan=123.456) if tensor.is_floating_point() else tensor


def name_of(op: tl.Op) -> str:
    """A label as a person writes it: `relu_1`, or `relu_1:2` where the layer runs more than once."""
    return op.layer_label_short + (f":{op.pass_num}" if op.layer_passes_total > 1 else "")
