r"""Formulas of rules with a student's names: `\bar c` becomes `\grad{loss}`, and `a` becomes `\name{W1}`.

The right side of a rule has single letters for inputs, `c` for the output, and `\bar c` for what arrives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from torch import Tensor

from torcheer.autograd.engine import Node, Rule
from torcheer.learn.limits import shape_text

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
    special = _SPECIAL.get((node.rule.name, symbol_of(node.rule, position)))
    right = special(node) if special is not None else node.rule.way(position).formula
    letters = {letter: name_text(name) for letter, name in names.items()}
    letters["c"] = rf"\name{{{output}}}"
    for letter, given in zip(node.rule.symbols, node.inputs, strict=False):
        if not isinstance(given, Tensor) and given is not None and not node.rule.takes_many:
            letters[letter] = number_text(given)
    text = filled(right, letters, rf"\grad{{{output}}}")
    return rf"\grad{{{to}}} {'+=' if is_part else '='} {text}"


def words_of(rule: Rule, position: int, names: Mapping[str, str]) -> str:
    """What the rule says of this input, else of all; `{a}` in it is the name of the input a."""
    words = getattr(rule.way(position), "words", "") or rule.words
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


def name_text(name: str) -> str:
    return rf"\name{{{name}}}"


def number_text(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"({text})" if text.startswith("-") else text


def _power(node: Node) -> str:
    """With the exponent that was written: 2 e, 3 x^2."""
    exponent = node.inputs[1]
    if isinstance(exponent, Tensor) or not isinstance(exponent, int | float):
        return node.rule.ways[0].formula if node.rule is not None else ""
    less = exponent - 1
    above = "" if less == 1 else rf"^{{{f'{less:.4g}'}}}"
    return rf"\bar c \cdot {number_text(exponent)}\,a{above}"


def _mean(node: Node) -> str:
    return rf"\frac{{\bar c}}{{{mean_count(node)}}} \cdot \mathbf{{1}}"


def mean_count(node: Node) -> int:
    """Of how many elements each result is the mean."""
    return max(1, int(node.inputs[0].numel()) // max(1, node.value.numel()))


_SPECIAL: Final[Mapping[tuple[str, str], Callable[[Node], str]]] = {
    ("pow", "a"): _power,
    ("mean", "a"): _mean,
}


def sum_reason(name: str, shape: tuple[int, ...], size: int, is_new: bool) -> str:
    """Why there is a sum over a dimension."""
    if is_new:
        has = f"the shape {shape_text(shape)}" if shape else "a single number"
        return (
            f"{name} has {has} and was used for each of {size} along this dimension: what arrives at all of "
            "them is added."
        )
    return f"{name} has one entry along this dimension, used for all {size}: what arrives at each is added."
