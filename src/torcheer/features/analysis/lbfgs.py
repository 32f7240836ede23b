"""L-BFGS: the lowest point of a smooth convex function, from its values and slopes.

A generator, because one pass over the disk is to serve many fits: it yields a point, and is sent what was
found there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final

import numpy

from torcheer.netview.analysis.points import Matrix

Found = tuple[float, Matrix]  # value and slope

KEPT: Final = 10  # steps that are remembered
_MOST_STEPS: Final = 2000
_MOST_TRIES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Minimum:
    point: Matrix
    is_exact: bool


def minimizing(
    start: Matrix, precondition: Callable[[Matrix], Matrix], is_there: Callable[[Matrix, Matrix], bool]
) -> Generator[Matrix, Found, Minimum]:
    """- `precondition`: about the inverse of the curvature, times a slope.
    - `is_there`: of a point and its slope.
    """
    point = start
    value, slope = yield point
    steps: deque[tuple[Matrix, Matrix]] = deque(maxlen=KEPT)
    for _ in range(_MOST_STEPS):
        if is_there(point, slope):
            return Minimum(point=point, is_exact=True)
        way = -_newton(slope, steps, precondition)
        if not way @ slope < 0:
            steps.clear()
            way = -precondition(slope)
        found = yield from _along(point, value, slope, way)
        if found is None and not steps:
            # As low as digits go.
            return Minimum(point=point, is_exact=False)
        if found is None:
            steps.clear()
            continue
        new, value, new_slope = found
        moved, bent = new - point, new_slope - slope
        if moved @ bent > 0:
            steps.append((moved, bent))
        point, slope = new, new_slope
    return Minimum(point=point, is_exact=False)


def _newton(
    slope: Matrix, steps: deque[tuple[Matrix, Matrix]], precondition: Callable[[Matrix], Matrix]
) -> Matrix:
    """The slope, divided by the curvature as far as the last steps tell."""
    left = slope.copy()
    shares = []
    for moved, bent in reversed(steps):
        share = float(moved @ left) / float(moved @ bent)
        left -= share * bent
        shares.append(share)
    way = precondition(left)
    if steps:
        moved, bent = steps[-1]
        way = way * (float(moved @ bent) / float(bent @ precondition(bent)))
    for (moved, bent), share in zip(steps, reversed(shares), strict=True):
        way += (share - float(bent @ way) / float(moved @ bent)) * moved
    return way


def _along(
    point: Matrix, value: float, slope: Matrix, way: Matrix
) -> Generator[Matrix, Found, tuple[Matrix, float, Matrix] | None]:
    """A point that is lower, and where it is less steep. None where there is none."""
    steep = float(slope @ way)
    rounding = 1e-13 * max(abs(value), 1.0)
    low, low_steep = 0.0, steep
    high: float | None = None
    high_steep = 0.0
    step = 1.0
    for _ in range(_MOST_TRIES):
        new = point + step * way
        new_value, new_slope = yield new
        now = float(new_slope @ way)
        # Near the end, values say nothing any more, and slopes still do.
        is_lower = new_value <= value + 1e-4 * step * steep or (
            new_value <= value + rounding and now <= 0.8 * abs(steep)
        )
        if is_lower and abs(now) <= 0.9 * abs(steep):
            return new, new_value, new_slope
        if not is_lower or now > 0:
            high, high_steep = step, now
        else:
            low, low_steep = step, now
        if high is None:
            step *= 4.0
        else:
            # From a slope that was steep only at first, one comes back too slowly without the half.
            step = low + (high - low) * min(_between(low_steep, high_steep), 0.9 if low else 0.5)
    return None


def _between(low: float, high: float) -> float:
    """Where a slope that goes from `low` to `high` is 0, but not at an end."""
    if not numpy.isfinite(high) or high <= low:
        return 0.5
    return min(max(low / (low - high), 0.1), 0.9)
