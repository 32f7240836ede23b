"""How far long work is: bars on a terminal or in a notebook, lines elsewhere. All of it goes to stderr."""

from __future__ import annotations

import html
import math
import sys
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

from torcheer.graph.text import readable_bytes

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


REFRESH_SECONDS = 0.2
_PATIENCE_SECONDS = 1.0  # work that is over sooner shows no bar
_MOST_LINES = 12  # above the bars of a notebook
BYTES = "bytes"
PARTS = "parts"  # shown as percent: they are none that a person counts


class Bars:
    """Some bars, one below the other, with lines of text above them. This one has the lines alone.

    Whoever works draws them, a few times a second: a thread that draws would take its time from the work.
    """

    _due = math.inf

    def is_due(self) -> bool:
        """True a few times a second; never where no bar can be drawn."""
        return perf_counter() >= self._due

    def set(self, bar: int, title: str, text: str, *, done: float, total: float | None) -> None:
        """What a bar shows when it is drawn next; it moves to and fro where the total is not known."""

    def draw(self) -> None:
        """Show what was set."""

    def write(self, line: str) -> None:
        """A line above the bars, which stays."""
        say(line)

    def close(self) -> None:
        """Take the bars away."""


class TerminalBars(Bars):
    """Bars at the bottom of a terminal."""

    _due = 0.0

    def __init__(self, num_bars: int = 1) -> None:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=24),
            progress.TextColumn("{task.fields[text]}", markup=False),
        )
        self._bars = progress.Progress(
            *columns, console=Console(stderr=True), transient=True, auto_refresh=False
        )
        self._tasks = [self._bars.add_task("", total=None, text="") for _ in range(num_bars)]

    def set(self, bar: int, title: str, text: str, *, done: float, total: float | None) -> None:
        self._bars.update(self._tasks[bar], description=title, text=text, completed=done, total=total)

    def draw(self) -> None:
        self._bars.start()
        self._bars.refresh()
        self._due = perf_counter() + REFRESH_SECONDS

    def write(self, line: str) -> None:
        self._bars.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        self._bars.stop()


class NotebookBars(Bars):
    """Bars in the output of a notebook's cell, which is drawn again and again, and the last lines."""

    _due = 0.0

    def __init__(self, num_bars: int = 1) -> None:
        self._bars = [""] * num_bars
        self._lines: list[str] = []
        self._handle: Any = None

    def set(self, bar: int, title: str, text: str, *, done: float, total: float | None) -> None:
        length = f"max='{total}' value='{done}'" if total else ""
        self._bars[bar] = (
            "<div style='font-family:monospace;white-space:pre'>"
            f"{html.escape(title)} <progress {length}></progress> {html.escape(text)}</div>"
        )

    def draw(self) -> None:
        from IPython.display import HTML, display

        num_left_out = max(0, len(self._lines) - _MOST_LINES)
        lines = [f"… {num_left_out} lines before"] if num_left_out else []
        text = html.escape("\n".join([*lines, *self._lines[num_left_out:]]))
        page = HTML(f"<div><pre style='margin:0'>{text}</pre>{''.join(self._bars)}</div>")  # type: ignore[no-untyped-call]
        if self._handle is None:
            self._handle = display(page, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(page)
        self._due = perf_counter() + REFRESH_SECONDS

    def write(self, line: str) -> None:
        self._lines.append(line)

    def close(self) -> None:
        self._bars = []
        self.draw()


class Progress:
    """Counts bytes or other things; shows a bar on a terminal when it takes longer than a second."""

    def __init__(self, title: str, total: int | None, what: str = BYTES) -> None:
        self._title = title
        self._total = total or None
        self._what = what
        self._done = 0
        self._pace = Pace()
        self._pace.note(0)
        self._started = perf_counter()
        self._bars: TerminalBars | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.close()

    def add(self, num_more: int) -> None:
        self.reach(self._done + num_more, self._total)

    def reach(self, num_done: int, total: int | None) -> None:
        """So much of all is done by now."""
        self._done, self._total = num_done, total
        if self._bars is None and perf_counter() - self._started > _PATIENCE_SECONDS and is_terminal():
            self._bars = TerminalBars()
        if self._bars is not None and self._bars.is_due():
            self._pace.note(num_done)
            text = progress_text(num_done, total, self._pace, self._what)
            self._bars.set(0, self._title, text, done=num_done, total=total)
            self._bars.draw()


def progress_text(done: int, total: int | None, pace: Pace, what: str = "steps") -> str:
    """`1,024/10,000  38 steps/s  3:54 left`."""
    if what == PARTS:
        shown, speed = [] if total is None else [f"{done / max(total, 1):.0%}"], ""
    elif what == BYTES:
        shown = [readable_bytes(number) for number in (done, total) if number is not None]
        speed = "" if pace.rate is None else f"{readable_bytes(pace.rate)}/s"
    else:
        shown = [f"{number:,}" for number in (done, total) if number is not None]
        speed = rate_text(pace.rate, what)
    left = "" if total is None else f"{clock_text(pace.seconds_left(total - done))} left"
    return "  ".join(part for part in ("/".join(shown), speed, left) if part)


def is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def say(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
