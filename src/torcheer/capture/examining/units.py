"""Which dimension of an op's output counts its units: the channels, or the features."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torcheer.capture.tape import Record

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

# Channels stand before the positions: as many dimensions from the end as the map has.
_MAP = re.compile(
    r"(?:conv|convtranspose|(?:adaptive)?(?:max|avg|lp)pool|instancenorm)([123])d(?:withindices)?"
)
_CHANNEL_SECOND = frozenset(
    "batchnorm nativebatchnorm cudnnbatchnorm instancenorm groupnorm nativegroupnorm convolution prelu "
    "localresponsenorm pixelshuffle".split()
)
_FEATURE_LAST = frozenset(
    "linear bilinear layernorm nativelayernorm rmsnorm embedding embeddingbag scaleddotproductattention "
    "matmul mm bmm addmm baddbmm einsum lstm gru rnntanh rnnrelu lstmcell grucell rnntanhcell rnnrelucell "
    "softmax logsoftmax mv addmv".split()
)
_SWAPS = frozenset(["transpose", "swapaxes", "swapdims"])
_RESHAPES = frozenset(
    "flatten view reshape unflatten viewas reshapeas ravel getitem squeeze unsqueeze".split()
)


def unit_dims(history: ModelHistory) -> list[int | None]:
    """For each op the dimension of its units; None where nothing before it tells."""
    tape = history._tape
    dims: list[int | None] = []
    shapes = [tuple(tape.meta(op).shape) for op in range(len(tape.records))]
    for op, record in enumerate(tape.records):
        told = _told_by_type(record.trait.type, len(shapes[op]))
        dims.append(told if told is not None else _inherited(record, shapes[op], dims, shapes))
    return dims


def usual_unit_dim(shape: Sequence[int]) -> int | None:
    """Where nothing tells: channels of images and volumes, features of all else."""
    if not shape:
        return None
    return 1 if len(shape) > 3 else len(shape) - 1


def _told_by_type(layer_type: str, num_dims: int) -> int | None:
    is_map = _MAP.fullmatch(layer_type)
    if is_map is not None:
        dim = num_dims - 1 - int(is_map[1])
    elif layer_type in _CHANNEL_SECOND:
        dim = 1
    elif layer_type in _FEATURE_LAST:
        dim = num_dims - 1
    else:
        return None
    return dim if 0 <= dim < num_dims else None


def _inherited(
    record: Record, shape: tuple[int, ...], dims: list[int | None], shapes: list[tuple[int, ...]]
) -> int | None:
    """That of the first input which has one and as many dimensions, moved where the op moves them."""
    for parent in record.parents:
        dim = dims[parent] if parent >= 0 else None
        if dim is None:
            continue
        if len(shapes[parent]) != len(shape):
            return None
        if record.trait.type in _RESHAPES and shapes[parent] != shape:
            return None
        moved = _moved(record, len(shape))
        if moved is None:
            return dim
        return moved.index(dim) if dim in moved else None
    return None


def _moved(record: Record, num_dims: int) -> list[int] | None:
    """For each dimension of the output the one of the input, where an op moves them; else None."""
    layer_type = record.trait.type
    given = (*record.args[1:], *(record.kwargs or {}).values())
    flat = [n for part in given for n in (part if isinstance(part, list | tuple) else (part,))]
    numbers = [n % num_dims for n in flat if isinstance(n, int)]
    if layer_type == "permute":
        return numbers
    if layer_type in ("t", "mt") and num_dims > 1:
        numbers = [num_dims - 1, num_dims - 2]
    elif layer_type not in _SWAPS:
        return None
    if len(numbers) != 2:
        return []
    order = list(range(num_dims))
    order[numbers[0]], order[numbers[1]] = numbers[1], numbers[0]
    return order
