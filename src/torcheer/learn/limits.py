"""How much an expression may ask for. All of it is counted before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from torcheer.learn.faults import Fault

MAX_SOURCE: Final = 8000  # signs
MAX_ELEMENTS: Final = 4096  # of a tensor
MAX_OPS: Final = 300
MAX_ROUNDS: Final = 64  # of all loops together
MAX_STATEMENTS: Final = 1000  # with those in loops, each time
MAX_DEPTH: Final = 40  # of brackets in brackets
MAX_INT: Final = 1_000_000
MAX_EXPONENT: Final = 64
MAX_DIMS: Final = 8
MAX_WINDOW: Final = 16  # of a stride, a padding, a kernel's dilation
MAX_WORK: Final = 1 << 18  # multiplications in one product


def shape_text(shape: Sequence[int]) -> str:
    """2×3; a single number is called so."""
    return "×".join(map(str, shape)) if shape else "a single number"


def check_shape(shape: Sequence[int], what: str) -> None:
    """Refuse what would be too large, from its shape alone."""
    if len(shape) > MAX_DIMS:
        raise Fault(f"{what} would have {len(shape)} dimensions: {MAX_DIMS} are allowed.")
    if math.prod(shape) > MAX_ELEMENTS:
        raise Fault(
            f"{what} would have {math.prod(shape):,} elements ({shape_text(shape)}): {MAX_ELEMENTS:,} are "
            "allowed here. Take smaller tensors; the rules are the same."
        )


def check_work(work: int, what: str) -> None:
    if work > MAX_WORK:
        raise Fault(f"{what} takes {work:,} multiplications: {MAX_WORK:,} are allowed here.")


def check_number(value: int | float, what: str = "a number") -> None:
    if isinstance(value, int) and abs(value) > MAX_INT:
        raise Fault(f"{what} is larger than {MAX_INT:,}, which is the limit for whole numbers here.")


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape of an op element by element; who does not fit is named by shape."""
    result: list[int] = []
    for shape in shapes:
        padded = [1] * (len(shape) - len(result)) + result
        own = [1] * (len(padded) - len(shape)) + list(shape)
        for place, (one, other) in enumerate(zip(padded, own, strict=True)):
            if one != other and 1 not in (one, other):
                raise Fault(
                    f"{shape_text(result)} and {shape_text(shape)} do not fit element by element: from "
                    "the right, "
                    f"each dimension must be equal or 1, and here {one} meets {other}."
                )
            padded[place] = other if one == 1 else one
        result = padded
    return tuple(result)
