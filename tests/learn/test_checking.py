"""torch and differences are asked; what differs is noticed, and kinks are no alarm."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.many import examples
from torcheer.autograd import RULES, Way
from torcheer.learn.lesson import checks_of_source, lesson_of_source
from torcheer.learn.lesson_document import LearnCheck


def check_of(source: str, name: str) -> LearnCheck:
    lesson = lesson_of_source(source)
    number = next(node.id for node in lesson.nodes if node.name == name)
    return next(check for check in checks_of_source(source) if check.node == number)


def test_a_wrong_rule_is_noticed_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Way(lambda g, c, a: 2 * g * torch.cos(a), "")
    monkeypatch.setattr(RULES["sin"], "ways", (wrong,))

    check = check_of("x = T.param([0.5, 1.0])\nloss = T.sin(x).sum()", "x")

    assert check.torch_error is not None
    assert check.torch_error > 0.4 > check.tolerance
    assert check.difference_error is not None
    assert check.difference_error > 0.4 > check.difference_tolerance


@pytest.mark.parametrize(
    ("line", "element"),
    [
        ("T.relu(x).sum()", "x[1]"),
        ("T.abs(x).sum()", "x[1]"),
        ("T.maximum(x, x * 2).sum()", "x[1]"),
        ("x.max() + (x - 1).max()", "x[0]"),
    ],
)
def test_a_kink_is_noted_and_no_alarm(line: str, element: str) -> None:
    values = "[1.0, 0.0, 0.5]" if element == "x[1]" else "[2.0, 0.0, 2.0]"
    check = check_of(f"x = T.param({values})\nloss = {line}", "x")

    assert f"at {element}" in check.note
    assert "kink" in check.note
    assert check.difference_error is not None
    assert check.difference_error <= check.difference_tolerance
    assert check.torch_error == 0


@settings(max_examples=examples(20))
@given(st.lists(st.floats(-3, 3, width=32), min_size=1, max_size=4), st.integers(1, 5))
def test_no_element_differs_by_more_than_the_largest_error(numbers: list[float], seed: int) -> None:
    w = f"T.param({len(numbers)}, seed={seed})"
    source = f"x = T.param({numbers})\nw = {w}\nloss = (T.tanh(x * w) / 3 + T.sigmoid(x * 7.1)).sum()"
    nodes = lesson_of_source(source).nodes

    for check in checks_of_source(source):
        ours = nodes[check.node].gradient
        assert ours is not None
        for other, error in ((check.torch, check.torch_error), (check.difference, check.difference_error)):
            assert other is not None
            differences = [abs(float(a) - float(b)) for a, b in zip(ours.values, other.values, strict=True)]
            assert error == max(differences)


def test_what_is_cut_off_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong_at_the_end(g: torch.Tensor, c: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        right = g * torch.cos(a)
        right[-1] += 1
        return right

    monkeypatch.setattr(RULES["sin"], "ways", (Way(wrong_at_the_end, ""),))

    check = check_of("x = T.param(40)\nloss = T.sin(x).sum()", "x")

    assert check.torch_error == pytest.approx(1)


def test_a_jump_is_noted() -> None:
    check = check_of("x = T.param([0.5, 1.0])\nloss = T.floor(x).sum()", "x")

    assert "at x[1] the loss jumps" in check.note
    assert check.difference_error == 0


def test_large_tensors_have_no_differences_but_torch() -> None:
    check = check_of("x = T.param(20, 20)\nloss = (x ** 2).sum()", "x")

    assert check.difference is None
    assert check.difference_error is None
    assert "at most 64 elements, not for 400" in check.note
    assert check.torch_error == 0


def test_the_work_for_differences_is_bounded() -> None:
    source = "x = T.param(64)\ny = x * 1.0\n" + "y = T.tanh(y) + x\n" * 140 + "loss = y.sum()"

    notes = [check.note for check in checks_of_source(source)]

    assert any("too many ops" in note for note in notes)
    assert notes.count("") > 0


def test_numbers_that_are_none_are_no_error() -> None:
    check = check_of("x = T.param([-1.0, 0.0])\nloss = T.log(x).sum()", "x")

    assert check.torch_error == 0
    assert check.torch is not None


def test_nothing_to_check_where_nothing_is_computed() -> None:
    assert checks_of_source("x = T.ones(3)") == []
    assert checks_of_source("x = (") == []


def test_the_loss_may_be_a_leaf() -> None:
    check = check_of("loss = T.param(2.0)\nloss.backward()", "loss")

    assert check.torch_error == 0
    assert check.difference_error == pytest.approx(0, abs=1e-6)
