"""A curve in one line of text: `▁▂▅█▃`."""

from __future__ import annotations

from typing import Final

import numpy
from numpy.typing import NDArray

_BARS: Final = "▁▂▃▄▅▆▇█"
_NONE: Final = "·"  # no finite value there


def sparkline(values: NDArray[numpy.float64], width: int = 24) -> str:
    """The means of so many equal pieces, from the lowest to the highest of them."""
    if not len(values):
        return ""
    with numpy.errstate(all="ignore"):
        means = numpy.array([_mean(piece) for piece in numpy.array_split(values, min(width, len(values)))])
    finite = means[numpy.isfinite(means)]
    if not len(finite):
        return _NONE * len(means)
    low, high = float(finite.min()), float(finite.max())
    return "".join(_bar(float(mean), low, high) for mean in means)


def _mean(piece: NDArray[numpy.float64]) -> float:
    finite = piece[numpy.isfinite(piece)]
    # Halves first: the sum of two of the largest numbers is infinite.
    return 2 * float(numpy.mean(finite / 2)) if len(finite) else float("nan")


def _bar(mean: float, low: float, high: float) -> str:
    if not numpy.isfinite(mean):
        return _NONE
    if low == high:
        return _BARS[len(_BARS) // 2]
    share = (mean / 2 - low / 2) / (high / 2 - low / 2)
    return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]
