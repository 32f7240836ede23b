"""The table of rules: for each op its forward, and for each input how the gradient gets there, with formula.

To read a row: `c` is what comes out, `g` the gradient that arrives there (`\bar c` in formulas: how much the
loss changes with c), and each input, named a, b, x or w, has a function that gives its own gradient.

Three things are the same for every op, so the engine does them, and no row has them: an input that was
broadcast gets the sum over its copies, gradients that arrive by several ways are added, and each has the type
of its input.

The gradient functions are ordinary code. Run on tracers they are recorded themselves, which gives gradients
of gradients; so they use nothing that is not in this table. All the rest is composed of it: composed/.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd import rule_math as maths
from torcheer.autograd.engine import Rule, Vjp, Way, apply, tracer
from torcheer.autograd.rule_math import is_largest, spread
from torcheer.autograd.torch_calls import CALLS, call
from torcheer.errors import InputError

RULES: Final[dict[str, Rule]] = {}


def row(
    name: str,
    forward: Callable[..., Tensor],
    *,
    also: str = "",
    words: str = "",
    takes_many: bool = False,
    replace: bool = False,
    **ways: tuple[Vjp, str] | tuple[Vjp, str, str],
) -> Callable[..., tracer]:
    r"""Add a row: `row("square", torch.square, a=(lambda g, c, a: 2 * g * a, r"2\,\bar c\,a"))`.

    Each way is named as its input is in the formulas. What is returned is the op itself, for tracers. Calls
    of torch's by this name lead to it, and those that `also` names. `replace`: it takes the place of a row.
    """
    if name in RULES and not replace:
        raise InputError(f"there are two rows for {name}: give one another name, or pass replace=True.")
    made = Rule(
        name, forward, {symbol: Way(*way) for symbol, way in ways.items()}, words=words, takes_many=takes_many
    )
    op = partial(apply, made)
    call(name, *also.split(), replace=replace)(op)
    RULES[name] = made
    return op


# Rows whose gradient is a row further down: each of them is the other's.
place: Callable[..., tracer]
scatter: Callable[..., tracer]
conv_transpose2d: Callable[..., tracer]
conv_weight: Callable[..., tracer]
fold: Callable[..., tracer]

# fmt: off

add = row("add", torch.add,
    a=(lambda g, c, a, b: g, r"\bar c"),
    b=(lambda g, c, a, b: g, r"\bar c"),
    words="A sum hands its gradient to both, unchanged.")

sub = row("sub", operator.sub,
    a=(lambda g, c, a, b: g, r"\bar c", "{a} is what is taken from: it gets the gradient as it is."),
    b=(lambda g, c, a, b: -g, r"-\bar c", "{b} is taken away, so it counts backwards: the sign turns."),
    words="What is taken away counts backwards: its gradient has the other sign.")

mul = row("mul", torch.mul, also="multiply __mul__ __rmul__",
    a=(lambda g, c, a, b: g * b, r"\bar c \cdot b"),
    b=(lambda g, c, a, b: g * a, r"\bar c \cdot a"),
    words="Each factor is scaled by the other, and so is its gradient.")

div = row("div", operator.truediv, also="true_divide __truediv__",
    a=(lambda g, c, a, b: g / b, r"\frac{\bar c}{b}", "More of {a} raises the quotient, by 1 over {b}."),
    b=(lambda g, c, a, b: -g * c / b, r"-\frac{\bar c \cdot c}{b}",
       "More of {b} lowers the quotient, by the quotient itself over {b}."),
    words="More above raises the quotient by 1 over {b}; more below lowers it, by the quotient over {b}.")

neg = row("neg", torch.neg, also="negative __neg__",
    a=(lambda g, c, a: -g, r"-\bar c"),
    words="The sign turns, and so does that of the gradient.")

power = row("pow", torch.pow, also="__pow__",
    a=(lambda g, c, a, b: g * maths.power_slope(a, b), r"\bar c \cdot b\, a^{b-1}"),
    b=(lambda g, c, a, b: g * c * maths.log_of_base(a, b), r"\bar c \cdot c\, \ln a"),
    words="The exponent comes down as a factor, and is one less above.")


exp = row("exp", torch.exp,
    a=(lambda g, c, a: g * c, r"\bar c \cdot c"),
    words="The exponential is its own slope.")

expm1 = row("expm1", torch.expm1, also="special_expm1",
    a=(lambda g, c, a: g * (c + 1), r"\bar c \cdot (c + 1)"),
    words="The slope of the exponential, which is {c} + 1 here.")

log = row("log", torch.log,
    a=(lambda g, c, a: g / a, r"\frac{\bar c}{a}"),
    words="The logarithm rises by 1 over {a}: steep near zero, ever flatter above.")

log1p = row("log1p", torch.log1p, also="special_log1p",
    a=(lambda g, c, a: g / (1 + a), r"\frac{\bar c}{1 + a}"),
    words="The logarithm of 1 + {a} rises by 1 over 1 + {a}.")

sqrt = row("sqrt", torch.sqrt,
    a=(lambda g, c, a: g / (2 * c), r"\frac{\bar c}{2 c}"),
    words="The flatter the larger the root is.")

absolute = row("abs", torch.abs, also="absolute __abs__",
    a=(lambda g, c, a: g * torch.sign(a), r"\bar c \cdot \operatorname{sign} a"),
    words="Below zero the sign turns; at zero itself nothing goes on.")

sin = row("sin", torch.sin,
    a=(lambda g, c, a: g * torch.cos(a), r"\bar c \cdot \cos a"),
    words="The slope of a sine is the cosine.")

cos = row("cos", torch.cos,
    a=(lambda g, c, a: -g * torch.sin(a), r"-\bar c \cdot \sin a"),
    words="The slope of a cosine is minus the sine.")

atan = row("atan", torch.atan, also="arctan",
    a=(lambda g, c, a: g / (1 + a * a), r"\frac{\bar c}{1 + a^2}"),
    words="Steepest at zero, flat far away.")

asin = row("asin", torch.asin, also="arcsin",
    a=(lambda g, c, a: g / torch.sqrt(1 - a * a), r"\frac{\bar c}{\sqrt{1 - a^2}}"),
    words="Steeper and steeper towards -1 and 1.")

tanh = row("tanh", torch.tanh,
    a=(lambda g, c, a: g * (1 - c * c), r"\bar c \cdot (1 - c^2)"),
    words="Near -1 and 1 it is flat, and little of the gradient goes on: the unit is saturated.")

sigmoid = row("sigmoid", torch.sigmoid, also="special_expit",
    a=(lambda g, c, a: g * c * (1 - c), r"\bar c \cdot c\,(1 - c)"),
    words="At most a quarter of the gradient goes on, and almost nothing near 0 and 1.")

relu = row("relu", torch.relu,
    a=(lambda g, c, a: torch.where(a <= 0, 0.0, g), r"\bar c \cdot [a > 0]"),
    words="Where the input was positive the gradient goes on unchanged; elsewhere it ends.")

erf = row("erf", torch.erf, also="special_erf",
    a=(lambda g, c, a: g * (2 / math.sqrt(math.pi)) * torch.exp(-a * a),
       r"\bar c \cdot \frac{2}{\sqrt{\pi}}\, e^{-a^2}"),
    words="Its slope is the bell curve.")

for step in (torch.floor, torch.ceil, torch.trunc, torch.sign):
    row(step.__name__, step,
        a=(lambda g, c, a: torch.zeros_like(g), r"0"),
        words="Flat between its steps: nothing goes back.")

rounded = row("round", lambda a, *, decimals: torch.round(a, decimals=decimals),
    a=(lambda g, c, a, *, decimals: torch.zeros_like(g), r"0"),
    words="Flat between its steps: nothing goes back.")


maximum = row("maximum", torch.maximum,
    a=(lambda g, c, a, b: g * is_largest(a, b), r"\bar c \cdot \left( [a > b] + \frac{1}{2} [a = b] \right)"),
    b=(lambda g, c, a, b: g * is_largest(b, a), r"\bar c \cdot \left( [b > a] + \frac{1}{2} [a = b] \right)"),
    words="The larger one gets it all; where both are equal, each a half.")

minimum = row("minimum", torch.minimum,
    a=(lambda g, c, a, b: g * is_largest(b, a), r"\bar c \cdot \left( [a < b] + \frac{1}{2} [a = b] \right)"),
    b=(lambda g, c, a, b: g * is_largest(a, b), r"\bar c \cdot \left( [b < a] + \frac{1}{2} [a = b] \right)"),
    words="The smaller one gets it all; where both are equal, each a half.")

where = row("where", lambda a, b, *, mask: torch.where(mask, a, b),
    a=(lambda g, c, a, b, *, mask: torch.where(mask, g, 0.0), r"\bar c \cdot [m]"),
    b=(lambda g, c, a, b, *, mask: torch.where(mask, 0.0, g), r"\bar c \cdot [\neg m]"),
    words="Each element goes back to the one that it was taken from.")


total = row("sum", lambda a, *, dim, keepdim: torch.sum(a, dim, keepdim=keepdim),
    a=(lambda g, c, a, *, dim, keepdim: spread(g, a, dim, keepdim), r"\bar c \cdot \mathbf{1}"),
    words="Every element has the same part in a sum, so each gets the whole gradient.")

mean = row("mean", lambda a, *, dim, keepdim: torch.mean(a, dim, keepdim=keepdim),
    a=(lambda g, c, a, *, dim, keepdim: spread(g / max(1, a.numel() // max(1, c.numel())), a, dim, keepdim),
       r"\frac{\bar c}{n} \cdot \mathbf{1}"),
    words="A mean shares the gradient out evenly: each of the n elements gets one n-th.")

amax = row("amax", lambda a, *, dim, keepdim: torch.amax(a, dim, keepdim=keepdim),
    a=(lambda g, c, a, *, dim, keepdim: maths.share_of_largest(g, c, a, dim, keepdim),
       r"\frac{\bar c}{n} \cdot [a = c]"),
    words="Only the largest element made the result, so it gets all; n equal ones get an n-th each.")

logsumexp = row("logsumexp", lambda a, *, dim, keepdim: torch.logsumexp(a, dim, keepdim=keepdim),
    a=(lambda g, c, a, *, dim, keepdim:
           spread(g, a, dim, keepdim) * torch.exp(a - spread(c, a, dim, keepdim)),
       r"\bar c \cdot e^{a - c}"),
    words="The gradient is shared out as by a softmax: most of it to the largest.")

cumsum = row("cumsum", lambda a, *, dim: torch.cumsum(a, dim),
    a=(lambda g, c, a, *, dim: torch.flip(torch.cumsum(torch.flip(g, (dim,)), dim), (dim,)),
       r"\sum_{j \ge i} \bar c_j"),
    words="An element is part of every sum from its own place on, so it gets the gradients of all of them.")

softmax = row("softmax", lambda a, *, dim: torch.softmax(a, dim),
    a=(lambda g, c, a, *, dim: c * (g - (g * c).sum(dim, keepdim=True)),
       r"c \cdot \left( \bar c - \sum_j \bar c_j c_j \right)"),
    words="The shares always add up to 1: what one gains the others lose.")

log_softmax = row("log_softmax", lambda a, *, dim: torch.log_softmax(a, dim),
    a=(lambda g, c, a, *, dim: g - torch.exp(c) * g.sum(dim, keepdim=True),
       r"\bar c - e^{c} \sum_j \bar c_j"),
    words="The gradient minus the share that each had.")


reshape = row("reshape", lambda a, *, shape: torch.reshape(a, shape),
    a=(lambda g, c, a, *, shape: g.reshape(a.shape), r"\operatorname{reshape}(\bar c)"),
    words="Only the form is another: the gradient takes the old one again.")

permute = row("permute", lambda a, *, dims: torch.permute(a, dims),
    a=(lambda g, c, a, *, dims: g.permute(maths.inverse(dims)), r"\bar c^{\top}"),
    words="The dimensions go back to their places.")

expand = row("expand", lambda a, *, shape: a.expand(shape),
    a=(lambda g, c, a, *, shape: g, r"\sum \bar c"),
    words="One element was used many times: the gradients of all its copies are summed.")

flip = row("flip", lambda a, *, dims: torch.flip(a, dims),
    a=(lambda g, c, a, *, dims: torch.flip(g, dims), r"\operatorname{flip}(\bar c)"),
    words="Turned round once more.")

clone = row("clone", lambda a, **how: torch.clone(a, **how),
    a=(lambda g, c, a, **how: g, r"\bar c"),
    words="A copy hands its gradient on.")

cast = row("to", lambda a, **to: a.to(**to),
    a=(lambda g, c, a, **to: g, r"\bar c"),
    words="The same numbers in another type; the gradient goes back to the old one.")

cat = row("cat", lambda *parts, dim: torch.cat(parts, dim), takes_many=True,
    a=(lambda g, c, which, *parts, dim: maths.piece_of(g, which, parts, dim), r"\bar c_{a}"),
    words="Each part gets the piece of the gradient that lies where it lies.")


index = row("index", lambda a, *, key: a[key],
    a=(lambda g, c, a, *, key: place(g, shape=tuple(a.shape), key=key), r"\bar c \rightarrow a_{k}"),
    words="The gradient goes to the elements that were taken; all others get 0.")

RULES["index"].adds_part = maths.add_part

place = row("place", maths.placed,
    a=(lambda g, c, a, *, shape, key: g[key], r"\bar c_{k}"),
    words="Back from the places where it was put.")

gather = row("gather", lambda a, *, dim, index: torch.gather(a, dim, index),
    a=(lambda g, c, a, *, dim, index: scatter(g, shape=tuple(a.shape), dim=dim, index=index),
       r"\bar c \rightarrow a_{k}"),
    words="The gradient goes to the elements that were picked; picked twice, it adds up.")

scatter = row("scatter",
    lambda a, *, shape, dim, index:
        torch.zeros(shape, dtype=a.dtype, device=a.device).scatter_add_(dim, index, a),
    a=(lambda g, c, a, *, shape, dim, index: torch.gather(g, dim, index), r"\bar c_{k}"),
    words="Back from the places where it was put.")


matmul = row("matmul", torch.matmul,
    a=(lambda g, c, a, b: g @ b.mT, r"\bar c\, b^{\top}",
       "{a}[i, j] carried {b}[j, k] into {c}[i, k], for each k. Its gradient is what arrives at {c}[i, k], "
       "scaled by {b}[j, k], summed over k."),
    b=(lambda g, c, a, b: a.mT @ g, r"a^{\top} \bar c",
       "{b}[j, k] carried {a}[i, j] into {c}[i, k], for each i. Its gradient is what arrives at {c}[i, k], "
       "scaled by {a}[i, j], summed over i."),
    words="Each element carried one of the other factor into the result: its gradient is what arrives there, "
          "scaled by what it carried.")

linear = row("linear", F.linear,
    x=(lambda g, c, x, w, b: g @ w, r"\bar c\, w",
       "What arrives at the units comes back to {x} by the weights that it went by."),
    w=(lambda g, c, x, w, b: g.reshape(-1, g.shape[-1]).mT @ x.reshape(-1, x.shape[-1]), r"\bar c^{\top} x"),
    b=(lambda g, c, x, w, b: g, r"\sum_{i} \bar c_{i}",
       "{b} was added for every item, so its gradient is the sum over all of them."),
    words="A weight's gradient is what arrives at its unit times what it carried there, over all items.")

einsum = row("einsum", lambda *parts, terms, output: torch.einsum(f"{','.join(terms)}->{output}", *parts),
    takes_many=True,
    a=(lambda g, c, which, *parts, terms, output: maths.other_factors(g, which, parts, terms, output),
       r"\operatorname{einsum}(\bar c, \ldots)"),
    words="The gradient is multiplied with all other factors, and summed over what {a} does not have.")


conv2d = row("conv2d", F.conv2d,
    x=(lambda g, c, x, w, b, **how: conv_transpose2d(g, w, None, **how, size=tuple(x.shape[-2:])),
       r"\bar c \ast^{\top} w",
       "Each place spreads its gradient over the patch of {x} that it saw, by the weights of the kernel."),
    w=(lambda g, c, x, w, b, **how: conv_weight(x, g, **how, size=tuple(w.shape[-2:])), r"x \ast \bar c",
       "The kernel went over the whole picture, so each of its weights gathers what arrived at every place."),
    b=(lambda g, c, x, w, b, **how: g.sum((0, 2, 3)), r"\sum_{n,i,j} \bar c_{n,i,j}",
       "{b} was added at every place, so its gradient is the sum over all of them."),
    words="The kernel went over the whole picture, so each of its weights gathers what arrived at every "
          "place. Back to the picture, each place spreads its gradient over the patch that it saw.")

conv_transpose2d = row("conv_transpose2d", maths.conv_transpose_to,
    x=(lambda g, c, x, w, b, *, size, **how: conv2d(g, w, None, **how), r"\bar c \ast w"),
    w=(lambda g, c, x, w, b, *, size, **how: conv_weight(g, x, **how, size=tuple(w.shape[-2:])),
       r"\bar c \ast x"),
    b=(lambda g, c, x, w, b, **how: g.sum((0, 2, 3)), r"\sum_{n,i,j} \bar c_{n,i,j}"),
    words="A convolution run backwards: its gradient is an ordinary one.")

conv_weight = row("conv_weight", maths.conv_weight_of,
    x=(lambda g, c, x, w, *, size, **how: conv_transpose2d(w, g, None, **how, size=tuple(x.shape[-2:])),
       r"w \ast^{\top} \bar c"),
    w=(lambda g, c, x, w, *, size, **how: conv2d(x, g, None, **how), r"x \ast \bar c"),
    words="How much each weight of a kernel met of both: that is linear in each.")

unfold = row("unfold2d", lambda a, **how: F.unfold(a, **how),
    a=(lambda g, c, a, **how: fold(g, output_size=tuple(a.shape[-2:]), **how),
       r"\operatorname{fold}(\bar c)"),
    words="Patches overlap: a pixel gets the gradients of all patches that it was in.")

fold = row("fold2d", lambda a, **how: F.fold(a, **how),
    a=(lambda g, c, a, *, output_size, **how: unfold(g, **how), r"\operatorname{unfold}(\bar c)"),
    words="Each patch takes back its part.")

standardise = row("standardise", maths.standardised,
    a=(lambda g, c, a, *, dim, eps: maths.unstandardised(g, c, a, dim, eps),
       r"\frac{1}{\sigma} \left( \bar c - \overline{\bar c} - c \cdot \overline{\bar c \cdot c} \right)"),
    words="Mean 0 and variance 1 hold whatever comes in: what would change them is taken out.")

lstm_memory = row("lstm_memory", maths.lstm_memory_of,
    x=(lambda g, c, x, m: maths.lstm_memory_to_gates(g, x, m),
       r"\left( \bar c\,\tilde g\,\sigma_i',\ \bar c\,m\,\sigma_f',\ \bar c\,\sigma_i \tanh_g',\ 0 \right)"),
    m=(lambda g, c, x, m: g * torch.sigmoid(x.chunk(4, -1)[1]), r"\bar c \cdot \sigma(x_f)"),
    words="The memory is handed on through the forget gate, and so is its gradient: while it is open nothing "
          "is lost over time.")

lstm_state = row("lstm_state", lambda x, m: torch.sigmoid(x.chunk(4, -1)[3]) * torch.tanh(m),
    x=(lambda g, c, x, m: maths.lstm_state_to_gates(g, x, m),
       r"\left( 0,\ 0,\ 0,\ \bar c \tanh(m)\,\sigma_o' \right)"),
    m=(lambda g, c, x, m: maths.lstm_state_to_memory(g, x, m), r"\bar c\,\sigma(x_o)\,(1 - \tanh^2 m)"),
    words="What the output gate shows of the memory is all that it hears about it.")

gru_state = row("gru_state", maths.gru_state_of,
    x=(lambda g, c, x, y, h: torch.cat(maths.gru_slopes(g, x, y, h)[:3], -1),
       r"\left( \bar n\,y_n\,r',\ \bar c\,(h - n)\,z',\ \bar n \right),\ \bar n = \bar c\,(1 - z)(1 - n^2)"),
    y=(lambda g, c, x, y, h: maths.gru_to_state_part(g, x, y, h),
       r"\left( \bar n\,y_n\,r',\ \bar c\,(h - n)\,z',\ \bar n\,r \right)"),
    h=(lambda g, c, x, y, h: g * maths.gru_gates(x, y)[1], r"\bar c \cdot z"),
    words="The state that stays hands its gradient on, as far as z is open; the rest goes to the candidate.")
# fmt: on


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
    return row(name, forward, words=words, replace=replace, **checked)


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
