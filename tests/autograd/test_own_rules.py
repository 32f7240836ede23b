"""Rules of a user's own: used where they are right, and refused where a slip would give wrong gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import torcheer.autograd as T
from torcheer.autograd.torch_calls import CALLS, call
from torcheer.errors import AutogradError, InputError


@pytest.fixture(autouse=True)
def same_table_after() -> Iterator[None]:
    rules, calls = dict(T.RULES), dict(CALLS)
    yield
    for table, before in ((T.RULES, rules), (CALLS, calls)):
        table.clear()
        table.update(before)
    call()(torch.abs)  # what was looked up is forgotten, as after every new rule


def test_a_rule_of_ones_own_gives_its_gradient() -> None:
    cube = T.rule("cube", forward=lambda a: a**3, a=(lambda g, c, a: 3 * g * a**2, r"3 \bar c a^2"))
    x = T.tensor([2.0, -1.0], requires_grad=True)

    cube(x).sum().backward()

    assert x.grad is not None
    assert x.grad.tolist() == [12.0, 3.0]


def test_the_formula_may_be_left_out_and_an_input_be_a_number() -> None:
    scaled = T.rule("scaled", forward=lambda a, n: a * n, a=lambda g, c, a, n: g * n)
    x = T.tensor([2.0], requires_grad=True)

    scaled(x, 3).sum().backward()

    assert x.grad is not None
    assert x.grad.tolist() == [3.0]
    with pytest.raises(AutogradError, match="input 1 of scaled wants a gradient"):
        scaled(x, T.tensor(2.0, requires_grad=True)).sum().backward()


def test_a_forward_may_give_back_its_input() -> None:
    same = T.rule("same", forward=lambda a: a, a=(lambda g, c, a: g, r"\bar c"))
    x = T.tensor([2.0], requires_grad=True)

    same(x).sum().backward()

    assert x.grad is not None
    assert x.grad.tolist() == [1.0]


def test_a_rule_that_is_there_is_replaced_on_demand_only() -> None:
    double = {"forward": lambda a, b: 2 * a * b, "a": (lambda g, c, a, b: 2 * g * b, "")}

    with pytest.raises(InputError, match="there is a rule for mul already"):
        T.rule("mul", **double)

    T.rule("mul", **double, replace=True)
    assert float(T.tensor(3.0) * T.tensor(4.0)) == 24


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("needs a gradient for each input", {"forward": torch.sin}),
        ("name them alike", {"forward": lambda a: a, "z": (lambda g, c, a: g, "")}),
        ("name them alike", {"forward": lambda a, b: a, "b": lambda g, c, a, b: g}),
        ("a function and a formula", {"forward": lambda a: a, "a": ("g", "")}),
        ("a function and a formula", {"forward": lambda a: a, "a": (lambda g, c, a: g, 3)}),
        ("not as many }", {"forward": lambda a: a, "a": (lambda g, c, a: g, r"\frac{a")}),
    ],
)
def test_a_slip_is_told(message: str, arguments: dict[str, Callable[..., Any]]) -> None:
    with pytest.raises(InputError, match=message):
        T.rule("mine", **arguments)


# --- one name, one function -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gelu", "add", "__matmul__", "cross_entropy", "Tensor.unfold"])
def test_a_call_of_torchs_leads_to_one_function(name: str) -> None:
    before = CALLS[name]

    with pytest.raises(InputError, match=r"already.*replace=True"):

        @call("of_nobody", name)
        def other(a: Any) -> Any:
            return a

    assert CALLS[name] is before
    assert "of_nobody" not in CALLS  # all of it, or nothing

    @call("of_nobody", name, replace=True)
    def another(a: Any) -> Any:
        return a

    assert CALLS[name] is CALLS["of_nobody"] is another


def test_a_row_of_the_table_is_entered_once() -> None:
    from torcheer.autograd.rules import row

    before = T.RULES["exp"]
    way = (lambda g, c, a: g * c, r"\bar c\,c")
    with pytest.raises(InputError, match="two rows for exp"):
        row("exp", torch.exp, a=way)
    with pytest.raises(InputError, match="tanh leads to a function already"):
        row("own_exp", torch.exp, also="tanh", a=way)

    assert T.RULES["exp"] is before
    assert "own_exp" not in T.RULES
    row("exp", torch.exp, replace=True, a=way)
    assert T.RULES["exp"] is not before


def test_the_same_rule_of_ones_own_twice_is_told() -> None:
    ways: dict[str, Any] = {"a": lambda g, c, a: g}
    T.rule("twice", forward=lambda a: a + 0, **ways)

    with pytest.raises(InputError, match="there is a rule for twice already"):
        T.rule("twice", forward=lambda a: a + 1, **ways)

    newer = T.rule("twice", forward=lambda a: a + 1, replace=True, **ways)
    assert newer(T.tensor([1.0])).tolist() == [2.0]
