"""A checkpoint lets go of what is inside, and changes nothing of the gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import torcheer.autograd as T
from torcheer.autograd import checkpoint, grad, tracer
from torcheer.errors import AutogradError


def leaf(seed: int) -> tracer:
    source = torch.Generator().manual_seed(seed)
    return tracer(torch.randn(4, 4, generator=source, dtype=torch.float64), requires_grad=True)


def block(weight: tracer) -> Callable[[Any], Any]:
    """With a parameter that is no argument, and random numbers."""
    return lambda x: torch.tanh(torch.tanh(x @ weight) @ weight) * torch.rand(4, 4, dtype=torch.float64)


def gradients(around: Callable[..., Any], *, second: bool = False) -> list[Tensor]:
    x, w = leaf(0), leaf(1)
    torch.manual_seed(3)
    f = block(w)
    loss = around(f, around(f, x)).sum()
    torch.rand(1)  # random numbers in between are nobody's business
    if second:
        (first,) = grad(loss, [x], create_graph=True)
        loss = (first * first).sum()
    loss.backward()
    assert x.grad is not None
    assert w.grad is not None
    return [x.grad, w.grad]


def plainly(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def nested(function: Callable[..., Any], *args: Any) -> Any:
    return checkpoint(lambda *inner: checkpoint(function, *inner), *args)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("around", [checkpoint, nested])
def test_gradients_are_those_without(around: Callable[..., Any], second: bool) -> None:
    for one, other in zip(gradients(around, second=second), gradients(plainly, second=second), strict=True):
        assert torch.equal(one, other)


def test_random_numbers_go_on_as_without() -> None:
    gradients(checkpoint)
    after = torch.rand(3)

    gradients(plainly)

    assert torch.equal(after, torch.rand(3))


def test_values_inside_are_let_go() -> None:
    x = T.randn(500, 500, requires_grad=True)
    kept = checkpoint(lambda a: (a.exp() + 1).log().sum(), x)
    node = kept.grad_fn

    assert node.inputs == ()
    assert node.parents[0].value.numel() == 0
    kept.backward()
    torch.testing.assert_close(x.grad, torch.sigmoid(x.data))


def test_nothing_is_remembered_where_nothing_is_to_be() -> None:
    with T.no_grad():
        assert not checkpoint(torch.exp, leaf(0)).requires_grad


def test_a_function_that_does_something_else_the_second_time_is_refused() -> None:
    calls: list[int] = []

    def moody(x: Any) -> Any:
        calls.append(1)
        return x.exp() if len(calls) == 1 else x.sin() * 2

    with pytest.raises(AutogradError, match="did other ops"):
        checkpoint(moody, leaf(0)).sum().backward()


def test_a_function_that_raises_on_the_way_back_leaves_no_trace() -> None:
    calls: list[int] = []

    def fragile(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("not again")
        return x.exp()

    with pytest.raises(ValueError, match="not again"):
        checkpoint(fragile, leaf(0)).sum().backward()

    for one, other in zip(gradients(checkpoint), gradients(plainly), strict=True):
        assert torch.equal(one, other)
