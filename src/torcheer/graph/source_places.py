"""Where in the code an op was called, and what followed where Python asked a tensor for its value."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent
from types import CodeType
from typing import Any, NamedTuple

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
        key = (id(site[0]), site[1]) if len(site) == 2 else site_key(site)
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


def site_key(site: Site) -> tuple[int, ...]:
    """By identity: to hash a code object is to hash all that is in it."""
    return tuple([part if type(part) is int else id(part) for part in site])


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


Lines = tuple[int, int] | None  # first and last; None for a branch that is not there
Frames = Sequence[tuple[CodeType, int]]  # code and line, outermost first


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Python asked a tensor for its value, most often in an `if`."""

    op: int  # whose value it was
    value: object
    how: str  # '__bool__', 'item', …
    source: SourceLine | None
    statement: str  # 'if', 'while', 'if-expression', 'assert', or '' where none was found
    taken: str  # 'then', 'else', or '' where that cannot be told
    followed: int  # how many ops of the branch that was taken came next


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalBranch:
    """A value of a tensor that Python asked for, and what hung on it."""

    layer: str  # whose value it was
    value: object
    statement: str  # 'if', 'while', 'if-expression', 'assert', or '' for a plain read such as `.item()`
    taken: str  # 'then', 'else', or '' where that cannot be told
    followed_by: list[str]  # the ops of the branch that was taken
    source: SourceLine | None


class Branching(NamedTuple):
    """A conditional statement: the lines of both of its branches."""

    statement: str
    then: Lines
    otherwise: Lines
    is_simple: bool  # the test is a single value: no and, or, not


def decide(site: Site, op: int, value: object, how: str, later: Callable[[], Iterator[Site]]) -> Decision:
    """What hung on a value; `later` gives the sites of the ops that came after, in the same forward."""
    lines = source_lines(site)
    frames = frame_lines(site)
    branching = branching_at(*frames[-1]) if frames and isinstance(value, bool | int | float) else None
    taken, followed = "", 0
    if branching is not None:
        taken, followed = _what_followed(branching, frames, later, bool(value))
    return Decision(
        op=op,
        value=value,
        how=how,
        source=lines[0] if lines else None,
        statement="" if branching is None else branching.statement,
        taken=taken,
        followed=followed,
    )


def _what_followed(
    branching: Branching, frames: Frames, later: Callable[[], Iterator[Site]], value: bool
) -> tuple[str, int]:
    """The branch that was taken and the number of its ops: what ran next tells, else the value itself."""
    by_value = "then" if value else "else"
    if branching.then is not None and branching.then == branching.otherwise and branching.is_simple:
        return by_value, _num_inside(branching.then, frames, later())
    for name, lines in (("then", branching.then), ("else", branching.otherwise)):
        count = _num_inside(lines, frames, later())
        if count:
            return name, count
    if branching.is_simple and branching.statement != "assert":
        return by_value, 0
    return "", 0


def _num_inside(lines: Lines, frames: Frames, later: Iterator[Site]) -> int:
    """How many of the ops that came next stand on these lines of the function that decided."""
    if lines is None:
        return 0
    depth, code = len(frames) - 1, frames[-1][0]
    count = 0
    for site in later:
        if 2 * depth >= len(site) or site[2 * depth] is not code:
            break
        if not lines[0] <= frame_lines(site)[depth][1] <= lines[1]:
            break
        count += 1
    return count


def frame_lines(site: Site) -> list[tuple[CodeType, int]]:
    """Each frame of a site, outermost first, as its code and line."""
    lines = [line.line for line in source_lines(site)][::-1]
    return [(site[2 * i], line) for i, line in enumerate(lines)]


def branching_at(code: CodeType, line: int) -> Branching | None:
    """The innermost conditional whose test stands on a line."""
    tree = _tree_of(code)
    found: Branching | None = None
    for node in ast.walk(tree) if tree is not None else ():
        test = getattr(node, "test", None)
        if isinstance(test, ast.expr) and test.lineno <= line <= (test.end_lineno or test.lineno):
            found = _branching(node, test) or found
    return found


def _branching(node: ast.AST, test: ast.expr) -> Branching | None:
    simple = not isinstance(test, ast.BoolOp | ast.UnaryOp)
    if isinstance(node, ast.If | ast.While):
        name = "if" if isinstance(node, ast.If) else "while"
        then, otherwise = _lines(node.body), _lines(node.orelse)
    elif isinstance(node, ast.IfExp):
        name, then, otherwise = "if-expression", _lines([node.body]), _lines([node.orelse])
    elif isinstance(node, ast.Assert):
        name, then, otherwise = "assert", None, None
    else:
        return None
    return Branching(name, then, otherwise, simple)


def _lines(body: Sequence[ast.stmt | ast.expr]) -> Lines:
    return (body[0].lineno, body[-1].end_lineno or body[-1].lineno) if body else None


_trees: dict[CodeType, ast.AST | None] = {}


def _tree_of(code: CodeType) -> ast.AST | None:
    """The syntax tree of a function, with the line numbers of its file."""
    if code not in _trees:
        try:
            lines, first = inspect.getsourcelines(code)
            _trees[code] = ast.increment_lineno(ast.parse(dedent("".join(lines))), first - 1)
        except (OSError, SyntaxError, TypeError, IndexError):
            _trees[code] = None
    return _trees[code]
