r"""The way back, step by step: what each op hands to each of its inputs, and how that is shown.

Formulas of rules get a student's names: `\bar c` becomes `\grad{loss}`, and `a` becomes `\name{W1}`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from torcheer.autograd import Node, Rule, as_plain, walk_back
from torcheer.learn.expression_values import MAX_SIDE, Value, cells_of, new_nodes, plain
from torcheer.learn.lesson_document import (
    BackwardStep,
    Form,
    Jacobian,
    SumOver,
    digits,
    shape_text,
)

_BAR: Final = r"\\bar\s*(?:\{\s*c\s*\}|c(?![A-Za-z]))"
_PIECES: Final = re.compile(rf"({_BAR}|\\operatorname\{{[^}}]*\}}|\\[A-Za-z]+|\\.|[A-Za-z]+)")
_IN_BRACES: Final = re.compile(r"\{([A-Za-z]+)\}")
_IS_BAR: Final = re.compile(_BAR)


def filled(formula: str, names: Mapping[str, str], gradient: str) -> str:
    r"""The formula with names for its letters: `names` by letter, as LaTeX; `gradient` for `\bar c`."""

    def name(piece: re.Match[str]) -> str:
        found = piece.group()
        if _IS_BAR.fullmatch(found):
            return gradient
        return names.get(found, found)

    return _PIECES.sub(name, formula)


def formula_of(
    node: Node, position: int, names: Mapping[str, str], to: str, output: str, *, is_part: bool
) -> str:
    """What the step does, as an equation; `names` are those of the inputs by their letter in the rule."""
    assert node.rule is not None
    right = node.rule.way(position).formula
    if node.rule.name == "pow" and position == 0 and isinstance(node.inputs[1], int | float):
        exponent = node.inputs[1]  # that was written: 2 e, 3 x^2
        above = "" if exponent == 2 else rf"^{{{exponent - 1:.4g}}}"
        right = rf"\bar c \cdot {number_text(exponent)}\,a{above}"
    elif node.rule.name == "mean":
        right = rf"\frac{{\bar c}}{{{mean_count(node)}}} \cdot \mathbf{{1}}"
    letters = {letter: rf"\name{{{name}}}" for letter, name in names.items()}
    letters["c"] = rf"\name{{{output}}}"
    for letter, given in zip(node.rule.symbols, node.inputs, strict=False):
        if not isinstance(given, Tensor) and given is not None and not node.rule.takes_many:
            letters[letter] = number_text(given)
    text = filled(right, letters, rf"\grad{{{output}}}")
    return rf"\grad{{{to}}} {'+=' if is_part else '='} {text}"


def words_of(rule: Rule, position: int, names: Mapping[str, str]) -> str:
    """What the rule says of this input, else of all; `{a}` in it is the name of the input a."""
    words = rule.way(position).words or rule.words
    return _IN_BRACES.sub(lambda letter: names.get(letter[1], letter[1]), words)


def summed(formula: str) -> str:
    r"""With the sum over what was broadcast in front of the right side, unless it is there."""
    left, equals, right = formula.partition("= ")
    if r"\sum" in right:
        return formula
    is_single = not re.search(r"(?<=.)[+-]", right)
    return rf"{left}{equals}\sum {right}" if is_single else rf"{left}{equals}\sum \left( {right} \right)"


def symbol_of(rule: Rule, position: int) -> str:
    return rule.symbols[0 if rule.takes_many else position]


def number_text(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"({text})" if text.startswith("-") else text


def mean_count(node: Node) -> int:
    """Of how many elements each result is the mean."""
    return max(1, int(node.inputs[0].numel()) // max(1, node.value.numel()))


class Display:
    """How a step of a rule looks: its form, and its title by the letter of the input."""

    def __init__(self, form: Form, **titles: str) -> None:
        self.form, self.titles = form, titles


class Factors(NamedTuple):
    """Two matrices, in the order in which they are multiplied."""

    left: Tensor
    left_label: str
    right: Tensor
    right_label: str


# fmt: off
DISPLAYS: Final[Mapping[str, Display]] = {
    "add": Display("elementwise", a="1", b="1"),
    "sub": Display("elementwise", a="1", b="−1"),
    "mul": Display("elementwise", a="{b}", b="{a}"),
    "div": Display("elementwise", a="1/{b}", b="−{c}/{b}"),
    "neg": Display("elementwise", a="−1"),
    "pow": Display("elementwise", a="{b}·{a}^({b}−1)", b="{c}·ln {a}"),
    "exp": Display("elementwise", a="{c}"),
    "expm1": Display("elementwise", a="{c} + 1"),
    "log": Display("elementwise", a="1/{a}"),
    "log1p": Display("elementwise", a="1/(1 + {a})"),
    "sqrt": Display("elementwise", a="1/(2·{c})"),
    "abs": Display("elementwise", a="sign"),
    "sin": Display("elementwise", a="cos {a}"),
    "cos": Display("elementwise", a="−sin {a}"),
    "atan": Display("elementwise", a="1/(1 + {a}²)"),
    "asin": Display("elementwise", a="1/√(1 − {a}²)"),
    "tanh": Display("elementwise", a="1 − {c}²"),
    "sigmoid": Display("elementwise", a="{c}(1 − {c})"),
    "relu": Display("elementwise", a="mask"),
    "erf": Display("elementwise", a="bell curve"),
    **dict.fromkeys("floor ceil trunc sign round".split(), Display("elementwise", a="0")),
    "maximum": Display("elementwise", a="mask", b="mask"),
    "minimum": Display("elementwise", a="mask", b="mask"),
    "where": Display("elementwise", a="mask", b="mask"),
    "clone": Display("elementwise", a="1"),
    "to": Display("elementwise", a="1"),
    "sum": Display("moved", a="1 to each"),
    "mean": Display("moved", a="share 1/{n}"),
    "amax": Display("moved", a="to the largest"),
    "reshape": Display("moved", a="old shape"),
    "permute": Display("moved", a="turned back"),
    "expand": Display("moved", a="sum of copies"),
    "flip": Display("moved", a="turned back"),
    "cat": Display("moved", a="its piece"),
    "index": Display("moved", a="to its places"),
    "place": Display("moved", a="from its places"),
    "gather": Display("moved", a="to what was picked"),
    "scatter": Display("moved", a="from its places"),
    "logsumexp": Display("general", a="softmax shares"),
    "cumsum": Display("general", a="sums from the end"),
    "softmax": Display("general", a="{c}·(g − Σ g·{c})"),
    "log_softmax": Display("general", a="g − eᶜ·Σ g"),
    "standardise": Display("general", a="mean and stretch taken out"),
    "lstm_memory": Display("general", x="through the gates", m="forget gate"),
    "lstm_state": Display("general", x="through the output gate", m="output gate"),
    "gru_state": Display("general", x="through the gates", y="through the gates", h="update gate"),
    "matmul": Display("matrix", a="g · {b}ᵀ", b="{a}ᵀ · g"),
    "einsum": Display("general", a="times the others"),
    "linear": Display("matrix", x="g · {w}", w="gᵀ · {x}", b="sum of g"),
    "conv2d": Display("general", x="g spread by {w}", w="{x} met by g", b="sum of g"),
    "conv_transpose2d": Display("general", x="g met by {w}", w="g met by {x}", b="sum of g"),
    "conv_weight": Display("general", x="{w} spread by g", w="{x} met by g"),
    "unfold2d": Display("moved", a="sum of patches"),
    "fold2d": Display("moved", a="its patches"),
}
# fmt: on


def display_of(rule: str) -> Display:
    """That of a rule; of one that somebody added, what its Jacobian says."""
    return DISPLAYS.get(rule, Display("general"))


def form_of(node: Node, position: int) -> Form:
    """Products of stacks of matrices are not laid out as one product; a bias is only moved."""
    assert node.rule is not None
    form = display_of(node.rule.name).form
    if form != "matrix":
        return form
    if node.rule.name == "linear":
        return "moved" if symbol_of(node.rule, position) == "b" else "matrix"
    return "matrix" if all(one.dim() == 2 for one in node.inputs) else "general"


def title_of(node: Node, position: int, names: Mapping[str, str]) -> str:
    """`matmul: xᵀ · g`."""
    assert node.rule is not None
    rule = node.rule.name
    if rule == "pow" and position == 0 and not isinstance(node.inputs[1], Tensor):
        base, exponent = names["a"], node.inputs[1]
        if exponent == 2:
            return f"square: 2·{base}"
        return f"pow: {digits(exponent)}·{base}^{digits(exponent - 1)}"
    template = display_of(rule).titles.get(symbol_of(node.rule, position))
    if template is None:
        return rule
    count = str(mean_count(node)) if rule == "mean" else ""
    return f"{rule}: {template.format_map({**names, 'n': count})}"


def _rows(value: Tensor) -> Tensor:
    return value.reshape(-1, value.shape[-1]) if value.dim() else value


_UPSTREAM: Final = "upstream"
_FACTORS: Final[Mapping[tuple[str, str], Callable[[Tensor, Any, Mapping[str, str]], Factors]]] = {
    ("matmul", "a"): lambda g, of, names: Factors(g, _UPSTREAM, of[1].mT, f"local {names['b']}ᵀ"),
    ("matmul", "b"): lambda g, of, names: Factors(of[0].mT, f"local {names['a']}ᵀ", g, _UPSTREAM),
    ("linear", "x"): lambda g, of, names: Factors(_rows(g), _UPSTREAM, of[1], f"local {names['w']}"),
    ("linear", "w"): lambda g, of, names: Factors(
        _rows(g).mT, f"{_UPSTREAM}ᵀ", _rows(of[0]), f"local {names['x']}"
    ),
}


MAX_JACOBIAN: Final = 16  # elements on either side
_MAX_JACOBIANS: Final = 200  # of one lesson
# Of lessons with very many steps less of each tensor is shown, so that they stay a few megabytes.
_SIDES: Final = ((60, MAX_SIDE), (200, 8))


def side_of(values: Sequence[Value]) -> int:
    """How many rows and columns of each tensor are shown."""
    return next((side for limit, side in _SIDES if len(values) <= limit), 5)


def walk(loss: Node, values: Sequence[Value]) -> tuple[list[BackwardStep], dict[Node, Tensor]]:
    """Walk back from the loss with the engine itself, and write down what goes by. No `grad` is touched.

    Returns all steps, and the gradient of each node that one came to.
    """
    nodes = new_nodes(loss)
    with as_plain(), _untouched(nodes):
        seed = torch.ones_like(plain(loss.value))
        writer = _Writer(loss, seed, nodes, values)
        gradients = walk_back({loss: seed}, retain_graph=True, wanted=nodes, watch=writer.watch)
    return writer.steps, gradients


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

    def __init__(self, loss: Node, seed: Tensor, nodes: Sequence[Node], values: Sequence[Value]) -> None:
        self._values = values
        self._ids = {value.node: number for number, value in enumerate(values) if value.node is not None}
        self._side = side_of(values)
        self._arrived: dict[Node, Tensor] = {}
        self._num_arrived: Counter[Node] = Counter()
        self._num_all = Counter(parent for node in nodes for parent in node.parents if parent is not None)
        self._num_jacobians = 0
        number, one = self._ids[loss], cells_of(seed, self._side)
        name = values[number].name
        first = BackwardStep(
            node=number,
            to=number,
            title="seed with 1",
            rule="",
            words=f"If {name} grows by a little, then {name} grows by as much: the way back begins with 1.",
            formula=rf"\grad{{{name}}} = 1",
            form="seed",
            upstream=one,
            raw=one,
            contribution=one,
            after=one,
        )
        self.steps = [first]

    def watch(self, node: Node, position: int, gradient: Tensor, contribution: Tensor) -> None:
        parent, rule, side = node.parents[position], node.rule, self._side
        assert parent is not None
        assert rule is not None
        op, to = self._values[self._ids[node]], self._values[self._ids[parent]]
        names = self._names(node, op)
        before = self._arrived.get(parent)
        after = self._arrived[parent] = contribution if before is None else before + contribution
        self._num_arrived[parent] += 1
        raw = raw_contribution(node, position, gradient)
        sums = sums_of(raw, contribution, to.name)
        is_part = self._num_all[parent] > 1
        formula = formula_of(node, position, names, to.name, op.name, is_part=is_part)
        jacobian = jacobian_of(node, position) if self._num_jacobians < _MAX_JACOBIANS else None
        self._num_jacobians += jacobian is not None
        factors = self._factors(node, position, gradient, names, jacobian)
        self.steps.append(
            BackwardStep(
                node=self._ids[node],
                to=self._ids[parent],
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
                jacobian=None if jacobian is None else _shown(jacobian, op, to),
            )
        )

    def _names(self, node: Node, op: Value) -> dict[str, str]:
        """What the inputs are called, by their letters in the rule; a number is called by itself."""
        assert node.rule is not None
        left = list(op.operands)
        names = {"c": op.name}
        for place, given in enumerate(node.inputs):
            number = digits(given) if isinstance(given, int | float) else f"{given}"
            known = left.pop(0).name if isinstance(given, Tensor) else number
            names.setdefault(symbol_of(node.rule, place), known)
        return names

    def _factors(
        self, node: Node, position: int, gradient: Tensor, names: Mapping[str, str], jacobian: Tensor | None
    ) -> Factors | None:
        """The two whose product goes on."""
        assert node.rule is not None
        form = form_of(node, position)
        if form == "matrix":
            return _FACTORS[node.rule.name, symbol_of(node.rule, position)](gradient, node.inputs, names)
        if form == "elementwise":
            local = raw_contribution(node, position, torch.ones_like(gradient))
            return Factors(local, "local slope", gradient, _UPSTREAM)
        if form == "general" and jacobian is not None:
            return Factors(gradient.reshape(1, -1), "upstream, as a row", jacobian, "local Jacobian")
        return None


def raw_contribution(node: Node, position: int, gradient: Tensor) -> Tensor:
    """What the rule gives, before it is summed to the shape of the input."""
    assert node.rule is not None
    which = (position,) if node.rule.takes_many else ()
    return node.rule.way(position).vjp(gradient, node.value, *which, *node.inputs, **node.options)


def sums_of(raw: Tensor, contribution: Tensor, name: str) -> list[SumOver]:
    """Over which dimensions the raw contribution is summed, and why."""
    shape = tuple(contribution.shape)
    num_new = raw.dim() - len(shape)
    described = f"the shape {shape_text(shape)}" if shape else "a single number"
    found = []
    for dim, size in enumerate(raw.shape):
        is_new = dim < num_new
        if is_new or (shape[dim - num_new] == 1 and size != 1):
            has = f"has {described} and was" if is_new else "has one entry along this dimension,"
            reason = f"{name} {has} used for each of {size}: what arrives at all of them is added."
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


def _shown(jacobian: Tensor, op: Value, to: Value) -> Jacobian:
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
