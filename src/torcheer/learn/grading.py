"""Is an answer right? It is computed on several inputs and held beside the gradient that the engine gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from torcheer.autograd import grad, tracer
from torcheer.learn.backward_steps import element_names
from torcheer.learn.exercises import Shapes, Task
from torcheer.learn.expression_values import cells_of, one_thread, plain
from torcheer.learn.language import evaluate
from torcheer.learn.lesson_document import Fault, Verdict, digits, numbers_text, shape_text

_ROUNDS: Final = 2  # for each choice of shapes
_CLOSE: Final = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One set of inputs, what may be used in an answer, and the gradients that are right."""

    shapes: Shapes
    variables: Mapping[str, Tensor]
    wanted: Mapping[str, Tensor]


@one_thread()
def judge(task: Task, answers: Mapping[str, str]) -> list[Verdict]:
    """A verdict for each answer that is not empty."""
    trials = trials_of(task)
    return [
        judge_one(task, symbol, answers[symbol], trials)
        for symbol in task.holes
        if answers.get(symbol, "").strip()
    ]


def trials_of(task: Task) -> list[Trial]:
    """Always the same numbers, so that what was wrong is wrong in the same way again."""
    source = _source(task)
    return [_trial(task, shapes, source) for shapes in task.shapes for _ in range(_ROUNDS)]


@one_thread()
def numbers_of(task: Task) -> dict[str, str]:
    """What is given, by name, in the first trial: that is the example which is shown."""
    first = _trial(task, task.shapes[0], _source(task))
    return {name: _numbers(value) for name, value in first.variables.items()}


def _numbers(value: Tensor) -> str:
    value = plain(value)
    return numbers_text(value.reshape(-1).tolist(), tuple(value.shape))


def _source(task: Task) -> torch.Generator:
    return torch.Generator().manual_seed(len(task.id))


def _trial(task: Task, shapes: Shapes, source: torch.Generator) -> Trial:
    inputs = {name: _input(task, name, shape, source) for name, shape in shapes.items()}
    traced = {name: tracer(one, requires_grad=one.is_floating_point()) for name, one in inputs.items()}
    c = evaluate(task.forward.partition("= ")[2], traced)
    g = _drawn(tuple(c.shape), source)
    sought = list(task.holes)
    found = grad(c, [traced[symbol] for symbol in sought], grad_outputs=g)
    variables = {"g": tracer(g), "c": tracer(plain(c))}
    variables |= {name: tracer(one) for name, one in inputs.items()}
    for name, expression in task.helpers.items():
        variables[name] = tracer(plain(evaluate(expression, variables)))
    wanted = {symbol: plain(one) for symbol, one in zip(sought, found, strict=True) if one is not None}
    return Trial(shapes=shapes, variables=variables, wanted=wanted)


def _input(task: Task, name: str, shape: tuple[int, ...], source: torch.Generator) -> Tensor:
    if name in task.places:
        return torch.randint(0, task.places[name], shape, generator=source)
    drawn = _drawn(shape, source)
    return drawn.abs() + 0.5 if name in task.positive else drawn


def _drawn(shape: tuple[int, ...], source: torch.Generator) -> Tensor:
    """Two digits are enough, and none is zero."""
    drawn = torch.randn(shape, generator=source, dtype=torch.float64)
    rounded = (100 * drawn).round() / 100
    return torch.where(rounded == 0, 0.5, rounded)


def judge_one(task: Task, symbol: str, answer: str, trials: list[Trial]) -> Verdict:
    """What is said of one answer, with the numbers of the first trial that it fails."""
    first = None
    for number, trial in enumerate(trials):
        wanted = trial.wanted[symbol]
        try:
            got = plain(evaluate(answer, trial.variables)).to(torch.float64)
        except Fault as fault:
            return _verdict(symbol, _so_far(number, trial) + fault.message, None, None)
        first = got if first is None else first
        message = what_is_wrong(symbol, answer, got, trial)
        if message:
            return _verdict(symbol, _so_far(number, trial) + message, got, wanted)
    right = "Right, for all inputs that were tried."
    return _verdict(symbol, right, first, trials[0].wanted[symbol], is_right=True)


def _so_far(number: int, trial: Trial) -> str:
    """Where it was right before it was wrong."""
    if not number:
        return ""
    if number < _ROUNDS:
        inputs = ", ".join(f"{name} = {_numbers(trial.variables[name])}" for name in trial.shapes)
        return f"right for the numbers above, but not for {inputs}: "
    shapes = ", ".join(f"{name} of {shape_text(shape)}" for name, shape in trial.shapes.items())
    return f"right for the shapes above, but not for {shapes}: "


def what_is_wrong(symbol: str, answer: str, got: Tensor, trial: Trial) -> str:
    """In a sentence; empty if it is right."""
    wanted, g = trial.wanted[symbol], plain(trial.variables["g"])
    if got.shape != wanted.shape:
        both = f"it has {_elements(got)}, and {symbol} has {_elements(wanted)}"
        return f"{both}: {_of_shape(symbol, answer, got, wanted, g)}"
    if not bool(got.isfinite().all()):
        return "it gives something that is no finite number."
    if _same(got, wanted):
        return ""
    return _nearly(got, wanted, g) or _where(symbol, got, wanted)


def _elements(value: Tensor) -> str:
    count = shape_text(value.shape)
    return count if not value.dim() else f"{count} element" if value.numel() == 1 else f"{count} elements"


def _of_shape(symbol: str, answer: str, got: Tensor, wanted: Tensor, g: Tensor) -> str:
    """What may have led to a wrong shape."""
    if got.dim() == 2 and got.T.shape == wanted.shape:
        return "only turn it round, with .T." if _same(got.T, wanted) else "is something turned round?"
    if got.squeeze().shape == wanted.squeeze().shape:
        if got.dim() > wanted.dim():
            return "leave out keepdim, or reshape it."
        return "keepdim=True keeps a dimension of 1, and reshape() makes one."
    if got.numel() > wanted.numel() and _fits(wanted, got):
        if _same(got.sum_to_size(wanted.shape), wanted):
            return f"almost. {symbol} was used many times (broadcast), so sum over what it was used for."
        return f"{symbol} was broadcast, so there is a sum over the dimensions that it does not have."
    if got.numel() < wanted.numel() and _fits(got, wanted):
        if got.numel() < g.numel() and any(word in answer for word in ("sum", "mean")):
            return f"too much was summed: each element of {symbol} has a gradient of its own."
        return f"each element of {symbol} gets a gradient; expand() makes copies."
    return "a gradient always has the shape of what it is the gradient of."


def _fits(small: Tensor, large: Tensor) -> bool:
    try:
        return small.expand(large.shape) is not None
    except RuntimeError:
        return False


def _nearly(got: Tensor, wanted: Tensor, g: Tensor) -> str:
    if _same(got, -wanted):
        return "right up to the sign: turn it."
    if _fits(g, got) and _same(got * g, wanted):
        return "this is the local slope; what arrives (g) has to be multiplied with it."
    factor = float((got * wanted).sum() / (wanted * wanted).sum())
    if factor and _same(got, factor * wanted):
        # A plain one, such as 2, 1/3 or a root of 2; any other comes from the numbers of the example.
        multiples = [one * times for one in (factor, factor * factor) for times in range(1, 13)]
        if any(abs(one - round(one)) < _CLOSE for one in multiples):
            return f"right up to a factor: it is {digits(factor)} times what is wanted."
        if wanted.numel() > 1:
            return "right up to a factor that depends on the inputs: is all of what arrives (g) in it?"
    if got.dim() == 2 and got.shape[0] == got.shape[1] and _same(got.T, wanted):
        return "right but for a transposition: turn it round, with .T."
    return ""


def _where(symbol: str, got: Tensor, wanted: Tensor) -> str:
    distance = (got - wanted).abs().reshape(-1)
    worst = int(distance.argmax())
    num_wrong = int((distance > _CLOSE * (1 + wanted.abs().reshape(-1))).sum())
    element = element_names(symbol, tuple(wanted.shape))[worst]
    here, there = float(got.reshape(-1)[worst]), float(wanted.reshape(-1)[worst])
    of_all = f" ({num_wrong} of {wanted.numel()} elements are wrong)" if wanted.numel() > 1 else ""
    return f"at {element} it gives {digits(here)}, and {digits(there)} is wanted{of_all}."


def _same(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=_CLOSE, atol=_CLOSE)


def _verdict(
    symbol: str, message: str, got: Tensor | None, wanted: Tensor | None, *, is_right: bool = False
) -> Verdict:
    return Verdict(
        symbol=symbol,
        is_right=is_right,
        message=message[:1].upper() + message[1:],
        got=None if got is None else cells_of(got),
        wanted=None if wanted is None else cells_of(wanted),
    )
