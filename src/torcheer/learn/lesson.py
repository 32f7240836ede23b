"""From values and a loss to a lesson, with what torch's autograd and differences say of its gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd import Node, as_plain
from torcheer.learn.backward_steps import element_names, side_of, walk
from torcheer.learn.expression_values import Value, Values, cells_of, new_nodes, one_thread, plain
from torcheer.learn.language import read
from torcheer.learn.lesson_document import BackwardStep, LearnCheck, LearnFault, LearnNode, Lesson, digits

MAX_DIFFERENCES: Final = 64  # elements of a tensor for which differences are computed
_MAX_WORK: Final = 40_000  # small ops, for the differences of all tensors together: a second or so
_OF_A_SMALL_OP: Final = 5_000  # multiplications that take as long as calling it
_STEP: Final = 1e-6
_KINK: Final = 1e-3  # slopes from both sides that differ by more


# Of the loss by each element of one tensor, from below and from above.
Slopes = tuple[Tensor, Tensor]


def checks_of(loss: Node, values: Sequence[Value], gradients: Mapping[Node, Tensor]) -> list[LearnCheck]:
    """A check for each node that got a gradient, in the order of the values."""
    nodes = new_nodes(loss)
    with as_plain():
        torch_says = torch_gradients(loss, nodes)
        replay = _Replay(loss, nodes)
        numbers = {value.node: number for number, value in enumerate(values) if value.node is not None}
        sizes = [one.nan_to_num(0, 0, 0).abs().max() for one in gradients.values() if one.numel()]
        scale = max([1.0, *map(float, sizes)])
        checks = []
        for node in nodes:
            if node in gradients:
                number, both = numbers[node], (gradients[node], torch_says.get(node))
                checks.append(_check(number, values[number].name, *both, *replay.differences(node), scale))
    return sorted(checks, key=lambda check: check.node)


def torch_gradients(loss: Node, nodes: Sequence[Node]) -> dict[Node, Tensor]:
    """The gradient of every node, by torch."""
    made: dict[Node, Tensor] = {}
    with as_plain(), torch.enable_grad():
        for node in nodes:
            if node.rule is None:
                made[node] = plain(node.value).clone().requires_grad_()
            else:
                inputs = _inputs(node, made, None)
                result = node.rule.forward(*inputs, **node.options)
                # An op that hands on its input would share the input's gradient.
                made[node] = result.view_as(result) if any(result is one for one in inputs) else result
        wanted = [node for node in nodes if made[node].requires_grad]
        # Of a sum it is one number by itself: to be given the 1, torch would load a great deal first.
        found = torch.autograd.grad(made[loss].sum(), [made[node] for node in wanted], allow_unused=True)
    return {node: gradient for node, gradient in zip(wanted, found, strict=True) if gradient is not None}


def _inputs(node: Node, made: Mapping[Node, Tensor], dtype: torch.dtype | None) -> list[Any]:
    inputs: list[Any] = []
    for given, parent in zip(node.inputs, node.parents, strict=True):
        if parent is not None:
            inputs.append(made[parent])
        elif isinstance(given, Tensor):
            value = plain(given)
            inputs.append(value.to(dtype) if dtype is not None and value.is_floating_point() else value)
        else:
            inputs.append(given)
    return inputs


class _Replay:
    """Computes the loss anew from a changed value on, in float64."""

    def __init__(self, loss: Node, nodes: Sequence[Node]) -> None:
        self._loss = loss
        self._nodes = nodes
        self._work = 0.0
        self._values: dict[Node, Tensor] = {}
        for node in nodes:
            self._values[node] = (
                plain(node.value).to(torch.float64) if node.rule is None else _again(node, self._values)
            )

    def differences(self, node: Node) -> tuple[Slopes | None, str]:
        """The slopes by one node, or why there are none."""
        size = node.value.numel()
        if size > MAX_DIFFERENCES:
            return None, f"differences are computed for at most {MAX_DIFFERENCES} elements, not for {size:,}."
        touched, after = {node}, []  # the ops that depend on it
        for one in self._nodes:
            if not touched.isdisjoint(one.parents):
                touched.add(one)
                after.append(one)
        self._work += 2 * size * sum(_work(one) for one in after)
        if self._work > _MAX_WORK:
            return None, "there are too many ops to compute all differences: a smaller expression has them."
        value, middle = self._values[node], float(self._values[self._loss])
        below, above = torch.zeros(size, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)
        for place in range(size):
            step = _STEP * max(1.0, abs(float(value.reshape(-1)[place])))
            above[place] = (self._loss_with(node, after, place, step) - middle) / step
            below[place] = (middle - self._loss_with(node, after, place, -step)) / step
        return (below.reshape(value.shape), above.reshape(value.shape)), ""

    def _loss_with(self, node: Node, after: Sequence[Node], place: int, step: float) -> float:
        changed = self._values[node].clone(memory_format=torch.contiguous_format)
        changed.view(-1)[place] += step
        values = {**self._values, node: changed}
        for one in after:
            values[one] = _again(one, values)
        return float(values[self._loss])


def _work(node: Node) -> float:
    """How long an op takes, in small ones."""
    assert node.rule is not None
    sizes = [one.numel() for one in node.inputs if isinstance(one, Tensor)]
    each = 1
    if node.rule.name in ("matmul", "linear"):
        each = node.inputs[0].shape[-1]
    elif node.rule.name == "conv2d":
        each = node.inputs[1][0].numel()
    return 1 + (sum(sizes) + node.value.numel() * each) / _OF_A_SMALL_OP


def _again(node: Node, values: Mapping[Node, Tensor]) -> Tensor:
    assert node.rule is not None
    options = {
        name: torch.float64 if isinstance(option, torch.dtype) and option.is_floating_point else option
        for name, option in node.options.items()
    }
    return node.rule.forward(*_inputs(node, values, torch.float64), **options)


def _check(
    number: int,
    name: str,
    ours: Tensor,
    of_torch: Tensor | None,
    slopes: Slopes | None,
    note: str,
    scale: float,
) -> LearnCheck:
    precision = torch.finfo(ours.dtype).eps
    error, difference, mean = None, None, None
    if slopes is not None:
        below, above = slopes
        mean, kinks = (below + above) / 2, (above - below).abs() > _KINK * scale
        difference = _error(ours, mean, ~kinks)
        note = _kink_note(name, kinks, slopes) or note
    if of_torch is not None:
        error = _error(ours, of_torch, torch.ones_like(ours, dtype=torch.bool))
    return LearnCheck(
        node=number,
        torch=None if of_torch is None else cells_of(of_torch),
        torch_error=error,
        difference=None if mean is None else cells_of(mean),
        difference_error=difference,
        tolerance=_round_number(8 * precision * scale),
        difference_tolerance=_round_number(max(1e-5, 500 * precision) * scale),
        note=note,
    )


def _kink_note(name: str, kinks: Tensor, slopes: Slopes) -> str:
    places = kinks.reshape(-1).nonzero().reshape(-1).tolist()
    if not places:
        return ""
    element = element_names(name, tuple(kinks.shape))[places[0]]
    below, above = (float(one.reshape(-1)[places[0]]) for one in slopes)
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    if max(abs(below), abs(above)) > 1 / _KINK:
        return f"at {element}{more} the loss jumps: there is no slope to compare with."
    return (
        f"at {element}{more} the loss has a kink: its slope is {digits(below)} from below and "
        f"{digits(above)} from above, and what is in between is as right."
    )


def _error(ours: Tensor, other: Tensor, counts: Tensor) -> float | None:
    """The largest difference, as whoever looks at the cells finds it, with their digits."""
    shown = _distance(_sent(ours), _sent(other), _sent(counts) > 0)
    if cells_of(ours).is_whole or shown is None:
        return shown
    rest = _distance(ours.to(torch.float64), other.to(torch.float64), counts)
    return None if rest is None else max(shown, rest)


def _sent(value: Tensor) -> Tensor:
    return torch.tensor([float(one) for one in cells_of(value).values], dtype=torch.float64)


def _distance(one: Tensor, other: Tensor, counts: Tensor) -> float | None:
    """The same infinity, or no number on both sides, is no difference."""
    same = (one == other) | (one.isnan() & other.isnan()) | ~counts
    distance = torch.where(same, 0.0, (one - other).abs())
    largest = float(distance.max()) if distance.numel() else 0.0
    return largest if math.isfinite(largest) else None


def _round_number(value: float) -> float:
    """The power of ten above: easier to read."""
    return float(10.0 ** math.ceil(math.log10(value)))


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
    _, gradients = walk(reading.loss.node, values)
    return checks_of(reading.loss.node, values, gradients)


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
    steps: list[BackwardStep] = []
    gradients: dict[Node, Tensor] = {}
    checks: list[LearnCheck] = []
    if loss is not None and loss.node is not None:
        steps, gradients = walk(loss.node, settled)
        checks = checks_of(loss.node, settled, gradients) if has_checks else []
    return Lesson(
        title=title,
        lines=lines,
        first_line=first_line,
        nodes=[_shown(number, settled, gradients) for number in range(len(settled))],
        forward=[number for number, value in enumerate(settled) if value.kind == "op"],
        backward=steps,
        loss=None if loss is None else settled.index(loss),
        fault=fault,
        checks=checks,
        notes=notes,
    )


def _shown(number: int, values: Sequence[Value], gradients: Mapping[Node, Tensor]) -> LearnNode:
    value, side = values[number], side_of(values)
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
        parents=[values.index(operand) for operand in value.operands],
        value=cells_of(value.tensor, side),
        gradient=None if gradient is None else cells_of(gradient, side),
        wants_gradient=value.node is not None,
    )
