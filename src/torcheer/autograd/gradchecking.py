"""Hold gradients against differences: nudge each input a little, and see how much the output moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd.calls import tensors_in
from torcheer.autograd.engine import grad, tracer
from torcheer.autograd.modes import as_plain, no_grad
from torcheer.errors import AutogradError, InputError

MAX_ELEMENTS: Final = 1000  # of one input: beyond that, a choice of them


@dataclass(frozen=True, slots=True, kw_only=True)
class GradcheckReport:
    """What came of it. True where all gradients agree."""

    is_right: bool
    message: str
    num_checked: int  # elements of inputs
    largest_error: float

    def __bool__(self) -> bool:
        return self.is_right

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """One element of one input."""

    place: int
    index: tuple[int, ...]
    ours: float
    seen: float

    @property
    def error(self) -> float:
        return abs(self.ours - self.seen)


def gradcheck(
    function: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> GradcheckReport:
    """Whether the gradients of a function are what differences say: (f(x + eps) - f(x - eps)) / 2 eps.

    `inputs`: tensors of float64 and whatever else the function takes; all floats are checked. Where several
    numbers come out, a random mixture of them is looked at, so that no two errors can cancel out. A kink,
    such as that of relu at 0, is no place to check at: there is no one slope.
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    copies = [_leaf_of(one, place) for place, one in enumerate(given)]
    leaves = [place for place, one in enumerate(copies) if isinstance(one, tracer)]
    if not leaves:
        raise InputError("there is nothing to check: give at least one tensor of floats.")
    mixture = _Mixture(function)
    loss = mixture(copies)
    gradients = grad(loss, [copies[place] for place in leaves], allow_unused=True)
    worst: _Difference | None = None
    num_checked, largest = 0, 0.0
    for place, gradient in zip(leaves, gradients, strict=True):
        for difference in _differences(mixture, copies, place, gradient, eps):
            num_checked += 1
            largest = max(largest, difference.error)
            allowed = atol + rtol * abs(difference.seen)
            if not difference.error <= allowed and (worst is None or difference.error > worst.error):
                worst = difference
    report = GradcheckReport(
        is_right=worst is None,
        message=_right(num_checked, largest) if worst is None else _wrong(worst),
        num_checked=num_checked,
        largest_error=largest,
    )
    if raise_exception and not report:
        raise AutogradError(report.message)
    return report


class _Mixture:
    """All that a function gives, as one number: the same random mixture each time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._weights: list[Tensor] = []

    def __call__(self, inputs: Sequence[Any]) -> Any:
        outputs = [one for one in tensors_in(self._function(*inputs)) if one.is_floating_point()]
        if not outputs:
            raise InputError("the function gives no tensor of floats, so it has no gradient.")
        if not self._weights:
            source = torch.Generator().manual_seed(0)
            self._weights = [
                torch.randn(tuple(one.shape), generator=source, dtype=torch.float64).to(one.device)
                for one in outputs
            ]
        return sum((one * weight).sum() for one, weight in zip(outputs, self._weights, strict=True))


def _leaf_of(value: Any, place: int) -> Any:
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    if value.dtype != torch.float64:
        raise InputError(
            f"input {place} is of {value.dtype}, too coarse to check differences: use .double()."
        )
    with as_plain():
        return tracer(value.detach().clone(), requires_grad=True)


def _differences(
    mixture: _Mixture, inputs: list[Any], place: int, gradient: Tensor | None, eps: float
) -> list[_Difference]:
    """Element by element, each put back after it."""
    value: Tensor = inputs[place].data
    flat = value.view(-1)
    ours = torch.zeros_like(flat) if gradient is None else gradient.reshape(-1)
    found = []
    with no_grad():
        for number in _chosen(flat.numel()):
            kept = float(flat[number])
            moved = []
            for nudge in (eps, -eps):
                flat[number] = kept + nudge
                moved.append(float(mixture(inputs)))
            flat[number] = kept
            index = tuple(int(one) for one in torch.unravel_index(torch.tensor(number), value.shape))
            seen = (moved[0] - moved[1]) / (2 * eps)
            found.append(_Difference(place=place, index=index, ours=float(ours[number]), seen=seen))
    return found


def _chosen(num_elements: int) -> list[int]:
    if num_elements <= MAX_ELEMENTS:
        return list(range(num_elements))
    source = torch.Generator().manual_seed(0)
    return sorted(torch.randperm(num_elements, generator=source)[:MAX_ELEMENTS].tolist())


def _right(num_checked: int, largest: float) -> str:
    return f"right: {num_checked} gradients agree with differences; the largest error is {largest:.1e}."


def _wrong(worst: _Difference) -> str:
    return (
        f"the gradient of input {worst.place} at {list(worst.index)} is {worst.ours:.6g}, and differences "
        f"say {worst.seen:.6g}: the rule of an op is wrong, or the function has a kink there."
    )
