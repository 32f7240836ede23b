"""`tl.gradcheck` finds wrong gradients, and says which, in numbers that can be found again."""

import pytest
import torch
from torch import Tensor

import torcheer as tl
from torcheer.autograd.engine import Rule, Way, apply
from torcheer.errors import AutogradError, InputError


def wrong_square(x: Tensor) -> Tensor:
    rule = Rule("wrong_square", lambda a: a * a, {"a": Way(lambda g, c, a: g * a, "")})
    return apply(rule, x)


def test_right_gradients_are_said_to_be_right() -> None:
    left = torch.randn(3, 4, dtype=torch.float64)
    right = torch.randn(2, 4, dtype=torch.float64).T  # turned

    report = tl.gradcheck(lambda a, b: (torch.tanh(a @ b), a.sum()), (left, right))

    assert report
    assert report.num_checked == 20
    assert report.largest_error < 1e-7
    assert "20 gradients agree" in str(report)


def test_a_wrong_gradient_is_told_with_the_output_and_both_slopes() -> None:
    at = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

    with pytest.raises(AutogradError, match=r"output 2 changes with input 0 at \[2\] by 3, .* and by 6"):
        tl.gradcheck(wrong_square, at)

    report = tl.gradcheck(wrong_square, at, raise_exception=False)
    assert not report
    assert report.largest_error > 1


def test_a_kink_is_told_as_what_differences_say() -> None:
    with pytest.raises(AutogradError, match=r"by 0, our rules say, and by 0\.5"):
        tl.gradcheck(torch.relu, torch.zeros(1, dtype=torch.float64))


def test_what_is_random_cannot_be_checked() -> None:
    with pytest.raises(InputError, match="something else each time"):
        tl.gradcheck(lambda x: torch.nn.functional.dropout(x), torch.ones(20, dtype=torch.float64))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [(3.0, "nothing to check"), (torch.ones(2), "too coarse"), ((), "nothing to check")],
)
def test_what_cannot_be_checked_is_said(inputs: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tl.gradcheck(lambda *given: given[0] * 2, inputs)


def test_the_inputs_stay_as_they_were() -> None:
    x = torch.randn(3, dtype=torch.float64)
    before = x.clone()

    tl.gradcheck(lambda a: a.exp(), x)

    assert torch.equal(x, before)
