"""Backward passes in rough company: optimizers inside, passes within passes, failures, many histories."""

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import torcheer as tl
from tests.capture.models.registry import module_with


def test_a_pass_stays_what_it_was_when_another_follows() -> None:
    model = nn.Linear(4, 2)
    history = tl.log_forward_pass(model, torch.randn(3, 4), save_gradients=True)
    first = history.log_backward(history.output[:, 0].sum(), retain_graph=True)

    history.log_backward(history.output[:, 1].sum())

    assert first.param_grads["bias"].tolist() == [3, 0]
    assert history.backward_passes[1].param_grads["bias"].tolist() == [0, 3]
    assert history.param_grads["bias"].tolist() == model.bias.grad.tolist() == [3, 3]


@pytest.mark.parametrize("change", [lambda grad: grad.zero_(), lambda grad: grad.clamp_(max=0.5)])
def test_an_optimizer_that_steps_inside_backward_does_not_change_what_is_kept(change: Any) -> None:
    model = nn.Linear(3, 2)
    for param in model.parameters():
        param.register_post_accumulate_grad_hook(lambda param: (change(param.grad), None)[1])
    history = tl.log_forward_pass(model, torch.ones(2, 3), save_gradients=True)

    history.output.sum().backward()

    assert history.param_grads["weight"].tolist() == [[2, 2, 2], [2, 2, 2]]


class OwnCheckpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, inside: Any) -> Tensor:
        ctx.inside = inside
        ctx.save_for_backward(x)
        with torch.no_grad():
            return inside(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            torch.autograd.backward(ctx.inside(x), grad)
        return x.grad, None


def test_a_function_that_runs_a_backward_of_its_own_is_one_pass() -> None:
    @module_with(lambda: {"layer": nn.Linear(3, 3)})
    def make_make_make_model(self, x: Tensor) -> Tensor:
        return OwnCheckpoint.apply(self.layer(x), lambda y: self.layer(y).tanh())

    model = make_make_make_model()
    history = tl.log_forward_pass(model, torch.randn(2, 3), save_gradients=True)

    backward = history.log_backward(history.output.sum())

    assert len(history.backward_passes) == 1
    assert any(run.name == "OwnCheckpointBackward" for run in backward)
    assert torch.allclose(history.param_grads["layer.weight"], model.layer.weight.grad)


class Flaky(torch.autograd.Function):
    fails = False

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        if Flaky.fails:
            raise ValueError("not this time")
        return grad * 2


@pytest.mark.parametrize("level", ["op", "aten"])
@pytest.mark.parametrize("in_checkpoint", [False, True])
def test_a_backward_that_raised_does_not_spoil_the_next(
    monkeypatch: pytest.MonkeyPatch, level: str, in_checkpoint: bool
) -> None:
    @module_with(lambda: {"layer": nn.Linear(3, 3)})
    def make_make_make_model(self, x: Tensor) -> Tensor:
        def inside(y: Tensor) -> Tensor:
            return Flaky.apply(self.layer(y))

        return checkpoint(inside, x, use_reentrant=True) if in_checkpoint else inside(x)

    model, x = make_make_make_model(), torch.randn(2, 3, requires_grad=True)
    history = tl.log_forward_pass(model, x, save_gradients=True, level=level)
    monkeypatch.setattr(Flaky, "fails", True)
    with pytest.raises(ValueError, match="not this time"):
        history.log_backward(history.output.sum(), retain_graph=True)
    monkeypatch.setattr(Flaky, "fails", False)
    model.zero_grad()

    first = history.log_backward(history.output.sum(), retain_graph=True)
    second = history.log_backward(history.output.sum())

    assert [len(one) for one in history.backward_passes] == [len(first), len(second)]
    assert set(second.param_grads) == {"layer.weight", "layer.bias"}
    assert torch.allclose(history.param_grads["layer.weight"], model.layer.weight.grad)


def test_two_passes_under_one_loss_are_both_watched() -> None:
    model = nn.Linear(3, 2)
    histories = [
        tl.log_forward_pass(model, torch.randn(2, 3), level="aten", save_gradients=True) for _ in range(2)
    ]

    sum(history.output.sum() for history in histories).backward()

    for history in histories:
        runs = history.backward_passes[0]
        assert all(run.aten_calls for run in runs if run.name == "AddmmBackward0")
        names = {call.name for run in runs if run.node.param for call in run.aten_calls}
        assert names <= {"aten::detach", "aten::add_", "aten::clone"}


def test_unscaling_is_noticed_where_most_of_a_gradient_is_zero_or_its_memory_is_permuted() -> None:
    torch.manual_seed(0)
    last = torch.channels_last
    for model, x in (
        (nn.Sequential(nn.Embedding(1000, 8), nn.Linear(8, 2)), torch.tensor([1, 7, 33])),
        (
            nn.Conv2d(3, 4, 3, bias=False).to(memory_format=last),
            torch.randn(2, 3, 8, 8).to(memory_format=last),
        ),
    ):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        history = tl.log_forward_pass(model, x, save_gradients=True)
        scaler.scale(history.output.sum()).backward()

        scaler.unscale_(optimizer)

        assert history.param_grads == {}


def test_a_view_of_a_parameter_shares_the_fate_of_its_gradient() -> None:
    @module_with(lambda: {"weight": nn.Parameter(torch.randn(6))})
    def make_make_make_model(self, x: Tensor) -> Tensor:
        return x @ self.weight.view(2, 3)

    model = make_make_make_model()
    history = tl.log_forward_pass(model, torch.randn(4, 2), save_gradients=True)
    history.output.square().sum().backward()

    model.weight.grad.data.zero_()

    assert history["view_1"].grad_contents is None


def test_what_checkpoints_hold_is_counted_and_a_data_set_is_not() -> None:
    class Blocks(nn.Module):
        def __init__(self, use_reentrant: bool) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(64, 64, bias=False) for _ in range(5))
            self.use_reentrant = use_reentrant

        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = checkpoint(lambda y, block=block: block(y).tanh(), x, use_reentrant=self.use_reentrant)
            return x

    for use_reentrant in (False, True):
        history = tl.log_forward_pass(
            Blocks(use_reentrant), torch.randn(8, 64, requires_grad=True), save_gradients=True
        )
        assert history.saved_for_backward_bytes == 5 * 8 * 64 * 4

    data = torch.randn(1000, 64)
    history = tl.log_forward_pass(nn.Linear(64, 8), data[:32], save_gradients=True)
    assert history.saved_for_backward_bytes == 32 * 64 * 4


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"layers_to_save": ["1"]},
        {"stop_after": "1"},
        {"detach_saved_tensors": True},
        {"activation_postfunc": torch.relu},
        {"save_gradients": True},
        {"edit": {"1": torch.zeros_like}},
        {"level": "aten"},
    ],
    ids=lambda options: "-".join(options) or "default",
)
def test_a_pass_is_freed_as_soon_as_nobody_holds_it(options: dict[str, Any]) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    gc.collect()
    gc.disable()
    try:
        history = tl.log_forward_pass(model, torch.randn(2, 3), **options)
        tape = weakref.ref(history._tape)
        del history
        assert tape() is None
    finally:
        gc.enable()


def test_the_backward_graph_can_be_asked_for_without_having_asked_for_gradients() -> None:
    history = tl.log_forward_pass(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), torch.randn(2, 4))

    assert "TanhBackward0" in str(history.backward_graph)
    assert history.saved_for_backward_bytes > 0
    with pytest.raises(tl.InputError, match="save_gradients"):
        tl.log_forward_pass(nn.Linear(2, 2), torch.randn(1, 2), layers_to_save="none").backward_graph
