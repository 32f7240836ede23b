"""Where a training comes from: `path/to/file.py:function` or `package.module:function`. No torch here."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torcheer.errors import InputError

EXAMPLE: Final = "examples/etra25.py:loop or package.module:function"
WANTED: Final = "a function that takes nothing and returns a tl.Loop, or a tl.Loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A function that makes a `tl.Loop`, by name. `where` is a file or a module."""

    where: str
    name: str

    @property
    def is_file(self) -> bool:
        return self.where.endswith(".py")

    @property
    def title(self) -> str:
        """A name for people until the training says its own."""
        return Path(self.where).stem if self.is_file else self.where.rpartition(".")[2]

    def __str__(self) -> str:
        return f"{self.where}:{self.name}"


def read_target(text: str) -> Target:
    """What can be said without running the code is said here. Raises InputError."""
    where, colon, name = text.rpartition(":")
    if not colon or not where or not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"{text!r} names no training: write {EXAMPLE}, {WANTED}.")
    target = Target(where=where, name=name)
    if target.is_file:
        path = Path(where)
        if not path.is_file():
            raise InputError(f"there is no file {where}: write {EXAMPLE}.")
        _look_for_name(path, name.partition(".")[0])
    elif not all(part.isidentifier() for part in where.split(".")):
        raise InputError(f"{where!r} is no module and no file that ends in .py: write {EXAMPLE}.")
    return target


# --- what a file defines, without running it -----------------------------------------------------


def _look_for_name(path: Path, name: str) -> None:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return  # what is wrong with it is shown with its place when it is loaded
    names = list(dict.fromkeys(_names_in(tree.body)))
    if name in names or "*" in names:
        return
    near = difflib.get_close_matches(name, names, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise InputError(f"{path} has no {name!r} that can be imported: it must be {WANTED}.{hint}")


def _names_in(body: Sequence[ast.stmt]) -> Iterator[str]:
    """All names that the statements of a module may bind, also inside `if` and `try`; `*` for any."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
            continue
        if isinstance(statement, ast.If) and _is_main_guard(statement.test):
            yield from _names_in(statement.orelse)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.alias):
                yield node.asname or node.name.partition(".")[0]


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
