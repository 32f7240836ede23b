"""The way back, step by step: what each op hands to each of its inputs, and how that was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd.engine import Node, walk_back
from torcheer.autograd.modes import as_plain
from torcheer.learn.cells import cells_of
from torcheer.learn.digits import digits
from torcheer.learn.displays import Factors, factors_of, form_of, title_of
from torcheer.learn.document import BackwardStep, Jacobian, SumOver
from torcheer.learn.formulas import formula_of, sum_reason, summed, symbol_of, words_of
from torcheer.learn.values import Value, plain

MAX_JACOBIAN: Final = 16  # elements on either side
_MAX_JACOBIANS: Final = 200  # of one lesson


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """All steps, and the gradient of each node that one came to."""

    steps: Sequence[BackwardStep]
    gradients: Mapping[Node, Tensor]


def walk(loss: Node, nodes: Sequence[Node], values: Sequence[Value], side: int) -> WayBack:
    """Walk back from the loss with the engine itself, and write down what goes by. No `grad` is touched."""
    if loss.rule is None:
        seed = torch.ones_like(loss.value)
        return WayBack(steps=[_seed_step(_ids(values)[loss], seed, values, side)], gradients={loss: seed})
    with as_plain(), _untouched(nodes):
        writer = _Writer(loss, nodes, values, side)
        seed = torch.ones_like(plain(loss.value))
        gradients = walk_back({loss: seed}, retain_graph=True, wanted=nodes, watch=writer.watch)
    return WayBack(steps=writer.steps, gradients=gradients)


@contextmanager
def _untouched(nodes: Sequence[Node]) -> Iterator[None]:
    """Small values stay after a backward(), to be explained: the engine must not refuse them here.
    And hooks are somebody's: they are called by backward(), not by looking at it."""
    before = [(node, node.is_spent, node.hooks) for node in nodes]
    try:
        for node in nodes:
            node.is_spent, node.hooks = False, None
        yield
    finally:
        for node, is_spent, hooks in before:
            node.is_spent, node.hooks = is_spent, hooks


class _Writer:
    """Makes a step of each contribution."""

    def __init__(self, loss: Node, nodes: Sequence[Node], values: Sequence[Value], side: int) -> None:
        self._values = values
        self._ids = _ids(values)
        self._side = side
        self._arrived: dict[Node, Tensor] = {}
        self._num_arrived: Counter[Node] = Counter()
        self._num_all = Counter(parent for node in nodes for parent in node.parents if parent is not None)
        self._num_jacobians = 0
        self.steps = [_seed_step(self._ids[loss], torch.ones_like(plain(loss.value)), values, side)]

    def watch(self, node: Node, position: int, gradient: Tensor, contribution: Tensor) -> None:
        parent, rule = node.parents[position], node.rule
        assert parent is not None
        assert rule is not None
        op, to = self._values[self._ids[node]], self._values[self._ids[parent]]
        names = self._names(node, op)
        before = self._arrived.get(parent)
        after = contribution if before is None else before + contribution
        self._arrived[parent] = after
        self._num_arrived[parent] += 1
        raw = raw_contribution(node, position, gradient)
        sums = sums_of(raw, contribution, to.name)
        is_part = self._num_all[parent] > 1
        formula = formula_of(node, position, names, to.name, op.name, is_part=is_part)
        jacobian = self._jacobian(node, position, op.name, to.name)
        factors = self._factors(node, position, gradient, names, jacobian)
        side = self._side
        self.steps.append(
            BackwardStep(
                node=self._ids[node],
                to=self._ids[parent],
                position=position,
                title=title_of(node, position, names),
                rule=rule.name,
                words=words_of(rule, position, {**names, symbol_of(rule, position): to.name}),
                formula=summed(formula) if sums else formula,
                form=form_of(node, position),
                upstream=cells_of(gradient, side),
                left=None if factors is None else cells_of(factors.left, side),
                left_label="" if factors is None else factors.left_label,
                right=None if factors is None else cells_of(factors.right, side),
                right_label="" if factors is None else factors.right_label,
                raw=cells_of(raw, side),
                sums=sums,
                contribution=cells_of(contribution, side),
                before=None if before is None else cells_of(before, side),
                after=cells_of(after, side),
                number=self._num_arrived[parent],
                num_all=self._num_all[parent],
                jacobian=None if jacobian is None else _shown(jacobian, op, to, side),
            )
        )

    def _names(self, node: Node, op: Value) -> dict[str, str]:
        """What the inputs are called, by their letters in the rule; a number is called by itself."""
        assert node.rule is not None
        left = list(op.operands)
        names = {"c": op.name}
        for place, given in enumerate(node.inputs):
            known = left.pop(0).name if isinstance(given, Tensor) else _number(given)
            letter = node.rule.symbols[0 if node.rule.takes_many else place]
            names.setdefault(letter, known)
        return names

    def _factors(
        self, node: Node, position: int, gradient: Tensor, names: Mapping[str, str], jacobian: Tensor | None
    ) -> Factors | None:
        form = form_of(node, position)
        if form == "matrix":
            return factors_of(node, position, gradient, names)
        if form == "elementwise":
            local = raw_contribution(node, position, torch.ones_like(gradient))
            return Factors(local, "local slope", gradient, "upstream")
        if form == "general" and jacobian is not None:
            return Factors(gradient.reshape(1, -1), "upstream, as a row", jacobian, "local Jacobian")
        return None

    def _jacobian(self, node: Node, position: int, output: str, to: str) -> Tensor | None:
        if self._num_jacobians >= _MAX_JACOBIANS:
            return None
        found = jacobian_of(node, position)
        self._num_jacobians += found is not None
        return found


def raw_contribution(node: Node, position: int, gradient: Tensor) -> Tensor:
    """What the rule gives, before it is summed to the shape of the input."""
    assert node.rule is not None
    which = (position,) if node.rule.takes_many else ()
    return node.rule.way(position).vjp(gradient, node.value, *which, *node.inputs, **node.options)


def sums_of(raw: Tensor, contribution: Tensor, name: str) -> list[SumOver]:
    """Over which dimensions the raw contribution is summed, and why."""
    shape = tuple(contribution.shape)
    num_new = raw.dim() - len(shape)
    found = []
    for dim, size in enumerate(raw.shape):
        is_new = dim < num_new
        if is_new or (shape[dim - num_new] == 1 and size != 1):
            reason = sum_reason(name, shape, size, is_new)
            found.append(SumOver(dim=dim, size=size, reason=reason))
    return found


def jacobian_of(node: Node, position: int) -> Tensor | None:
    """A row for each element of the output: the contribution when 1 arrives there and 0 elsewhere."""
    assert node.rule is not None
    num_out, num_in = node.value.numel(), node.inputs[position].numel()
    if not 0 < num_out <= MAX_JACOBIAN or not 0 < num_in <= MAX_JACOBIAN:
        return None
    rows = []
    for place in range(num_out):
        one = torch.zeros_like(node.value).reshape(-1)
        one[place] = 1
        upstream = one.reshape(node.value.shape)
        rows.append(node.rule.contribution(position, upstream, node.value, node).reshape(-1))
    return torch.stack(rows)


def _shown(jacobian: Tensor, op: Value, to: Value, side: int) -> Jacobian:
    return Jacobian(
        rows=element_names(op.name, tuple(op.tensor.shape)),
        columns=element_names(to.name, tuple(to.tensor.shape)),
        cells=cells_of(jacobian),
    )


def element_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """c[0, 1], in the order of the elements; a single number has no places."""
    if not shape:
        return [name]
    places = torch.cartesian_prod(*(torch.arange(size) for size in shape)).reshape(-1, len(shape)).tolist()
    return [f"{name}[{', '.join(map(str, place))}]" for place in places]


def _number(given: Any) -> str:
    return digits(given) if isinstance(given, int | float) else f"{given}"


def _ids(values: Sequence[Value]) -> dict[Node, int]:
    return {value.node: number for number, value in enumerate(values) if value.node is not None}


def _seed_step(loss: int, seed: Any, values: Sequence[Value], side: int) -> BackwardStep:
    one = cells_of(seed, side)
    name = values[loss].name
    return BackwardStep(
        node=loss,
        to=loss,
        position=0,
        title="seed with 1",
        rule="",
        words=f"If {name} grows by a little, then {name} grows by as much: the way back begins with 1.",
        formula=rf"\grad{{{name}}} = 1",
        form="seed",
        upstream=one,
        left=None,
        left_label="",
        right=None,
        right_label="",
        raw=one,
        sums=[],
        contribution=one,
        before=None,
        after=one,
        number=1,
        num_all=1,
        jacobian=None,
    )
