"""How each rule is shown: the form of its step, and a few signs that say what it multiplies with.

In titles, {a}, {b}, {x}, {w} are the names of the inputs, {c} that of the output, {n} a number of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from torch import Tensor

from torcheer.autograd.engine import Node
from torcheer.learn.digits import digits
from torcheer.learn.document import Form
from torcheer.learn.formulas import mean_count, symbol_of


class Display(NamedTuple):
    form: Form
    titles: Mapping[str, str]  # by the letter of the input


class Factors(NamedTuple):
    """Two matrices, in the order in which they are multiplied."""

    left: Tensor
    left_label: str
    right: Tensor
    right_label: str


def _elementwise(**titles: str) -> Display:
    return Display("elementwise", titles)


def _moved(title: str) -> Display:
    return Display("moved", {"a": title})


def _general(**titles: str) -> Display:
    return Display("general", titles)


# fmt: off
DISPLAYS: Final[Mapping[str, Display]] = {
    "add": _elementwise(a="1", b="1"),
    "sub": _elementwise(a="1", b="−1"),
    "mul": _elementwise(a="{b}", b="{a}"),
    "div": _elementwise(a="1/{b}", b="−{c}/{b}"),
    "neg": _elementwise(a="−1"),
    "pow": _elementwise(a="{b}·{a}^({b}−1)", b="{c}·ln {a}"),
    "exp": _elementwise(a="{c}"),
    "expm1": _elementwise(a="{c} + 1"),
    "log": _elementwise(a="1/{a}"),
    "log1p": _elementwise(a="1/(1 + {a})"),
    "sqrt": _elementwise(a="1/(2·{c})"),
    "abs": _elementwise(a="sign"),
    "sin": _elementwise(a="cos {a}"),
    "cos": _elementwise(a="−sin {a}"),
    "atan": _elementwise(a="1/(1 + {a}²)"),
    "asin": _elementwise(a="1/√(1 − {a}²)"),
    "tanh": _elementwise(a="1 − {c}²"),
    "sigmoid": _elementwise(a="{c}(1 − {c})"),
    "relu": _elementwise(a="mask"),
    "erf": _elementwise(a="bell curve"),
    "floor": _elementwise(a="0"), "ceil": _elementwise(a="0"),
    "trunc": _elementwise(a="0"), "sign": _elementwise(a="0"), "round": _elementwise(a="0"),
    "maximum": _elementwise(a="mask", b="mask"),
    "minimum": _elementwise(a="mask", b="mask"),
    "where": _elementwise(a="mask", b="mask"),
    "clone": _elementwise(a="1"),
    "to": _elementwise(a="1"),
    "sum": _moved("1 to each"),
    "mean": _moved("share 1/{n}"),
    "amax": _moved("to the largest"),
    "reshape": _moved("old shape"),
    "permute": _moved("turned back"),
    "expand": _moved("sum of copies"),
    "flip": _moved("turned back"),
    "cat": _moved("its piece"),
    "index": _moved("to its places"),
    "place": _moved("from its places"),
    "gather": _moved("to what was picked"),
    "scatter": _moved("from its places"),
    "logsumexp": _general(a="softmax shares"),
    "cumsum": _general(a="sums from the end"),
    "softmax": _general(a="{c}·(g − Σ g·{c})"),
    "log_softmax": _general(a="g − eᶜ·Σ g"),
    "standardise": _general(a="mean and stretch taken out"),
    "lstm_memory": _general(x="through the gates", m="forget gate"),
    "lstm_state": _general(x="through the output gate", m="output gate"),
    "gru_state": _general(x="through the gates", y="through the gates", h="update gate"),
    "matmul": Display("matrix", {"a": "g · {b}ᵀ", "b": "{a}ᵀ · g"}),
    "linear": Display("matrix", {"x": "g · {w}", "w": "gᵀ · {x}", "b": "sum of g"}),
    "conv2d": _general(x="g spread by {w}", w="{x} met by g", b="sum of g"),
    "conv_transpose2d": _general(x="g met by {w}", w="g met by {x}", b="sum of g"),
    "conv_weight": _general(x="{w} spread by g", w="{x} met by g"),
    "unfold2d": _moved("sum of patches"),
    "fold2d": _moved("its patches"),
}
# fmt: on
_DEFAULT: Final = Display("general", {})


def display_of(rule: str) -> Display:
    """That of a rule; of one that somebody added, what its Jacobian says."""
    return DISPLAYS.get(rule, _DEFAULT)


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
        return _power_title(names["a"], node.inputs[1])
    template = display_of(rule).titles.get(symbol_of(node.rule, position))
    if template is None:
        return rule
    count = str(mean_count(node)) if rule == "mean" else ""
    return f"{rule}: {template.format_map({**names, 'n': count})}"


def _power_title(base: str, exponent: Any) -> str:
    if exponent == 2:
        return f"square: 2·{base}"
    return f"pow: {digits(exponent)}·{base}^{digits(exponent - 1)}"


# --- factors of a product of matrices ----------------------------------------------------------------------


def factors_of(node: Node, position: int, g: Tensor, names: Mapping[str, str]) -> Factors | None:
    """The two matrices whose product goes on."""
    assert node.rule is not None
    find = _FACTORS.get((node.rule.name, symbol_of(node.rule, position)))
    return None if find is None else find(g, node.inputs, names)


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
