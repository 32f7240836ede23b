"""More room around a tensor, and windows that slide over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import place_of
from torcheer.autograd.calls import call
from torcheer.autograd.convolving import pair
from torcheer.errors import InputError

# --- padding ---------------------------------------------------------------------------------------------


@call("pad", "_pad", "constant_pad_nd")
def pad(a: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """So many at the start and the end of the last dimension, then of the one before it, and so on."""
    if len(pad) % 2 or len(pad) > 2 * len(a.shape):
        raise InputError(
            f"pad takes two numbers for each dimension, the last one first, and got {tuple(pad)} for a "
            f"tensor of {len(a.shape)}."
        )
    around = {
        len(a.shape) - 1 - place: (pad[2 * place], pad[2 * place + 1]) for place in range(len(pad) // 2)
    }
    if mode == "constant":
        return _with_constant(a, around, value or 0.0)
    if mode not in _SOURCES:
        raise InputError(f"pad knows the modes constant, {', '.join(_SOURCES)}, not {mode!r}.")
    for dim, (before, after) in around.items():
        if before or after:
            a = rules.index(a, key=(*[slice(None)] * dim, _source(a, dim, before, after, mode)))
    return a


def _with_constant(a: Tensor, around: dict[int, tuple[int, int]], value: float) -> Any:
    kept, shape, key = [], [], []
    for dim, size in enumerate(a.shape):
        before, after = around.get(dim, (0, 0))
        if size + before + after < 0:
            raise InputError(f"pad takes more away from dimension {dim} than the {size} elements there are.")
        kept.append(slice(max(0, -before), size - max(0, -after)))
        shape.append(size + before + after)
        key.append(slice(max(0, before), size + before + after - max(0, after)))
    inside = (
        a if all(one >= 0 for both in around.values() for one in both) else rules.index(a, key=tuple(kept))
    )
    placed = rules.place(inside, shape=tuple(shape), key=tuple(key))
    if not value:
        return placed
    frame = torch.full(shape, value, dtype=a.dtype, device=a.device)
    frame[tuple(key)] = 0
    return placed + frame


def _source(a: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    """Which element each place shows."""
    size = a.shape[dim]
    largest = {"reflect": size - 1, "circular": size}.get(mode)
    if size == 0 or (largest is not None and max(before, after) > largest):
        raise InputError(
            f"{mode} padding of dimension {dim} can be {largest or 0} at most, not {before}, {after}."
        )
    places = torch.arange(-before, size + after, device=a.device)
    source: Tensor = _SOURCES[mode](places, size)
    return source


_SOURCES: dict[str, Any] = {
    "reflect": lambda places, size: (size - 1) - ((size - 1) - places.abs()).abs(),
    "replicate": lambda places, size: places.clamp(0, size - 1),
    "circular": lambda places, size: places % size,
}


# --- windows ---------------------------------------------------------------------------------------------


@call("Tensor.unfold")
def windows(a: Tensor, dimension: int, size: int, step: int) -> Any:
    """Pieces of one dimension, each begun a step later; their elements are the last dimension."""
    dim = place_of(dimension, len(a.shape))
    if step < 1 or size > (a.shape[dim] if len(a.shape) else 1):
        raise InputError(f"there is no window of {size}, in steps of {step}, in {tuple(a.shape)}.")
    a = a if len(a.shape) else a.reshape(1)
    starts = torch.arange(0, a.shape[dim] - size + 1, step, device=a.device)
    key = starts.unsqueeze(1) + torch.arange(size, device=a.device)
    return torch.movedim(rules.index(a, key=(*[slice(None)] * dim, key)), dim + 1, -1)


@call("unfold", "im2col")
def unfold(a: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Each patch of a picture as a column."""
    if len(a.shape) not in (3, 4):
        raise InputError(f"unfold takes pictures (items, channels, rows, columns), not {tuple(a.shape)}.")
    return rules.unfold(
        a, kernel_size=pair(kernel_size), dilation=pair(dilation), padding=pair(padding), stride=pair(stride)
    )


@call("fold", "col2im")
def fold(
    a: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Columns back to a picture; where patches overlap they are added."""
    return rules.fold(
        a, output_size=pair(output_size), kernel_size=pair(kernel_size), dilation=pair(dilation),
        padding=pair(padding), stride=pair(stride),
    )  # fmt: skip
