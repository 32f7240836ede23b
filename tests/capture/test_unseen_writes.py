"""A write that no torch call shows: noticed by the tensor's version, and repaired by a second pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl


class Secretive(nn.Module):
    """`set_` shows in no mode. A counter and a dropout would show that the pass was run twice."""

    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        y = self.dropout(x).sin()
        y.set_(x * 3)
        return y + self.count


def test_saved_values_are_those_of_their_moment() -> None:
    x = torch.rand(8)

    history = tl.log_forward_pass(Secretive(), x)

    dropped = history["dropout_1"].tensor_contents
    assert torch.equal(history["sin_1"].tensor_contents, dropped.sin())
    assert any("second time" in note for note in history.notes)


def test_the_second_pass_leaves_no_trace() -> None:
    x = torch.rand(8)
    torch.manual_seed(0)
    plain = Secretive()
    result, after_plain = plain(x), torch.rand(1)
    torch.manual_seed(0)
    model = Secretive()

    history, after_ours = tl.log_forward_pass(model, x), torch.rand(1)

    assert torch.equal(history["output_1"].tensor_contents, result)
    assert torch.equal(after_ours, after_plain)
    assert torch.equal(model.count, plain.count)


def test_the_buffer_is_still_known_by_its_name() -> None:
    history = tl.log_forward_pass(Secretive(), torch.rand(8))

    assert history.buffer_layers == ["buffer_1_1"]
    assert history["buffer_1"].buffer_address == "count"


def test_the_pass_is_valid() -> None:
    model = Secretive()

    assert tl.log_forward_pass(model, torch.rand(8)).validate()


def test_one_layer_saved_alone_is_right_too() -> None:
    model, x = Secretive().eval(), torch.rand(8)

    history = tl.log_forward_pass(model, x, layers_to_save=["sin_1"])

    assert torch.equal(history["sin_1"].tensor_contents, x.sin())


class WrittenPastAutograd(nn.Module):
    """One of several views: after a write past autograd, torch refuses to name its node."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = x * 1
        first, second = y.chunk(2)
        second.detach().mul_(2)
        second.data.add_(1)
        return y.detach(), first.detach(), second.detach()


@pytest.mark.parametrize("options", [{}, {"layers_to_save": "none"}, {"save_gradients": True}])
def test_a_view_that_was_written_past_autograd_is_captured(options: dict[str, Any]) -> None:
    model, x = WrittenPastAutograd(), torch.randn(4, requires_grad=True)

    history = tl.log_forward_pass(model, x, **options)

    outputs = [out.tolist() for out in history.output] if history.output is not None else []
    assert outputs == [out.tolist() for out in model(x)]
    if not options:
        assert torch.equal(history["chunk_2"].tensor_contents, x[2:])
        assert history.validate()
