"""How far a long computation has come."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[float], object]


def silent(_: float) -> None:
    """Nobody asked."""


def part(told: Told, start: float, stop: float) -> Told:
    """For a step that goes from `start` to `stop` of the whole."""
    return lambda fraction: told(start + (stop - start) * fraction)


def rising(told: Told | None) -> Told:
    """From 0 to 1, never back."""
    if told is None:
        return silent
    listener, so_far = told, -1.0

    def tell(fraction: float) -> None:
        nonlocal so_far
        fraction = min(max(fraction, 0.0), 1.0)
        if fraction > so_far:
            so_far = fraction
            listener(fraction)

    return tell
