"""The walk back: what is remembered, what is let go, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import torcheer.autograd as ag
from tests.autograd.against import agrees, sampled
from torcheer.autograd import torch_calls as calls
from torcheer.autograd import tracer
from torcheer.errors import AutogradError, InputError


def leaf(*values: float) -> tracer:
    return tracer(list(values), requires_grad=True)


# --- graphs ----------------------------------------------------------------------------------------------

GRAPHS: dict[str, Callable[..., Any]] = {
    "a chain": lambda x, y: torch.tanh(torch.exp(x.sin() * 0.3)),
    "a branch that joins again": lambda x, y: x.exp() * x.sin() + x,
    "one value used many times": lambda x, y: sum((x * place for place in range(5)), start=y) * x * x,
    "two inputs in several ways": lambda x, y: (x @ y.T).relu() + x[0, 0] * y.sum(),
    "views of views": lambda x, y: x.view(-1)[2:8].reshape(2, 3).T.unsqueeze(0)[..., 1] * y[0, 0],
    "pieces put together anew": lambda x, y: torch.cat([x[1:], y[:1]]) * torch.stack([y[0], y[1], x[0]]),
    "an index that repeats": lambda x, y: x[[0, 0, 1]] * y[[2, 1, 1]],
    "a part that leads nowhere": lambda x, y: (x * y, x.exp())[0],
    "a diamond of diamonds": lambda x, y: (lambda a: (lambda b: b * a + b.cos() * b)(a.sin() + a * y))(x * y),
    "the same tensor on both sides": lambda x, y: x * x + x / x + torch.maximum(x, x) + (x @ x.T).sum(),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_are_those_of_torch(name: str) -> None:
    agrees(GRAPHS[name], sampled([(3, 4), (3, 4)], seed=3))


def test_gradients_add_up_until_they_are_set_to_none() -> None:
    x = leaf(1, 2)
    for _ in range(2):
        (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8]

    x.grad = None
    (x * x).sum().backward()

    assert x.grad.tolist() == [2, 4]


def test_a_gradient_is_an_ordinary_tensor() -> None:
    x = leaf(1, 2)
    x.sum().backward()

    assert type(x.grad) is Tensor


def test_backward_of_several_numbers_wants_to_know_what_arrives() -> None:
    x = leaf(1, 2)
    with pytest.raises(AutogradError, match="sum it"):
        (x * 2).backward()

    (x * 2).backward(torch.tensor([1.0, 10.0]))

    assert x.grad.tolist() == [2, 20]
    with pytest.raises(InputError, match="shape"):
        (x * 2).backward(torch.ones(3))


def test_backward_of_something_that_wants_none_says_so() -> None:
    with pytest.raises(AutogradError, match="requires_grad_"):
        tracer([1.0]).sum().backward()


def test_only_the_inputs_that_are_named_get_a_gradient() -> None:
    x, y = leaf(2), leaf(3)
    (x * y).sum().backward(inputs=[x])

    assert x.grad.tolist() == [3]
    assert y.grad is None


# --- asking for gradients --------------------------------------------------------------------------------


def test_grad_returns_gradients_and_leaves_those_of_leaves_alone() -> None:
    x, y = leaf(2), leaf(3)
    h = x * y

    by_h, by_x = ag.grad((h * h).sum(), [h, x])

    assert by_h.tolist() == [12]
    assert by_x.tolist() == [36]
    assert x.grad is None


def test_grad_of_several_outputs_is_that_of_their_sum() -> None:
    x = leaf(2, 5)
    gradients = ag.grad([x.sum(), x * x], x, grad_outputs=[None, torch.tensor([1.0, 10.0])])

    assert gradients[0].tolist() == [5, 101]


def test_an_input_without_a_part_is_an_error_or_none() -> None:
    x, y = leaf(2), leaf(3)
    with pytest.raises(AutogradError, match="allow_unused"):
        ag.grad(x.sum(), [x, y])

    assert ag.grad(x.sum(), [x, y], allow_unused=True)[1] is None
    with pytest.raises(AutogradError, match="input 1"):
        ag.grad(x.sum(), [x, torch.ones(1)])


def test_gradients_of_gradients_of_gradients() -> None:
    x = tracer(torch.tensor(0.7, dtype=torch.float64), requires_grad=True)
    value, slopes = torch.sin(x), []
    for _ in range(4):
        (value,) = ag.grad(value, x, create_graph=True)
        slopes.append(value.item())

    at = torch.tensor(0.7, dtype=torch.float64)
    assert slopes == pytest.approx([at.cos().item(), -at.sin().item(), -at.cos().item(), at.sin().item()])


def test_create_graph_in_backward_gives_gradients_that_have_gradients() -> None:
    x = leaf(3)
    (x**3).sum().backward(create_graph=True)
    penalty = (x.grad**2).sum()

    assert x.grad.requires_grad
    assert ag.grad(penalty, x)[0].tolist() == [2 * 27 * 18]


# --- what is remembered ----------------------------------------------------------------------------------


def test_nothing_is_remembered_inside_of_no_grad() -> None:
    x = leaf(1, 2)
    with ag.no_grad():
        inside = x * 2
        with ag.enable_grad():
            again = x * 2
        assert not ag.is_grad_enabled()

    assert not inside.requires_grad
    assert again.requires_grad
    assert ag.is_grad_enabled()


def test_no_grad_is_a_decorator_and_ends_when_something_is_raised() -> None:
    @ag.no_grad()
    def fails() -> None:
        assert not ag.is_grad_enabled()
        raise KeyError

    with pytest.raises(KeyError):
        fails()

    assert ag.is_grad_enabled()
    assert ag.no_grad(lambda x: x * 2)(leaf(1)).requires_grad is False


def test_detach_forgets_where_a_value_came_from_and_shares_its_memory() -> None:
    x = leaf(1, 2)
    (x * (x * 3).detach()).sum().backward()
    assert x.grad.tolist() == [3, 6]

    assert x.detach().data_ptr() == x.data_ptr()
    assert not x.detach().requires_grad
    assert x.detach().is_leaf


def test_a_graph_is_walked_back_once_unless_it_is_retained() -> None:
    x = leaf(1, 2)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()

    with pytest.raises(AutogradError, match="retain_graph=True"):
        loss.backward()
    assert x.grad.tolist() == [4, 8]


def test_hooks_see_a_gradient_and_may_replace_it() -> None:
    x = leaf(1, 2)
    h = x * 3
    seen = []
    h.register_hook(lambda g: seen.append(g.tolist()))
    handle = h.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    h.sum().backward(retain_graph=True)
    assert seen == [[1, 1]]
    assert x.grad.tolist() == [31, 31]

    handle.remove()
    x.grad = None
    h.sum().backward()

    assert x.grad.tolist() == [4, 4]


def test_a_computed_tensor_keeps_its_gradient_if_it_is_asked_to() -> None:
    x = leaf(1, 2)
    h, other = x * 3, x * 2
    h.retain_grad()
    (h * other).sum().backward()

    assert h.retains_grad
    assert h.grad.tolist() == [2, 4]
    assert other.grad is None


def test_what_is_known_of_a_tensor() -> None:
    x = leaf(1)
    y = x.exp()

    assert (x.is_leaf, y.is_leaf) == (True, False)
    assert x.grad_fn is None
    assert str(y.grad_fn) == "<exp>"
    assert repr(x) == "tracer([1.], requires_grad=True)"
    assert repr(y) == "tracer([2.7183], grad_fn=<exp>)"
    assert repr(tracer([1.0])) == "tracer([1.])"
    with pytest.raises(AutogradError, match="detach"):
        y.requires_grad_(False)


def test_a_leaf_can_stop_wanting_a_gradient() -> None:
    x = leaf(1)
    x.requires_grad = False

    assert not (x * 2).requires_grad


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1), lambda x: x.__iadd__(1), lambda x: x.__setitem__(0, 1.0), lambda x: x.zero_(),
        lambda x: F.relu_(x), lambda x: x.copy_(torch.zeros(2)), lambda x: torch.zeros(2).add_(x),
    ],
)  # fmt: skip
def test_writing_into_a_tensor_is_refused_with_what_to_do(write: Callable[[Any], Any]) -> None:
    with pytest.raises(AutogradError, match=r"no_grad\(\)"):
        write(leaf(1, 2) * 1)


def test_a_parameter_can_be_changed_inside_of_no_grad() -> None:
    x = leaf(1, 2)
    with ag.no_grad():
        x -= 0.5
        x[0] = 7

    assert x.tolist() == [7, 1.5]
    assert x.requires_grad
    assert x.is_leaf


@pytest.mark.parametrize("which", ["input", "result", "mask"])
def test_what_was_changed_after_it_was_used_gives_no_wrong_gradient(which: str) -> None:
    x, mask = leaf(1, 2), torch.tensor([True, False])
    h = x * 2
    c = h.exp()
    loss = torch.where(mask, c, 0.0).sum()
    with ag.no_grad():
        {"input": h, "result": c}.get(which, mask).zero_()

    with pytest.raises(AutogradError, match="changed in place"):
        loss.backward()


def test_an_op_without_a_rule_says_how_to_write_one_and_then_it_runs() -> None:
    x = leaf(0.1, 0.2)
    with pytest.raises(AutogradError, match="there is no rule for erfinv"):
        torch.erfinv(x)
    with ag.no_grad():
        assert torch.erfinv(x).shape == (2,)
    try:
        root = torch.pi**0.5
        ag.rule("erfinv", torch.erfinv, a=(lambda g, c, a: g * 0.5 * root * torch.exp(c * c), r"\ldots"))

        agrees(torch.erfinv, [torch.tensor([0.1, -0.4], dtype=torch.float64)])
    finally:
        del calls.CALLS["erfinv"], ag.RULES["erfinv"]
        calls._found.clear()


def test_a_tensor_of_torchs_own_autograd_has_no_part_in_it() -> None:
    theirs = torch.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match="requires_grad=True"):
        leaf(1, 2) * theirs


@pytest.mark.parametrize("make", [lambda: tracer(torch.arange(3)), lambda: ag.tensor([1, 2])])
def test_whole_numbers_have_no_gradient(make: Callable[[], Any]) -> None:
    with pytest.raises((InputError, RuntimeError), match=r"float|floating"):
        make().requires_grad_()


def test_ops_that_give_whole_numbers_end_the_graph() -> None:
    assert not leaf(1.5, 2.5).long().requires_grad
    assert not leaf(1.5, 2.5).to(torch.int64).requires_grad


def test_a_gradient_of_another_shape_is_refused() -> None:
    x = leaf(1, 2)
    with pytest.raises(InputError, match="shape"):
        x.grad = torch.ones(3)
    with pytest.raises(InputError, match="requires_grad_"):
        tracer([1.0]).grad = torch.ones(1)


# --- copies ----------------------------------------------------------------------------------------------


def test_a_leaf_can_be_copied_with_its_gradient() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    copied = copy.deepcopy({"a": x, "b": x})

    assert copied["a"] is copied["b"]
    assert copied["a"].grad.tolist() == [2, 4]
    assert copied["a"].data_ptr() != x.data_ptr()
    assert copied["a"].grad.data_ptr() != x.grad.data_ptr()


def test_a_leaf_can_be_stored_and_a_graph_cannot() -> None:
    x = leaf(1, 2)
    again = pickle.loads(pickle.dumps(x))
    assert again.requires_grad
    assert again.tolist() == [1, 2]

    for store in (pickle.dumps, copy.deepcopy):
        with pytest.raises(AutogradError, match="detach"):
            store(x * 2)


# --- memory ----------------------------------------------------------------------------------------------


def test_no_two_leaves_share_the_memory_of_their_gradients() -> None:
    a, b, c = leaf(1, 2), leaf(3, 4), leaf(5, 6)
    seed = torch.ones(2)
    h = a + b
    h.retain_grad()
    (h + c).backward(seed)
    kept = [a.grad, b.grad, c.grad, h.grad, seed]

    assert len({one.data_ptr() for one in kept}) == 5
    a.grad.zero_()
    assert b.grad.tolist() == c.grad.tolist() == seed.tolist() == [1, 1]


def test_no_two_named_inputs_share_the_memory_of_their_gradients() -> None:
    a, b = leaf(1, 2), leaf(3, 4)
    (a + b).backward(torch.ones(2), inputs=[a, b])

    assert a.grad.data_ptr() != b.grad.data_ptr()


def test_values_are_let_go_after_the_way_back() -> None:
    x = tracer(torch.ones(200, 200), requires_grad=True)
    h = x.exp()
    loss = (h * h).sum()
    inside = weakref.ref(h)
    del h
    gc.collect()
    assert inside() is not None

    loss.backward()

    assert inside() is None
    assert x.grad is not None


def test_a_graph_is_freed_with_its_end_and_without_the_collector() -> None:
    gc.disable()
    try:
        x = leaf(1, 2)
        loss = (x * 2).exp().sum()
        node = weakref.ref(loss.grad_fn)
        del loss
        assert node() is None
    finally:
        gc.enable()


def test_a_chain_of_twenty_thousand_ops_is_walked_back_and_freed() -> None:
    x = leaf(1)
    value = x
    for _ in range(20_000):
        value = value + x

    value.sum().backward()
    assert x.grad.item() == 20_001

    del value


def test_each_thread_has_its_own_modes_and_all_can_compute() -> None:
    results, inside = {}, []

    def work(number: int) -> None:
        inside.append(ag.is_grad_enabled())
        x = tracer(torch.full((8,), float(number)), requires_grad=True)
        for _ in range(50):
            (x * x * 0.02).sum().backward()
        results[number] = x.grad

    with ag.no_grad():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    assert inside == [True] * 4
    for number in range(4):
        torch.testing.assert_close(results[number], torch.full((8,), 2.0 * number))


# --- names with capitals ---------------------------------------------------------------------------------


def test_ops_have_names_with_capitals() -> None:
    x = tracer([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)

    assert x.Sum().item() == 21
    assert x.View(3, -1).shape == (3, 2)
    assert torch.equal(x.LogSoftmax(1).detach(), torch.log_softmax(x.detach(), 1))
    assert x.ReLU().tolist() == x.Relu().tolist() == x.tolist()
    assert x.MatMul(x.T).tolist() == x.Matmul(x.T).tolist() == (x @ x.T).tolist()
    assert x.Mean(0).shape == x.Max(0).values.shape == x.Argmax(0).shape == (3,)
    assert x.T.shape == (3, 2)
    x.Sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_gather_with_a_capital_picks_one_of_each_row() -> None:
    x = tracer([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    _, best = x.max(1)

    picked = x.Gather(best)
    picked.Sum().backward()

    assert picked.tolist() == [[3], [6]]
    assert x.grad.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert x.Gather(1, torch.tensor([[0], [1]])).tolist() == [[1], [5]]
    with pytest.raises(InputError, match="one place for each row"):
        x.Gather(torch.tensor([0, 1, 2]))
