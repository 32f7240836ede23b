"""Gradients of parts of a tensor, which are written into one sum: in every order they are torch's."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from torcheer.autograd import grad, tracer

ROWS, COLUMNS = 5, 4
ints = st.integers(-ROWS, ROWS - 1)
slices = st.slices(ROWS).filter(lambda s: s.step is None or s.step > 0)
keys = st.one_of(
    ints,
    slices,
    st.just(...),
    st.just(None),
    st.tuples(slices, st.integers(0, COLUMNS - 1)),
    st.tuples(st.just(...), st.slices(COLUMNS).filter(lambda s: s.step is None or s.step > 0)),
    st.lists(ints, min_size=1, max_size=4).map(torch.tensor),
    st.just("whole"),
)


def loss_of(x: Any, parts: list[Any]) -> tuple[Any, Any]:
    """A sum of squares of parts, each weighed in another way; between x and its parts is one op."""
    y = x * 3
    total = 0.0
    for weight, key in enumerate(parts, 1):
        part = y if isinstance(key, str) else y[key]
        total = total + weight * (part**2).sum()
    return y, total


def first() -> Tensor:
    return torch.linspace(-1, 2, ROWS * COLUMNS, dtype=torch.float64).reshape(ROWS, COLUMNS)


@given(st.lists(keys, min_size=1, max_size=8))
def test_parts_of_a_tensor_add_up_as_in_torch(parts: list[Any]) -> None:
    theirs, ours = first().requires_grad_(), tracer(first(), requires_grad=True)
    their_y, their_loss = loss_of(theirs, parts)
    our_y, our_loss = loss_of(ours, parts)
    for y in (their_y, our_y):
        y.retain_grad()
    seen: list[Tensor] = []
    our_y.register_hook(lambda gradient: seen.append(gradient.clone()))

    their_loss.backward()
    our_loss.backward()

    assert isinstance(ours.grad, Tensor)
    torch.testing.assert_close(ours.grad, theirs.grad)
    torch.testing.assert_close(our_y.grad, their_y.grad)
    torch.testing.assert_close(seen[0], their_y.grad)


@given(st.lists(keys, min_size=1, max_size=5))
def test_parts_have_gradients_of_gradients(parts: list[Any]) -> None:
    found = []
    for x, gradient in (
        (first().requires_grad_(), torch.autograd.grad),
        (tracer(first(), requires_grad=True), grad),
    ):
        (slope,) = gradient(loss_of(x, parts)[1], [x], create_graph=True)
        (second,) = gradient((slope**3).sum(), [x])
        found.append(second)

    torch.testing.assert_close(found[1].as_subclass(Tensor), found[0])


def test_a_sequence_read_step_by_step_makes_one_tensor_for_its_gradient() -> None:
    num_steps = 300
    ours = tracer(torch.ones(num_steps, 50), requires_grad=True)
    steps = ours * 1.0
    state = torch.zeros(50)
    for step in range(num_steps):
        state = torch.tanh(state + steps[step])
    zeros, made = torch.zeros, []

    def counted(*args: Any, **kwargs: Any) -> Tensor:
        made.append(args)
        return zeros(*args, **kwargs)

    torch.zeros = counted
    try:
        state.sum().backward()
    finally:
        torch.zeros = zeros

    assert len(made) == 1
    assert ours.grad is not None
    assert ours.grad[-1].any()
