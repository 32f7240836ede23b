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
    leaves = {place: one for place, one in enumerate(copies) if isinstance(one, tracer)}
    if not leaves:
        raise InputError("there is nothing to check: give at least one tensor of floats, of float64.")

    def outputs() -> Any:
        """All floats that the function gives, in a row."""
        floats = [one for one in tensors_in(function(*copies)) if one.is_floating_point()]
        if not floats:
            raise InputError("the function gives no tensor of floats, so it has no gradient.")
        return torch.cat([one.reshape(-1).to(torch.float64) for one in floats])

    # The gradient of a random mixture of all outputs says whether any is wrong: no two errors cancel.
    weights = _weights(outputs)
    gradients = grad((outputs() * weights).sum(), list(leaves.values()), allow_unused=True)
    errors: dict[tuple[int, int], float] = {}  # by input and element
    worst: tuple[int, int] | None = None
    for (place, leaf), gradient in zip(leaves.items(), gradients, strict=True):
        ours = torch.zeros(leaf.numel()) if gradient is None else gradient.reshape(-1)
        for number in _chosen(leaf.numel()):
            seen = float((_slopes(outputs, leaf, number, eps) * weights).sum())
            errors[place, number] = error = abs(float(ours[number]) - seen)
            is_wrong = not error <= atol + rtol * abs(seen)
            worst = (place, number) if is_wrong and (worst is None or error > errors[worst]) else worst
    largest = max(errors.values(), default=0.0)
    message = f"right: {len(errors)} gradients agree with differences; the largest error is {largest:.1e}."
    if worst is not None:
        message = _explained(outputs, leaves[worst[0]], *worst, eps)
        if raise_exception:
            raise AutogradError(message)
    return GradcheckReport(
        is_right=worst is None, message=message, num_checked=len(errors), largest_error=largest
    )


def _weights(outputs: Callable[[], Any]) -> Tensor:
    with no_grad():
        first, again = outputs().data, outputs().data
    if not torch.equal(first.nan_to_num(), again.nan_to_num()):
        raise InputError(
            "the function gives something else each time, so differences say nothing: seed its random "
            "numbers inside of it, or leave out dropout."
        )
    source = torch.Generator().manual_seed(0)
    return torch.randn(first.numel(), generator=source, dtype=torch.float64).to(first.device)


def _slopes(outputs: Callable[[], Any], leaf: tracer, number: int, eps: float) -> Tensor:
    """How much each output moves with one element of an input, which is put back afterwards."""
    flat = leaf.data.view(-1)
    kept = float(flat[number])
    moved: list[Tensor] = []
    with no_grad():
        for nudge in (eps, -eps):
            flat[number] = kept + nudge
            moved.append(outputs().data)
    flat[number] = kept
    return (moved[0] - moved[1]) / (2 * eps)


def _explained(outputs: Callable[[], Any], leaf: tracer, place: int, number: int, eps: float) -> str:
    """The output for which it is most wrong, with both slopes."""
    seen, found = _slopes(outputs, leaf, number, eps), outputs()
    numbers = _chosen(found.numel())
    ours = torch.zeros(len(numbers), dtype=torch.float64)
    for row, one in enumerate(numbers):
        (gradient,) = grad(found[one], [leaf], retain_graph=True, allow_unused=True)
        ours[row] = 0.0 if gradient is None else gradient.reshape(-1)[number]
    most = int((ours - seen[numbers]).abs().nan_to_num(torch.inf).argmax())
    at = [int(one) for one in torch.unravel_index(torch.tensor(number), leaf.shape)]
    return (
        f"output {numbers[most]} changes with input {place} at {at} by {float(ours[most]):.6g}, our rules "
        f"say, and by {float(seen[numbers[most]]):.6g}, differences say: a rule is wrong, or there is "
        "a kink."
    )


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
