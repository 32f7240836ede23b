"""What a unit receives, and what it sends: an array over the units at the other end.

What a unit receives from another is what it changes by, before its nonlinearity, for each one that the other
changes by: an entry of the Jacobian matrix. The gradient of weights, their last change and what an optimizer
keeps for them have the shape of the weights, and are laid out in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy
from numpy.typing import ArrayLike

from torcheer.errors import InputError
from torcheer.netview.weights.attention import attention_received, attention_sent
from torcheer.netview.weights.convolution import kernel_of
from torcheer.netview.weights.ends import Ends, Laid, UnitWeights
from torcheer.netview.weights.matrix import embedding_received, embedding_sent, linear_received, linear_sent
from torcheer.run.netscene import Connection


def received(
    connection: Connection,
    weight: ArrayLike,
    source_shape: Sequence[int],
    target_shape: Sequence[int],
    unit: int,
    *,
    source_values: ArrayLike | None = None,
) -> UnitWeights:
    """What a unit of the target receives, over the units of the source.

    - `weight`: the tensor as torch has it; of attention, that of one item: heads, queries, keys.
    - `source_shape`, `target_shape`: of one item. Units are numbered as they stand in such a tensor.
    - `source_values`: those of the item, needed of an embedding only: the numbers of its tokens.

    What does not fit together raises an InputError that says why.
    """
    ends = _ends(connection, weight, source_shape, target_shape, source_values)
    _check_unit(unit, ends.num_target_units, connection.target)
    return _spread(_FORMS[connection.form].received(ends, unit), ends.num_source_units)


def sent(
    connection: Connection,
    weight: ArrayLike,
    source_shape: Sequence[int],
    target_shape: Sequence[int],
    unit: int,
    *,
    source_values: ArrayLike | None = None,
) -> UnitWeights:
    """What a unit of the source sends, over the units of the target. See `received`."""
    ends = _ends(connection, weight, source_shape, target_shape, source_values)
    _check_unit(unit, ends.num_source_units, connection.source)
    return _spread(_FORMS[connection.form].sent(ends, unit), ends.num_target_units)


class _Form(NamedTuple):
    received: Callable[[Ends, int], Laid]
    sent: Callable[[Ends, int], Laid]


# A transposed convolution is a convolution read backwards.
_FORMS: Final[Mapping[str, _Form]] = {
    "linear": _Form(linear_received, linear_sent),
    "conv": _Form(
        lambda ends, unit: kernel_of(ends).read(unit), lambda ends, unit: kernel_of(ends).reached(unit)
    ),
    "transposed_conv": _Form(
        lambda ends, unit: kernel_of(ends).reached(unit), lambda ends, unit: kernel_of(ends).read(unit)
    ),
    "embedding": _Form(embedding_received, embedding_sent),
    "attention": _Form(attention_received, attention_sent),
}


def _ends(
    connection: Connection,
    weight: ArrayLike,
    source_shape: Sequence[int],
    target_shape: Sequence[int],
    source_values: ArrayLike | None,
) -> Ends:
    if connection.form not in _FORMS:
        raise InputError(
            f"what {connection.target!r} receives from {connection.source!r} has no weights of its own."
        )
    numbers = numpy.asarray(weight)
    if numbers.dtype.kind not in "fc" or numbers.dtype.itemsize < 4:
        numbers = numbers.astype(numpy.float32)
    return Ends(
        connection=connection,
        weight=numbers,
        source_shape=tuple(int(size) for size in source_shape),
        target_shape=tuple(int(size) for size in target_shape),
        source_values=None if source_values is None else numpy.asarray(source_values),
    )


def _check_unit(unit: int, num_units: int, layer: str) -> None:
    if not 0 <= unit < num_units:
        raise InputError(f"the layer {layer!r} has {num_units:,} units, numbered from 0: there is no {unit}.")


def _spread(laid: Laid, num_units: int) -> UnitWeights:
    values = numpy.zeros(num_units, laid.weights.dtype)
    is_connected = numpy.zeros(num_units, numpy.bool_)
    values[laid.units] = laid.weights
    is_connected[laid.units] = True
    return UnitWeights(values, is_connected)
