"""Conditional branches: which truth value of a tensor decided, and what followed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType

from torcheer.graph.places import Site, SourceLine, source_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Python asked a tensor for its value, most often in an `if`."""

    op: int  # whose value it was
    value: object
    how: str  # '__bool__', 'item', …
    source: SourceLine | None
    statement: str  # 'if', 'while', 'assert', 'if-expression', or '' where none was found
    taken: str  # 'then', 'else' or ''
    followed: tuple[int, ...]  # the ops of the branch that was taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    statement: str
    lines: tuple[int, int] | None  # of the branch that was taken; None when it is empty
    taken: str


def branch_at(code: CodeType, line: int, value: object) -> Branch | None:
    """The conditional statement whose test stands on this line, and the lines of the branch taken."""
    tree = _tree_of(code)
    if tree is None:
        return None
    best: ast.AST | None = None
    for node in ast.walk(tree):
        test = getattr(node, "test", None)
        if isinstance(test, ast.expr) and test.lineno <= line <= (test.end_lineno or test.lineno):
            best = node  # the innermost comes last
    if best is None:
        return None
    return _branch(best, bool(value))


def _branch(node: ast.AST, value: bool) -> Branch | None:
    taken = "then" if value else "else"
    if isinstance(node, ast.If | ast.While):
        body = node.body if value else node.orelse
        lines = (body[0].lineno, body[-1].end_lineno or body[-1].lineno) if body else None
        return Branch(statement="if" if isinstance(node, ast.If) else "while", lines=lines, taken=taken)
    if isinstance(node, ast.IfExp):
        chosen = node.body if value else node.orelse
        return Branch(
            statement="if-expression", lines=(chosen.lineno, chosen.end_lineno or chosen.lineno), taken=taken
        )
    if isinstance(node, ast.Assert):
        return Branch(statement="assert", lines=None, taken="")
    return None


_trees: dict[CodeType, ast.AST | None] = {}


def _tree_of(code: CodeType) -> ast.AST | None:
    """The syntax tree of a function, with the line numbers of its file."""
    if code not in _trees:
        try:
            lines, first = inspect.getsourcelines(code)
            tree = ast.parse(
                inspect.cleandoc("\n" + "".join(lines)) if lines[0][:1].isspace() else "".join(lines)
            )
            _trees[code] = ast.increment_lineno(tree, first - 1)
        except (OSError, SyntaxError, TypeError, IndexError):
            _trees[code] = None
    return _trees[code]


def frame_lines(site: Site) -> list[tuple[CodeType, int]]:
    """Each frame of a site, outermost first, as its code and line."""
    lines = [line.line for line in source_lines(site)][::-1]
    return [(site[2 * i], line) for i, line in enumerate(lines)]


def followed_by(
    branch: Branch, frame: int, code: CodeType, later: Sequence[Sequence[tuple[CodeType, int]]]
) -> int:
    """How many of the later ops, from the first, lie in the branch: `later` are their frames."""
    if branch.lines is None:
        return 0
    count = 0
    first, last = branch.lines
    for frames in later:
        if frame >= len(frames) or frames[frame][0] is not code or not first <= frames[frame][1] <= last:
            break
        count += 1
    return count
