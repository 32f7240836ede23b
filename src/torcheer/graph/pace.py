"""How fast something goes, and how long the rest will take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter

_WINDOW_SECONDS = 15.0


class Pace:
    """The rate of the last seconds: what was slow long ago does not count."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, num_done: int) -> None:
        """So many are done by now. Going back to fewer begins anew."""
        now = self._clock()
        if self._seen and num_done < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, num_done))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """A second; None while nothing is known."""
        if len(self._seen) < 2:
            return None
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        return (after - before) / (last - first) if last > first and after > before else None

    def seconds_left(self, num_left: int | None) -> float | None:
        return None if num_left is None or self.rate is None else max(0, num_left) / self.rate


def clock_text(seconds: float | None) -> str:
    """`0:07`, `12:34`, `1:02:03`, `2 d 3 h`; dashes while nothing is known."""
    if seconds is None:
        return "-:--"
    whole = round(seconds)
    if whole >= 86_400:
        return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
    if whole >= 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
    return f"{whole // 60}:{whole % 60:02}"


def rate_text(rate: float | None, what: str = "steps") -> str:
    """`45 steps/s`; what takes long the other way round, `2.3 s/step`."""
    if rate is None:
        return ""
    if rate < 1:
        return f"{1 / rate:.1f} s/{what.removesuffix('s')}"
    return f"{rate:.1f} {what}/s" if rate < 10 else f"{rate:,.0f} {what}/s"
