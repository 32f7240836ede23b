"""Conditional branches: which truth value of a tensor decided, and what followed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent
from types import CodeType

from torcheer.graph.places import Site, SourceLine, source_lines

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Branching:
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
    return Branching(statement=name, then=then, otherwise=otherwise, is_simple=simple)


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
