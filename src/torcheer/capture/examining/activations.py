"""What is known of activation functions: where they saturate, and which of them switch units off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torcheer.capture.tape import Record


class Ends(NamedTuple):
    """The ends of a bounded activation; a value within `margin` of an end is saturated."""

    low: float | None  # None: no end that counts
    high: float | None
    margin: float


def ends_of(record: Record) -> Ends | None:
    """The ends at which values of an op saturate; None where the notion has no meaning.

    A smooth activation only comes near its ends: the outermost hundredth of its range counts. A hard one
    reaches them. The zero of a rectifier such as relu6 is its off state, and not counted.
    """
    find = _ENDS.get(record.trait.type)
    return None if find is None else find(record)


def switches_off(record: Record) -> bool:
    """Whether an op sets units to exactly zero when they are off, as relu does."""
    if record.trait.type in _RECTIFIERS:
        return True
    limits = _limits(record) if record.trait.type in _CLAMPS else None
    return limits is not None and limits[0] == 0


def has_units(record: Record) -> bool:
    """Whether an op has units that can be dead: rectifiers, other activations, and ops with parameters.

    Masks, dropout, views and arithmetic have none of their own.
    """
    has_params = any(parent < 0 for parent in record.parents)
    return (
        switches_off(record) or record.trait.type in _SMOOTH or (has_params and record.trait.type in _LAYERS)
    )


_RECTIFIERS = frozenset(
    "relu relu6 threshold hardswish hardshrink softshrink hardsigmoid rrelu clampmin gelu silu mish".split()
)
_SMOOTH = frozenset(
    "sigmoid tanh elu selu celu leakyrelu prelu softplus softsign logsigmoid tanhshrink glu".split()
)
_LAYERS = frozenset(
    "linear bilinear addmm mm matmul conv1d conv2d conv3d convtranspose1d convtranspose2d convtranspose3d "
    "convolution batchnorm layernorm groupnorm instancenorm rmsnorm embedding embeddingbag lstm gru rnntanh "
    "rnnrelu lstmcell grucell rnntanhcell rnnrelucell".split()
)
_CLAMPS = frozenset(["clamp", "clip", "hardtanh"])


def _limits(record: Record) -> tuple[float | None, float | None] | None:
    """The lower and upper limit of a clamp; None where a limit is a tensor."""
    kwargs = record.kwargs or {}
    usual = (-1.0, 1.0) if record.trait.type == "hardtanh" else (None, None)
    limits: list[float | None] = []
    for place, names in enumerate((("min", "min_val"), ("max", "max_val"))):
        named: list[Any] = [kwargs[name] for name in names if name in kwargs]
        value = (
            record.args[place + 1] if len(record.args) > place + 1 else named[0] if named else usual[place]
        )
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            return None
        limits.append(value)
    return limits[0], limits[1]


def _of_clamp(record: Record) -> Ends | None:
    limits = _limits(record)
    if limits is None or limits == (None, None):
        return None
    low, high = limits
    if low == 0 and high is None:
        return None  # a plain relu
    return Ends(None if low == 0 else low, high, 0.0)


def _smooth(low: float, high: float) -> Callable[[Record], Ends]:
    return lambda _record: Ends(low, high, (high - low) / 100)


_ENDS: dict[str, Callable[[Record], Ends | None]] = {
    "sigmoid": _smooth(0.0, 1.0),
    "tanh": _smooth(-1.0, 1.0),
    "softsign": _smooth(-1.0, 1.0),
    "hardsigmoid": lambda _record: Ends(0.0, 1.0, 0.0),
    "relu6": lambda _record: Ends(None, 6.0, 0.0),
    **dict.fromkeys(_CLAMPS, _of_clamp),
}
