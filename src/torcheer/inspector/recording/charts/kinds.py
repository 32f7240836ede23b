"""Which picture suits a tensor: by its shape, and by its name where the shape leaves it open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

from torcheer.errors import InputError

Kind = Literal["picture", "tiles", "histogram", "pca"]
WantedKind = Literal["auto", "picture", "tiles", "histogram", "pca"]

_LARGEST_KERNEL: Final = 32  # of a side: what is larger is no filter, but what a layer gives
_ACTIVATION: Final = "Act"
_GRADIENT: Final = "Grad"
_PARAMETERS: Final = ("weight", "bias", "kernel", "filters")


def checked_kind(kind: str) -> WantedKind:
    for known in get_args(WantedKind):
        if kind == known:
            return known  # type: ignore[no-any-return]
    raise InputError(f"there is no kind {kind!r}: {', '.join(get_args(WantedKind))}.")


def kind_of(name: str, shape: Sequence[int], wanted: WantedKind = "auto") -> Kind:
    """What is wanted where the shape allows it, otherwise what suits the shape. Never an error."""
    if 0 in shape:
        return "histogram"
    if wanted != "auto" and _is_possible(shape, wanted):
        return wanted
    if _is_picture(shape):
        return "picture"
    if len(shape) == 4 and max(shape[2:]) <= _LARGEST_KERNEL and not _is_of_activations(name):
        # A kernel of one weight makes a filter a row of a matrix.
        return "picture" if tuple(shape[2:]) == (1, 1) else "tiles"
    return "histogram"


def matrix_shape(shape: Sequence[int]) -> tuple[int, int]:
    """How a tensor that is shown as a picture is laid out: as it is, or as filters by channels."""
    if len(shape) == 4 and tuple(shape[2:]) == (1, 1):
        return shape[0], shape[1]
    if len(shape) == 1:
        return 1, shape[0]
    return shape[-2], shape[-1]


def _is_picture(shape: Sequence[int]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[0] == 1)


def _is_possible(shape: Sequence[int], kind: Kind) -> bool:
    if kind == "picture":
        rows, columns = matrix_shape(shape) if shape else (0, 0)
        num = 1
        for size in shape:
            num *= size
        return bool(shape) and rows * columns == num
    if kind == "tiles":
        return len(shape) == 4
    if kind == "pca":
        return len(shape) >= 2
    return True


def _is_of_activations(name: str) -> bool:
    """`features.0.Act`, or `features.0.Grad`; but `features.0.weight.Grad` is as the weight is."""
    owner, _, variable = name.rpartition(".")
    if variable == _ACTIVATION:
        return True
    return variable == _GRADIENT and not owner.rpartition(".")[2].endswith(_PARAMETERS)
