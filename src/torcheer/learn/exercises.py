"""Exercises: rules with a hole to fill; tasks.py has them all. No torch in here until one is shown.

Each has a forward line in the language of the page. An answer is an expression over what arrives (g), what
came out (c), the inputs, and what is given beside them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torcheer.learn.document import Exercise, Hole
from torcheer.learn.limits import shape_text

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """One gradient to be found."""

    solution: str
    hints: Sequence[str]  # from vague to concrete


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An exercise, as it is set."""

    id: str
    title: str
    text: str
    forward: str  # c = …
    shapes: Sequence[Shapes]  # the first is shown; an answer must be right for all
    holes: Mapping[str, Sought]
    helpers: Mapping[str, str] = field(
        default_factory=dict
    )  # given besides: name = expression over the inputs
    places: Mapping[str, int] = field(default_factory=dict)  # inputs that are whole numbers below this
    positive: frozenset[str] = frozenset()  # inputs that must not be zero or less


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a student typed for one hole, and whether it was right."""

    answer: str
    is_right: bool


def shown(task: Task, typed: Mapping[str, Typed]) -> Exercise:
    """The exercise with what the student has done in it."""
    holes = [
        Hole(
            symbol=symbol,
            formula=rf"\grad{{{symbol}}}",
            hints=sought.hints,
            solution=sought.solution,
            answer=typed[symbol].answer if symbol in typed else "",
            is_right=symbol in typed and typed[symbol].is_right,
        )
        for symbol, sought in task.holes.items()
    ]
    return Exercise(
        id=task.id,
        title=task.title,
        text=task.text,
        forward=task.forward,
        given=given(task),
        holes=holes,
        is_solved=all(hole.is_right for hole in holes),
    )


def given(task: Task) -> list[str]:
    """What may be used, a line each, with its numbers in the example that verdicts speak of."""
    # By name: whoever only wants the list of exercises needs no torch.
    numbers: Mapping[str, str] = importlib.import_module("torcheer.learn.judging").numbers_of(task)
    lines = [
        f"g: the gradient that arrives at c, in the shape of c: {numbers['g']}",
        f"c: {task.forward.partition('= ')[2]} = {numbers['c']}",
    ]
    for name, shape in task.shapes[0].items():
        size = f"{shape[0]} elements" if len(shape) == 1 else shape_text(shape)
        what = f", whole numbers from 0 to {task.places[name] - 1}" if name in task.places else ""
        lines.append(f"{name}: {size}{what}: {numbers[name]}")
    lines += [f"{name}: {expression} = {numbers[name]}" for name, expression in task.helpers.items()]
    return lines
