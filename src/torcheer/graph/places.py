"""Where in the code an op was called, and whether one place follows another in one run through it.

A site is a flat tuple `(code, instruction, code, instruction, …)`: the frames between the forward
that is running and the op, outermost first. It is cheap to take and is only read when asked for.
In a pass that was loaded from a file a site is a tuple of `SourceLine`, outermost first too.
"""

from __future__ import annotations

import dis
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

Site = tuple[Any, ...]  # (CodeType, int) pairs, flat: one small tuple an op; or SourceLines


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One frame of a call stack, as a person reads it."""

    file: str
    line: int
    function: str
    code_text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}: {self.code_text}"


class PlaceBook:
    """Turns sites into small integers: equal when they are the same piece of source text.

    Instructions are not enough: the compiler writes the test of a `while` twice. A function that
    calls itself is at the same place in each of its calls.
    """

    def __init__(self) -> None:
        self._by_site: dict[tuple[int, ...], int] = {}
        self._by_text: dict[tuple[Any, ...], int] = {}
        self._positions: dict[int, tuple[CodeType, list[Any] | None]] = {}

    @property
    def known(self) -> Callable[[tuple[int, ...]], int | None]:
        """The look-up of places by (id of the code, instruction), for a hot loop."""
        return self._by_site.get

    def place_of(self, site: Site) -> int:
        key = (id(site[0]), site[1]) if len(site) == 2 else tuple(map(_identity, site))
        place = self._by_site.get(key)
        if place is None:
            if len(site) == 2:
                text = self._position(site[0], site[1])
                if len(text) == 2:  # straight code, where an instruction is a place
                    place = self._by_site[key] = -2 - len(self._by_site)
                    return place
            else:
                frames = _without_recursion(site)
                text = tuple([part for code, at in frames for part in self._position(code, at)])
            place = self._by_text.setdefault(text, len(self._by_text))
            self._by_site[key] = place
        return place

    def _position(self, code: CodeType, instruction: int) -> tuple[Any, ...]:
        entry = self._positions.get(id(code))
        if entry is None:
            # The code object is kept with its positions, so that its id stays its own.
            positions = list(code.co_positions()) if _may_repeat_text(code) else None
            entry = self._positions[id(code)] = (code, positions)
        positions = entry[1]
        if positions is None:
            return (id(code), instruction)
        index = instruction // 2
        position = positions[index] if 0 <= index < len(positions) else None
        if position is None or position[0] is None or position[2] is None:
            return (id(code), instruction)
        return (id(code), *position)


_BACKWARD = frozenset(
    code for name, code in dis.opmap.items() if "BACKWARD" in name or name == "JUMP_ABSOLUTE"
)


def _may_repeat_text(code: CodeType) -> bool:
    """Whether a piece of source may stand in the bytecode twice: it takes a loop or a `finally`."""
    return bool(code.co_exceptiontable) or not _BACKWARD.isdisjoint(code.co_code[::2])


def _identity(part: Any) -> int:
    return part if type(part) is int else id(part)


def _without_recursion(site: Site) -> list[tuple[CodeType, int]]:
    frames: list[tuple[CodeType, int]] = []
    for i in range(0, len(site), 2):
        for depth, (code, _) in enumerate(frames):
            if code is site[i]:
                del frames[depth:]
                break
        frames.append((site[i], site[i + 1]))
    return frames


def goes_on(before: Site, now: Site) -> bool:
    """Whether the code has moved forward from one site to the next; if not, a loop has come round."""
    for i in range(0, min(len(before), len(now)), 2):
        if before[i] is not now[i]:
            return False  # the same call, and another function below it
        if before[i + 1] != now[i + 1]:
            return bool(before[i + 1] < now[i + 1])
    return False


def source_lines(site: Site) -> list[SourceLine]:
    """The frames of a site, innermost first, with their source text."""
    if site and isinstance(site[0], SourceLine):
        return list(reversed(site))
    return [_source_line(site[i], site[i + 1]) for i in range(len(site) - 2, -1, -2)]


def _source_line(code: CodeType, instruction: int) -> SourceLine:
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
            break
    text = linecache.getline(code.co_filename, line).strip()
    return SourceLine(file=code.co_filename, line=line, function=code.co_qualname, code_text=text)
