"""The ATen calls below an op and below a node are those that a dispatch mode of one's own sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

import torcheer as tl
from tests.capture.outcomes import Does, seed_all, tensors_in
from torcheer.capture.aten import AtenCall

Seen = tuple[str, str, tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]


class Watching(TorchDispatchMode):
    """The oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Seen] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        inputs, outputs = (_shapes(value) for value in ((args, kwargs or {}), out))
        self.seen.append((func._schema.name, func._overloadname, inputs, outputs))
        return out


def _shapes(value: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(tensor.shape) for tensor in tensors_in(value))


def as_seen(call: AtenCall) -> Seen:
    return (call.name, call.overload, call.input_shapes, call.output_shapes)


def forward_calls(history: tl.ModelHistory) -> list[Seen]:
    """Of each call once: all outputs of an op show the same ones."""
    ops = [op for op in history if not op.iterable_output_index]
    return [as_seen(call) for op in ops for call in op.aten_calls]


class Branches(nn.Module):
    """Linear, several outputs, in place, random numbers, an index, a reduction."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 6), nn.BatchNorm1d(6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.linear(x))
        left, right = y.chunk(2, dim=-1)
        z = F.dropout(left * 2, 0.3)
        z.add_(right)
        z[0] = 1
        z = F.relu(z.mul_(2), inplace=True)
        values, _ = z.max(dim=-1)
        return values.mean() + torch.cat([z, right]).std()


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x) + self.attention(x, x, x, need_weights=False)[0]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        output, (hidden, _) = self.lstm(x)
        return output.sum() + hidden.sum()


class Convolving(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(5, 3, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(18, 2))

    def forward(self, x: Tensor) -> Tensor:
        return F.cross_entropy(self.layers(x), torch.tensor([1, 0]))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "branches": (Branches, (5, 4)),
    "attention": (Attending, (2, 5, 8)),
    "lstm": (Recurrent, (6, 2, 8)),
    "convolution": (Convolving, (2, 5, 8)),
}
each_model = pytest.mark.parametrize("name", MODELS)


def made(name: str, *, requires_grad: bool = True) -> tuple[nn.Module, Tensor]:
    seed_all(0)
    make, shape = MODELS[name]
    model, x = make(), torch.randn(shape, requires_grad=requires_grad)
    seed_all(1)
    return model, x


@each_model
def test_the_calls_of_a_forward_are_those_that_were_dispatched(name: str) -> None:
    model, x = made(name)
    with Watching() as watching:
        model(x)

    model, x = made(name)
    history = tl.log_forward_pass(model, x, level="aten")

    assert forward_calls(history) == watching.seen
    assert len(watching.seen) > 5


@each_model
def test_the_calls_of_a_backward_are_those_that_were_dispatched(name: str) -> None:
    model, x = made(name, requires_grad=False)
    loss, one = model(x).sum(), torch.ones(())
    with Watching() as watching:
        loss.backward(one)

    model, x = made(name, requires_grad=False)
    history = tl.log_forward_pass(model, x, level="aten", save_gradients=True)
    backward = history.log_backward(history.output.sum(), one)

    ours = [as_seen(call) for run in backward for call in run.aten_calls]
    rest = iter(watching.seen)
    assert all(call in rest for call in ours), "each in its turn"
    others = list(watching.seen)
    for call in ours:
        others.remove(call)
    # What is left the engine does between the nodes: it adds up gradients that meet in one place.
    assert {name for name, *_ in others} <= {"aten::add", "aten::add_"}
    assert len(ours) > 5


@each_model
def test_results_and_gradients_are_the_same_to_the_last_bit(name: str) -> None:
    model, x = made(name)
    plain = model(x)
    plain.sum().backward()

    ours, ours_x = made(name)
    history = tl.log_forward_pass(ours, ours_x, level="aten", save_gradients=True)
    history.output.sum().backward()

    assert torch.equal(history.output, plain)
    assert torch.equal(ours_x.grad, x.grad)
    for mine, theirs in zip(ours.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad)
    assert not _get_current_dispatch_mode_stack()
    assert torch.equal(torch.rand(3), torch.rand(3, generator=_generator_after(name)))


def _generator_after(name: str) -> torch.Generator:
    """Where the random numbers stand after a plain pass."""
    state = torch.get_rng_state()
    model, x = made(name)
    model(x).sum().backward()
    generator = torch.Generator().set_state(torch.get_rng_state())
    torch.set_rng_state(state)
    return generator


@each_model
def test_a_pass_with_aten_calls_is_still_valid_and_has_the_same_ops(name: str) -> None:
    model, x = made(name)
    history = tl.log_forward_pass(model, x, level="aten")

    assert history.validate()
    again, x = made(name)
    assert history.layer_labels == tl.log_forward_pass(again, x).layer_labels


def test_a_linear_layer_is_a_transpose_and_a_multiplication() -> None:
    history = tl.log_forward_pass(nn.Linear(4, 3), torch.randn(2, 4), level="aten", save_gradients=True)
    one = history.log_backward(history.output.sum())

    forward = history["linear_1"].aten_calls
    assert [(call.name, call.overload) for call in forward] == [
        ("aten::t", "default"),
        ("aten::addmm", "default"),
    ]
    assert forward[1].input_shapes == ((3,), (2, 4), (4, 3))
    assert forward[1].output_shapes == ((2, 3),)
    assert str(forward[0]).startswith("aten::t.default(3×4) -> 4×3  ")
    backward = {run.name: [call.name for call in run.aten_calls] for run in one if run.layer}
    assert "aten::mm" in backward["AddmmBackward0"]
    assert history["input_1"].aten_calls == history["output_1"].aten_calls == []


def test_every_output_of_an_op_shows_its_calls() -> None:
    history = tl.log_forward_pass(Does(lambda x: x.sin().split([1, 2])), torch.randn(3), level="aten")

    for name in ("splitwithsizes_1", "splitwithsizes_2"):
        assert [call.name for call in history[name].aten_calls] == ["aten::split_with_sizes"]
        assert history[name].aten_calls[0].output_shapes == ((1,), (2,))


def test_an_op_in_place_shows_the_call_and_not_the_copy_that_keeps_the_old_value() -> None:
    class Write(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x * 2
            y.add_(1)
            y[0] = 5
            return y

    history = tl.log_forward_pass(Write(), torch.randn(3), level="aten")

    assert torch.equal(history["mul_1"].tensor_contents + 1, history["add_1"].tensor_contents)
    assert [(call.name, call.overload) for call in history["add_1"].aten_calls] == [("aten::add_", "Tensor")]
    assert "aten::clone" not in {call.name for op in history for call in op.aten_calls}


@pytest.mark.parametrize("options", [{"layers_to_save": "none"}, {"activation_postfunc": torch.sum}])
def test_what_we_do_ourselves_never_shows(options: dict[str, Any]) -> None:
    model, x = made("branches")
    with Watching() as watching:
        model(x)

    model, x = made("branches")
    history = tl.log_forward_pass(model, x, level="aten", save_gradients=True, **options)
    history.output.sum().backward()

    assert forward_calls(history) == watching.seen


def test_two_captures_watch_side_by_side() -> None:
    model, x = made("convolution")
    histories = [
        tl.log_forward_pass(model, x, level="aten", save_gradients=True, output_device="meta")
        for _ in range(2)
    ]
    for history in histories:
        history.output.sum().backward()

    of_params = [
        [call.name for run in history.backward_passes[0] if run.node.param for call in run.aten_calls]
        for history in histories
    ]
    assert set(of_params[0]) == {"aten::detach"}  # the gradient is taken as it is
    assert set(of_params[1]) == {"aten::add_"}  # it is added to the one that is there
    assert not _get_current_dispatch_mode_stack()


def test_what_saves_a_kept_gradient_from_the_next_backward_does_not_show() -> None:
    model, x = made("convolution")
    history = tl.log_forward_pass(model, x, level="aten", save_gradients=True)
    history.output.sum().backward(retain_graph=True)
    history.output.sum().backward()

    second = [run for run in history.backward_passes[1] if run.node.param]
    assert second
    assert {call.name for run in second for call in run.aten_calls} == {"aten::add_"}


def test_a_mode_of_the_users_own_sees_what_it_saw_before() -> None:
    model, x = made("lstm")
    with Watching() as alone:
        model(x)
    with Watching() as around:
        history = tl.log_forward_pass(model, x, level="aten")

    assert around.seen == alone.seen
    assert forward_calls(history) == alone.seen


def test_a_forward_that_raises_leaves_no_mode() -> None:
    with pytest.raises(RuntimeError) as caught:
        tl.log_forward_pass(nn.Linear(4, 3), torch.randn(2, 5), level="aten")

    assert not _get_current_dispatch_mode_stack()
    assert caught.value.history.layer_labels == ["input_1_0"]


def test_without_the_level_there_are_no_calls_and_a_wrong_level_is_refused() -> None:
    history = tl.log_forward_pass(nn.Linear(4, 3), torch.randn(2, 4), save_gradients=True)
    one = history.log_backward(history.output.sum())

    assert not any(op.aten_calls for op in history)
    assert not any(run.aten_calls for run in one)
    with pytest.raises(tl.InputError, match="'op', 'aten'"):
        tl.log_forward_pass(nn.Linear(4, 3), torch.randn(2, 4), level="kernel")
