"""Where in the code an op was called, and which of two such places comes first.

A site is a flat tuple `(code, instruction, code, instruction, …)`: the frames between the forward
that is running and the op, outermost first. It is cheap to take and is only read when asked for.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from types import CodeType
from typing import Any

Site = tuple[Any, ...]  # (CodeType, int) pairs, flat: one small tuple an op


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

    Instructions are not enough: the compiler writes the test of a `while` twice.
    """

    def __init__(self) -> None:
        self._by_site: dict[tuple[int, ...], int] = {}
        self._by_text: dict[tuple[Any, ...], int] = {}
        self._positions: dict[int, tuple[CodeType, list[Any]]] = {}

    def place_of(self, site: Site) -> int:
        key = (id(site[0]), site[1]) if len(site) == 2 else tuple(map(_identity, site))
        place = self._by_site.get(key)
        if place is None:
            text = tuple(
                part for i in range(0, len(site), 2) for part in self._position(site[i], site[i + 1])
            )
            place = self._by_text.setdefault(text, len(self._by_text))
            self._by_site[key] = place
        return place

    def _position(self, code: CodeType, instruction: int) -> tuple[Any, ...]:
        entry = self._positions.get(id(code))
        if entry is None:
            # The code object is kept with its positions, so that its id stays its own.
            entry = self._positions[id(code)] = (code, list(code.co_positions()))
        index = instruction // 2
        position = entry[1][index] if 0 <= index < len(entry[1]) else None
        if position is None or position[0] is None or position[2] is None:
            return (id(code), instruction)
        return (id(code), *position)


def _identity(part: Any) -> int:
    return part if type(part) is int else id(part)


def comes_before(first: Site, second: Site) -> bool:
    """Whether, in one run through the code, `first` is reached before `second`.

    False for the same place, and for places that only a loop or another call tells apart.
    """
    for i in range(0, min(len(first), len(second)), 2):
        if first[i] is not second[i]:
            return False
        if first[i + 1] != second[i + 1]:
            return bool(first[i + 1] < second[i + 1])
    return False


def source_lines(site: Site) -> list[SourceLine]:
    """The frames of a site, innermost first, with their source text."""
    return [_source_line(site[i], site[i + 1]) for i in range(len(site) - 2, -1, -2)]


def _source_line(code: CodeType, instruction: int) -> SourceLine:
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
            break
    text = linecache.getline(code.co_filename, line).strip()
    return SourceLine(file=code.co_filename, line=line, function=code.co_qualname, code_text=text)
