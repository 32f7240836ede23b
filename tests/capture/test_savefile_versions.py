"""Passes that earlier versions of torcheer saved still open, with the values that the models give today.

The files in tests/files/v1 were made by the functions below and are never written again.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.capture.outcomes import same

FILES: Final = Path(__file__).parents[1] / "files" / "v1"


class Mixed(nn.Module):
    """A loop, a branch, writes in place, a buffer, dropout, views and several types."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Dropout(0.5))
        self.register_buffer("scale", torch.tensor(2.0))
        for number, param in enumerate(self.parameters()):
            values = torch.arange(param.numel()) % (3 + number) - 1.0  # small whole numbers: exact anywhere
            param.data.copy_(values.reshape(param.shape))

    def forward(self, x: Tensor, words: Tensor) -> dict[str, Tensor]:
        for t in range(len(words)):
            x = torch.clamp(self.cell(x) + words[t], -8, 8)
        x = x * 2 if x.sum() > 0 else x - 1
        y = torch.zeros(2, 4)
        y[:, 1:3] = x[:, :2].detach()
        first, second = y.t().chunk(2)
        x = self.inner(x) * self.scale
        return {
            "x": x,
            "bfloat16": x.detach().bfloat16() + 1,
            "half": second.half(),
            "whole": words.cumsum(0),
            "truth": y > 0,
            "complex": torch.complex(first, -first).conj(),
            "wide": y[:, :1].expand(2, 50).double(),
        }


def with_gradients() -> tl.ModelHistory:
    history = tl.log_forward_pass(
        Mixed(),
        [torch.arange(8.0).reshape(2, 4).requires_grad_(), torch.tensor([1, -2, 3])],
        save_gradients=True,
        level="aten",
        edit={"relu_1": lambda tensor: tensor * 2},
        random_seed=3,
    )
    history.log_backward(history.output["x"].sum(), retain_graph=True)
    history.output["x"].square().sum().backward()
    return history


class OddKinds(nn.Module):
    """Values that are no plain tensors."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        zeros = torch.zeros(3, dtype=torch.long)
        return (
            x.to_sparse(),
            x.to_sparse_csr(),
            torch.quantize_per_tensor(x, 0.5, 3, torch.quint8),
            torch.quantize_per_channel(x, torch.ones(3) / 2, zeros, 1, torch.qint8),
            torch.nested.nested_tensor([x[0], x[1, :2]]),
            x.to(torch.float8_e5m2).view(torch.uint8),
            x.to(torch.complex128),
        )


def of_odd_kinds() -> tl.ModelHistory:
    return tl.log_forward_pass(OddKinds(), torch.arange(6.0).reshape(2, 3))


def with_changed_values() -> tl.ModelHistory:
    return tl.log_forward_pass(
        nn.Sequential(nn.ReLU(), nn.Flatten()),
        torch.arange(-4.0, 4.0).reshape(2, 2, 2),
        layers_to_save=["relu"],
        activation_postfunc=lambda t: {"mean": t.mean(), "shape": [tuple(t.shape)], 3: t.detach().numpy()},
    )


PASSES: Final[dict[str, Callable[[], tl.ModelHistory]]] = {
    "gradients": with_gradients,
    "odd_kinds": of_odd_kinds,
    "changed_values": with_changed_values,
}


def plain(value: Any) -> Any:
    """Whatever can be compared with ==, but for tensors."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if hasattr(value, "tolist") and not isinstance(value, Tensor) else value


def is_same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_same(a[key], b[key]) for key in a)
    if isinstance(a, Tensor) and a.dtype == torch.float8_e5m2:
        a, b = a.view(torch.uint8), b.view(torch.uint8)
    if isinstance(a, Tensor):
        return a.dtype == b.dtype and a.layout == b.layout and same(a, b)
    return bool(plain(a) == plain(b))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PASSES)
def test_a_file_of_the_first_version_has_the_values_of_the_pass(name: str) -> None:
    loaded, fresh = tl.load_history(FILES / f"{name}.safetensors"), PASSES[name]()

    assert loaded.layer_labels == fresh.layer_labels
    assert loaded.module_addresses == fresh.module_addresses
    assert (loaded.edits, loaded.notes) == (fresh.edits, fresh.notes)
    asked = (
        "tensor_contents tensor_shape tensor_dtype parent_layers child_layers containing_module_origin "
        "unedited_contents edited_by func_rng_state grads flops input_output_address"
    ).split()
    for ours, theirs in zip(loaded, fresh, strict=True):
        for question in asked:
            assert is_same(getattr(ours, question), getattr(theirs, question)), (ours.layer_label, question)
        assert [call.name for call in ours.aten_calls or ()] == [c.name for c in theirs.aten_calls or ()]
    branches = [(b.layer, b.value, b.statement, b.taken, b.followed_by) for b in loaded.conditional_branches]
    assert branches == [
        (b.layer, b.value, b.statement, b.taken, b.followed_by) for b in fresh.conditional_branches
    ]
    assert is_same(loaded.param_grads, fresh.param_grads)
    assert [one.kind for one in loaded.backward_passes] == [one.kind for one in fresh.backward_passes]
    if fresh.backward_passes:
        assert [node.name for node in loaded.backward_graph] == [n.name for n in fresh.backward_graph]


def test_a_jagged_value_of_the_first_version_has_its_parts() -> None:
    value = tl.load_history(FILES / "jagged.safetensors")["mul_1"].tensor_contents

    x = torch.arange(6.0).reshape(2, 3)
    assert value.layout == torch.jagged
    assert all(map(torch.equal, value.unbind(), [2 * x, 2 * x[:1]]))
