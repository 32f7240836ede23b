"""Numbers and names as a message says them."""

from __future__ import annotations

import math

from torcheer.inspector.rows import Row


def number(value: float) -> str:
    """Three digits that count: 0.0123, 4.1e+05."""
    return f"{value:.3g}"


def times(factor: float) -> str:
    """How many times as large: two digits that count."""
    if not math.isfinite(factor) or factor >= 1e6:
        return f"{factor:.1e} times"
    if factor >= 100:
        factor = round(factor, 1 - math.floor(math.log10(factor)))
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.1f} times"


def percent(share: float) -> str:
    """A share that is not 0 never reads as 0, and one that is not all never as 100."""
    if share < 0.001:
        return "less than 0.1 %"
    if 0.999 < share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.3g} %"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def parameter(row: Row) -> str:
    """The parameter that a row is about: features.0.weight, also for its gradient."""
    return row.name.removesuffix(".Grad").removesuffix(".Delta")


def layer(row: Row) -> str:
    """A layer as people speak of it: features.1 (ReLU)."""
    name = row.layer or "the model"
    return f"{name} ({row.module})" if row.module else name
