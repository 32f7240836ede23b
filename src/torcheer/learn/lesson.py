"""From values and a loss to a lesson: all that the page needs to go forward and back, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from torch import Tensor

from torcheer.autograd import Node
from torcheer.learn.check import checks_of
from torcheer.learn.document import LearnCheck, LearnFault, LearnNode, Lesson
from torcheer.learn.language import read
from torcheer.learn.steps import WayBack, walk
from torcheer.learn.values import MAX_SIDE, Value, Values, cells_of, new_nodes, one_thread

# Of lessons with very many steps less of each tensor is shown, so that they stay a few megabytes.
_SIDES: Final = ((60, MAX_SIDE), (200, 8), (10**9, 5))


@one_thread()
def lesson_of_source(source: str, title: str = "") -> Lesson:
    """Take apart what a student wrote. What cannot be read is the fault of the lesson, not an error."""
    reading = read(source)
    return lesson_of(reading.values, reading.loss, title=title, lines=source.split("\n"), fault=reading.fault)


@one_thread()
def checks_of_source(source: str) -> Sequence[LearnCheck]:
    """What torch and differences say of the gradients."""
    reading = read(source)
    if reading.loss is None or reading.loss.node is None:
        return []
    values = reading.values.settle()
    nodes = new_nodes(reading.loss.node, ())
    return checks_of(reading.loss.node, nodes, values, way_back(reading.loss, values).gradients)


@one_thread()
def lesson_of(
    values: Values,
    loss: Value | None,
    *,
    title: str,
    lines: Sequence[str],
    first_line: int = 1,
    fault: LearnFault | None = None,
    has_checks: bool = False,
    notes: Sequence[str] = (),
) -> Lesson:
    """The lesson of these values; without a loss it only goes forward."""
    settled = values.settle()
    back = WayBack(steps=[], gradients={})
    checks: Sequence[LearnCheck] = []
    if loss is not None and loss.node is not None:
        back = way_back(loss, settled)
        if has_checks:
            checks = checks_of(loss.node, new_nodes(loss.node, ()), settled, back.gradients)
    side = _side(len(settled))
    return Lesson(
        title=title,
        lines=lines,
        first_line=first_line,
        nodes=[_shown(number, value, settled, back.gradients, side) for number, value in enumerate(settled)],
        forward=[number for number, value in enumerate(settled) if value.kind == "op"],
        backward=back.steps,
        loss=None if loss is None else settled.index(loss),
        fault=fault,
        checks=checks,
        notes=notes,
    )


def way_back(loss: Value, values: Sequence[Value]) -> WayBack:
    """All steps from the loss to the leaves."""
    assert loss.node is not None
    return walk(loss.node, new_nodes(loss.node, ()), values, _side(len(values)))


def _side(num_values: int) -> int:
    return next(side for limit, side in _SIDES if num_values <= limit)


def _shown(
    number: int, value: Value, values: Sequence[Value], gradients: Mapping[Node, Tensor], side: int
) -> LearnNode:
    places = {id(one): place for place, one in enumerate(values)}
    gradient = None if value.node is None else gradients.get(value.node)
    return LearnNode(
        id=number,
        name=value.name,
        is_named=value.is_named,
        kind=value.kind,
        rule=value.rule,
        text=value.text,
        layer=value.layer,
        line=value.line,
        dtype=str(value.tensor.dtype).removeprefix("torch."),
        parents=[places[id(operand)] for operand in value.operands],
        value=cells_of(value.tensor, side),
        gradient=None if gradient is None else cells_of(gradient, side),
        wants_gradient=value.node is not None,
    )
