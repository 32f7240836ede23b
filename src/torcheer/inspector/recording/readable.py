"""Numbers as a frame shows them: short, with a true minus, and limits that are round."""

from __future__ import annotations

import math
from typing import Final

from torcheer.inspector.recording.lettering import THIN_SPACE

_ROUND: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_NEARLY: Final = 1 + 1e-9  # what is left of it by rounding does not count


def readable_number(value: float) -> str:
    """Three digits: `0.0123`, `−4.5`, `1.2e−7`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(value)
    if size == 0:
        return "0"
    if 1e-4 <= size < 1e5:
        text = f"{value:.3g}" if size < 1000 else f"{value:.0f}"
    else:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return text.replace("-", "−")


def readable_whole(value: int) -> str:
    """In groups of three: `12 345`."""
    return f"{value:,}".replace(",", THIN_SPACE).replace("-", "−")


def round_up(value: float) -> float:
    """The next round number that is not smaller; of a number above 0."""
    power = math.floor(math.log10(value))
    for factor in _ROUND:
        # By its digits: 3 × 0.1 would be 0.30000000000000004.
        candidate = float(f"{factor}e{power}")
        if candidate * _NEARLY >= value:
            return candidate
    return float(f"1e{power + 1}")


def round_step(span: float, num_steps: float) -> float:
    """The round step that goes into a span no more often than that."""
    raw = span / num_steps
    power = math.floor(math.log10(raw))
    return next(float(f"{f}e{power}") for f in _STEPS if float(f"{f}e{power}") * _NEARLY >= raw)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two limits, at most so many."""
    if not high > low:
        return []
    step = round_step(high - low, max(1, most - 1))
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    return [number * step for number in range(first, last + 1)]
