"""The lines of a program in which the ops of a graph stand, and what is written there."""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from torcheer.autograd.engine import Node

_MAX_LINES: Final = 200
_MAX_TEXT: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLines:
    """A stretch of one file."""

    path: str
    lines: Sequence[str]
    first_line: int

    def line_of(self, node: Node) -> int:
        """The line of an op in the file, if it is one of these; else 0."""
        if node.place is None or node.place[0].co_filename != self.path:
            return 0
        line = node.place[1]
        return line if self.first_line <= line < self.first_line + len(self.lines) else 0

    def text_of(self, line: int) -> str:
        return self.lines[line - self.first_line].strip() if line else ""


NOTHING: Final = SourceLines(path="", lines=[], first_line=1)


def source_lines(nodes: Sequence[Node]) -> SourceLines:
    """The lines in which most of the ops stand, with those in between; of a long file, a part."""
    places = Counter((node.place[0].co_filename, node.place[1]) for node in nodes if node.place is not None)
    files = Counter[str]()
    for (path, _), count in places.items():
        files[path] += count
    for path, _ in files.most_common():
        written = linecache.getlines(path)
        lines = sorted(line for name, line in places if name == path and line <= len(written))
        if lines:
            first, last = _stretch(lines)
            shown = [text.rstrip("\n") for text in written[first - 1 : last]]
            return SourceLines(path=path, lines=shown, first_line=first)
    return NOTHING


def _stretch(lines: Sequence[int]) -> tuple[int, int]:
    """From the first to the last of them. Where they are too far apart, as many as fit at the end."""
    near = [line for line in lines if line > lines[-1] - _MAX_LINES]
    return near[0], near[-1]


def assigned(line: str) -> tuple[str, str]:
    """`h`, `relu(x)` of the line `h = relu(x)`; empty where it is something else, or a part of more."""
    try:
        tree = ast.parse(line.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", ""
    statement = tree.body[0] if len(tree.body) == 1 else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], ast.unparse(statement.value)
        name = target.id if isinstance(target, ast.Name) else ""
        return name, _short(value)
    if isinstance(statement, ast.Return | ast.Expr) and statement.value is not None:
        return "", _short(ast.unparse(statement.value))
    return "", ""


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
