"""Hold gradients against differences: nudge each input a little, and see how much the output moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd.engine import grad, tracer
from torcheer.autograd.modes import as_plain, no_grad
from torcheer.autograd.torch_calls import tensors_in
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

    place: int  # of the input
    number: int  # of the element
    error: float


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

    `inputs`: tensors of float64 and whatever else the function takes; all floats are checked. A kink, such as
    that of relu at 0, is no place to check at: there is no one slope.
    """
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    copies = [_leaf_of(one, place) for place, one in enumerate(given)]
    leaves = [place for place, one in enumerate(copies) if isinstance(one, tracer)]
    if not leaves:
        raise InputError("there is nothing to check: give at least one tensor of floats, of float64.")
    check = _Check(function, copies, eps)
    gradients = grad(check.mixture(), [copies[place] for place in leaves], allow_unused=True)
    worst: _Difference | None = None
    num_checked, largest = 0, 0.0
    for place, gradient in zip(leaves, gradients, strict=True):
        ours = torch.zeros(copies[place].numel()) if gradient is None else gradient.reshape(-1)
        for number in _chosen(ours.numel()):
            seen = float(check.mix(check.slope(place, number)))
            found = _Difference(place=place, number=number, error=abs(float(ours[number]) - seen))
            num_checked, largest = num_checked + 1, max(largest, found.error)
            is_wrong = not found.error <= atol + rtol * abs(seen)
            worst = found if is_wrong and (worst is None or found.error > worst.error) else worst
    report = GradcheckReport(
        is_right=worst is None,
        message=_right(num_checked, largest) if worst is None else check.explained(worst),
        num_checked=num_checked,
        largest_error=largest,
    )
    if raise_exception and not report:
        raise AutogradError(report.message)
    return report


class _Check:
    """A function and its inputs, each a leaf of its own.

    Where several numbers come out, a random mixture of them is looked at: one gradient then says whether any
    of them is wrong, and no two errors cancel out. What is wrong is looked at by itself.
    """

    def __init__(self, function: Callable[..., Any], inputs: list[Any], eps: float) -> None:
        self._function, self._inputs, self._eps = function, inputs, eps
        with no_grad():
            first, again = self._outputs(), self._outputs()
        if not torch.equal(first.data.nan_to_num(), again.data.nan_to_num()):
            raise InputError(
                "the function gives something else each time, so differences say nothing: seed its random "
                "numbers inside of it, or leave out dropout."
            )
        source = torch.Generator().manual_seed(0)
        self._weights = torch.randn(first.numel(), generator=source, dtype=torch.float64).to(first.device)

    def mixture(self) -> Any:
        return self.mix(self._outputs())

    def mix(self, outputs: Tensor) -> Any:
        return (outputs * self._weights).sum()

    def slope(self, place: int, number: int) -> Tensor:
        """How much each output moves with one element of an input, which is put back afterwards."""
        flat: Tensor = self._inputs[place].data.view(-1)
        kept = float(flat[number])
        moved: list[Tensor] = []
        with no_grad():
            for nudge in (self._eps, -self._eps):
                flat[number] = kept + nudge
                moved.append(self._outputs().data)
        flat[number] = kept
        return (moved[0] - moved[1]) / (2 * self._eps)

    def explained(self, worst: _Difference) -> str:
        """The output for which it is most wrong, with both slopes."""
        leaf = self._inputs[worst.place]
        seen = self.slope(worst.place, worst.number)
        outputs = self._outputs()
        numbers = _chosen(outputs.numel())
        ours = torch.stack([self._gradient(outputs[one], leaf, worst.number) for one in numbers])
        most = int((ours - seen[numbers]).abs().nan_to_num(torch.inf).argmax())
        at = [int(one) for one in torch.unravel_index(torch.tensor(worst.number), leaf.shape)]
        return (
            f"output {numbers[most]} changes with input {worst.place} at {at} by {float(ours[most]):.6g}, "
            f"our rules say, and by {float(seen[numbers[most]]):.6g}, differences say: a rule is wrong, or "
            "the function has a kink there."
        )

    @staticmethod
    def _gradient(output: Any, leaf: Any, number: int) -> Tensor:
        if not output.requires_grad:
            return torch.zeros((), dtype=torch.float64)
        (gradient,) = grad(output, [leaf], retain_graph=True, allow_unused=True)
        return torch.zeros((), dtype=torch.float64) if gradient is None else gradient.reshape(-1)[number]

    def _outputs(self) -> Any:
        """All floats that the function gives, in a row."""
        floats = [one for one in tensors_in(self._function(*self._inputs)) if one.is_floating_point()]
        if not floats:
            raise InputError("the function gives no tensor of floats, so it has no gradient.")
        return torch.cat([one.reshape(-1).to(torch.float64) for one in floats])


def _leaf_of(value: Any, place: int) -> Any:
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    if value.dtype != torch.float64:
        raise InputError(f"input {place} is of {value.dtype}, too coarse for differences: use .double().")
    with as_plain():
        copied = value.detach().clone(memory_format=torch.contiguous_format)
    return tracer(copied, requires_grad=True)


def _chosen(num_elements: int) -> list[int]:
    if num_elements <= MAX_ELEMENTS:
        return list(range(num_elements))
    source = torch.Generator().manual_seed(0)
    return sorted(torch.randperm(num_elements, generator=source)[:MAX_ELEMENTS].tolist())


def _right(num_checked: int, largest: float) -> str:
    return f"right: {num_checked} gradients agree with differences; the largest error is {largest:.1e}."
