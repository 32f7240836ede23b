"""Is an answer right? It is computed on several inputs and held beside the gradient that the engine gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd.engine import grad, tracer
from torcheer.autograd.modes import as_plain
from torcheer.learn.cells import cells_of
from torcheer.learn.document import Verdict
from torcheer.learn.exercises import Shapes, Task
from torcheer.learn.faults import Fault
from torcheer.learn.language import evaluate
from torcheer.learn.limits import broadcast, shape_text
from torcheer.learn.quiet import one_thread
from torcheer.learn.steps import element_names
from torcheer.learn.values import plain

_ROUNDS: Final = 2  # for each choice of shapes
_CLOSE: Final = 1e-8
_FACTOR: Final = "right up to a factor:"


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
    source = torch.Generator().manual_seed(len(task.id))
    return [_trial(task, shapes, source) for shapes in task.shapes for _ in range(_ROUNDS)]


def _trial(task: Task, shapes: Shapes, source: torch.Generator) -> Trial:
    inputs = {name: _input(task, name, shape, source) for name, shape in shapes.items()}
    traced = {name: tracer(one, requires_grad=one.is_floating_point()) for name, one in inputs.items()}
    c = evaluate(task.forward.partition("= ")[2], traced)
    g = _drawn(tuple(c.shape), source)
    sought = list(task.holes)
    found = grad(c, [traced[symbol] for symbol in sought], grad_outputs=g)
    variables = {name: tracer(one) for name, one in inputs.items()}
    variables |= {"g": tracer(g), "c": tracer(plain(c))}
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


# --- the verdict -------------------------------------------------------------------------------------------


def judge_one(task: Task, symbol: str, answer: str, trials: list[Trial]) -> Verdict:
    """What is said of one answer, with the numbers of the first trial that it fails."""
    for number, trial in enumerate(trials):
        try:
            got = _as_floats(evaluate(answer, trial.variables))
        except Fault as fault:
            return _verdict(symbol, f"{fault.message}", None, None)
        wanted = trial.wanted[symbol]
        message = what_is_wrong(symbol, got, wanted, trial.variables)
        if message.startswith(_FACTOR):
            message = _factor_message(symbol, answer, message, trials[number ^ 1], _factor(got, wanted))
        if message and number >= _ROUNDS:
            message = f"right for the shapes above, but not for {_shapes(trial)}: {message}"
        if message:
            return _verdict(symbol, message, got, wanted)
    first = trials[0]
    got = _as_floats(evaluate(answer, first.variables))
    return Verdict(
        symbol=symbol,
        is_right=True,
        message="Right, for all inputs that were tried.",
        got=cells_of(got),
        wanted=cells_of(first.wanted[symbol]),
    )


def _factor_message(symbol: str, answer: str, message: str, other: Trial, factor: float | None) -> str:
    """A factor that is another one for other numbers is more than a factor: something is missing."""
    again = _factor(_as_floats(evaluate(answer, other.variables)), other.wanted[symbol])
    if factor is not None and again is not None and abs(factor - again) < _CLOSE * abs(factor):
        return message
    return "right up to a factor that depends on the inputs: is all of what arrives (g) in it?"


def what_is_wrong(symbol: str, got: Tensor, wanted: Tensor, variables: Mapping[str, Any]) -> str:
    """In a sentence; empty if it is right."""
    if got.shape != wanted.shape:
        return _wrong_shape(symbol, got, wanted)
    if not bool(got.isfinite().all()):
        return "it gives something that is no finite number."
    if _same(got, wanted):
        return ""
    return _nearly(got, wanted, variables) or _where(symbol, got, wanted)


def _wrong_shape(symbol: str, got: Tensor, wanted: Tensor) -> str:
    says = f"it has the shape {shape_text(got.shape)}, and {symbol} has {shape_text(wanted.shape)}"
    if got.dim() == 2 and got.T.shape == wanted.shape:
        advice = "only turn it round, with .T." if _same(got.T, wanted) else "is something turned round?"
        return f"{says}: {advice}"
    if got.numel() > wanted.numel() and _fits(wanted, got):
        if _same(_summed(got, wanted), wanted):
            return (
                f"{says}: almost. {symbol} was used many times (broadcast), so sum over what it was used for."
            )
        return f"{says}: {symbol} was broadcast, so there is a sum over the dimensions that it does not have."
    if got.numel() < wanted.numel() and _fits(got, wanted):
        return f"{says}: each element of {symbol} gets a gradient; expand() makes copies."
    return f"{says}: a gradient always has the shape of what it is the gradient of."


def _fits(small: Tensor, large: Tensor) -> bool:
    try:
        return broadcast(small.shape, large.shape) == tuple(large.shape)
    except Fault:
        return False


def _summed(value: Tensor, like: Tensor) -> Tensor:
    num_new = value.dim() - like.dim()
    dims = [*range(num_new)]
    dims += [
        num_new + place for place, size in enumerate(like.shape) if size == 1 != value.shape[num_new + place]
    ]
    return value.sum(dims, keepdim=True).reshape(like.shape)


def _nearly(got: Tensor, wanted: Tensor, variables: Mapping[str, Any]) -> str:
    if _same(got, -wanted):
        return "right up to the sign: turn it."
    factor = _factor(got, wanted)
    if factor is not None:
        return f"{_FACTOR} it is {factor:.4g} times what is wanted."
    if got.dim() == 2 and got.shape[0] == got.shape[1] and _same(got.T, wanted):
        return "right but for a transposition: turn it round, with .T."
    g = plain(variables["g"])
    if _fits(g, got) and _same(got * g, wanted):
        return "this is the local slope; what arrives (g) has to be multiplied with it."
    return ""


def _factor(got: Tensor, wanted: Tensor) -> float | None:
    """By which all of it is too large, if there is one."""
    if not bool((wanted != 0).any()):
        return None
    factor = float((got * wanted).sum() / (wanted * wanted).sum())
    if not factor or not _same(got, factor * wanted):
        return None
    # A single number is some multiple of any other: that says something only if it is a plain multiple.
    is_plain = any(abs(factor * times - round(factor * times)) < _CLOSE for times in (1, 2, 3, 4))
    return factor if wanted.numel() > 1 or is_plain else None


def _where(symbol: str, got: Tensor, wanted: Tensor) -> str:
    distance = (got - wanted).abs().reshape(-1)
    worst = int(distance.argmax())
    num_wrong = int((distance > _CLOSE * (1 + wanted.abs().reshape(-1))).sum())
    element = element_names(symbol, tuple(wanted.shape))[worst]
    here, there = float(got.reshape(-1)[worst]), float(wanted.reshape(-1)[worst])
    of_all = f" ({num_wrong} of {wanted.numel()} elements are wrong)" if wanted.numel() > 1 else ""
    return f"at {element} it gives {here:.4g}, and {there:.4g} is wanted{of_all}."


def _same(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=_CLOSE, atol=_CLOSE)


def _as_floats(value: Tensor) -> Tensor:
    with as_plain():
        return plain(value).to(torch.float64)


def _shapes(trial: Trial) -> str:
    return ", ".join(f"{name} of {shape_text(shape)}" for name, shape in trial.shapes.items())


def _verdict(symbol: str, message: str, got: Tensor | None, wanted: Tensor | None) -> Verdict:
    return Verdict(
        symbol=symbol,
        is_right=False,
        message=message[:1].upper() + message[1:],
        got=None if got is None else cells_of(got),
        wanted=None if wanted is None else cells_of(wanted),
    )
