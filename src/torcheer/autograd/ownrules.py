"""Rules of a user's own, looked at before they go into the table: a slip there would give wrong gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor

from torcheer.autograd.calls import CALLS
from torcheer.autograd.engine import tracer
from torcheer.autograd.rules import RULES
from torcheer.autograd.rules import rule as add_row
from torcheer.errors import InputError


def rule(
    name: str,
    forward: Callable[..., Tensor],
    *,
    words: str = "",
    replace: bool = False,
    **ways: Any,
) -> Callable[..., tracer]:
    r"""Add an op: `rule("cube", forward=lambda a: a**3, a=(lambda g, c, a: 3 * g * a**2, r"3 \bar c a^2"))`.

    For each input, by its name: a function of the gradient g of the output, the output c and all inputs,
    which gives the gradient of that input; and its formula as LaTeX, where `\bar c` is g. Returned is the op
    itself, for tracers; calls of torch's by this name lead to it, too.
    """
    if not replace and (name in RULES or name in CALLS):
        raise InputError(
            f"there is a rule for {name} already: choose another name, or pass replace=True to use yours."
        )
    if not ways:
        raise InputError(f'{name} needs a gradient for each input: a=(lambda g, c, a: …, r"formula").')
    _check_inputs(name, forward, list(ways))
    checked: dict[str, Any] = {symbol: _checked(name, symbol, way) for symbol, way in ways.items()}
    return add_row(name, forward, words=words, replace=replace, **checked)


def _checked(name: str, symbol: str, way: Any) -> tuple[Any, ...]:
    parts = way if isinstance(way, tuple) else (way,)
    is_fit = bool(parts) and callable(parts[0]) and all(isinstance(one, str) for one in parts[1:])
    if len(parts) > 3 or not is_fit:
        raise InputError(
            f"the gradient of {symbol} in {name} is a function and a formula: "
            f'{symbol}=(lambda g, c, {symbol}: …, r"formula").'
        )
    formula = parts[1] if len(parts) > 1 else ""
    if formula.count("{") != formula.count("}"):
        raise InputError(f"the formula of {symbol} in {name} has not as many }} as {{: {formula}")
    return (parts[0], formula or r"\bar c \cdot \ldots", *parts[2:])


def _check_inputs(name: str, forward: Callable[..., Any], symbols: list[str]) -> None:
    """Inputs go by their place, so gradients are named as the forward names them, in its order."""
    try:
        found = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return  # a function of torch's own, which does not say
    if any(one.kind is one.VAR_POSITIONAL for one in found):
        return
    places = [one for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    inputs = [one.name for one in places]
    if symbols != inputs[: len(symbols)]:
        raise InputError(
            f"{name} has the inputs {', '.join(inputs)}, and gradients for {', '.join(symbols)}: name them "
            "alike, in the same order."
        )
