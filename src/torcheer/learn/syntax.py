"""From what was typed to a syntax tree: signs of mathematics are read, and what is no Python is said."""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from typing import Final

from torcheer.learn.faults import Fault
from torcheer.learn.limits import MAX_DEPTH, MAX_SOURCE

# One sign for one sign, so that places in a line stay what they are.
_READ_AS: Final = str.maketrans(
    {
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
        "\N{MULTIPLICATION SIGN}": "*",
        "\N{MIDDLE DOT}": "*",
        "\N{DOT OPERATOR}": "*",
        "\N{NO-BREAK SPACE}": " ",
    }
)
_QUOTES: Final = "“”„‟‘’‚‛«»‹›"
_POWERS: Final = {"²": 2, "³": 3}
_STRANGE: Final = re.compile(r"invalid character '(.)'", re.DOTALL)
_NUMBER_AND_NAME: Final = re.compile(r"(?<![\w.])(\d+\.?\d*)([^\W\d]\w*)")
# Something, a space, and something that is not the name of an argument or a variable to be assigned.
_SIDE_BY_SIDE: Final = re.compile(r"([\w.]+|[)\]])\s+(?=(\w[\w.]*)\b(?!\s*=(?!=)))")
_MAX_BACK: Final = 64  # lines of one statement, when its beginning is sought


def parse(source: str) -> ast.Module:
    """The syntax tree, if it is no larger than it may be."""
    if len(source) > MAX_SOURCE:
        raise Fault(f"{len(source):,} signs are too many: {MAX_SOURCE:,} are allowed.")
    if "\\" in source:
        raise Fault(
            "a backslash is not used here: a long line goes on inside of brackets.", _line_of(source, "\\")
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of doubtful spelling, for those who run it
            tree = ast.parse(source.translate(_READ_AS))
    except SyntaxError as error:
        raise Fault(_said(error), error.lineno or 0) from None
    except (RecursionError, MemoryError):
        raise Fault("this cannot be read: too many operations in one another.") from None
    except ValueError as error:
        raise Fault(f"this cannot be read: {str(error)[:100]}.") from None
    _check_depth(tree)
    return tree


def parse_to_fault(source: str) -> tuple[ast.Module, Fault | None]:
    """All that can be read; where there is a fault, the statements before the one that it is in."""
    try:
        return parse(source), None
    except Fault as fault:
        return _before(source.split("\n"), fault.line), fault


def _before(lines: list[str], line: int) -> ast.Module:
    """A statement may begin some lines above its fault. Half of a loop would compute something else."""
    for end in range(min(line, len(lines)) - 1, max(0, line - _MAX_BACK), -1):
        try:
            tree = parse("\n".join(lines[:end]))
        except Fault:
            continue
        if lines[end][:1].isspace() and tree.body and isinstance(tree.body[-1], ast.For):
            tree.body.pop()
        return tree
    return ast.Module(body=[], type_ignores=[])


def _line_of(source: str, sign: str) -> int:
    return source[: source.index(sign)].count("\n") + 1


def _check_depth(tree: ast.Module) -> None:
    """Without recursion, since that is what it guards."""
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 0, 0)]
    while waiting:
        node, depth, line = waiting.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_DEPTH:
            raise Fault(f"more than {MAX_DEPTH} operations in one another: use a line more.", line)
        name = getattr(node, "id", getattr(node, "attr", getattr(node, "arg", None)))
        if isinstance(name, str) and name.startswith("_"):
            raise Fault(f"names that begin with _ are not used here: {name[:60]}.", line)
        waiting.extend((child, depth + 1, line) for child in ast.iter_child_nodes(node))


# --- what is no Python, in a sentence --------------------------------------------------------------------


def _said(error: SyntaxError) -> str:
    line = (error.text or "").strip()
    known = _of_a_sign(error.msg, line) or _of_factors(error.msg, line.partition("#")[0])
    if known:
        return known
    at = f" at {line[:60]!r}" if line else ""
    return f"this is not complete, or not Python{at}: {error.msg}."


def _of_a_sign(message: str, line: str) -> str:
    found = _STRANGE.match(message)
    if found is None:
        return ""
    sign = found[1]
    if sign in _QUOTES:
        return f"{sign} is a typographic quote, which is not read: write '…' with straight ones."
    if sign in _POWERS:
        base = re.search(rf"(\w+)\s*{sign}", line)
        return f"a power is written with **: write {base[1] if base else 'x'} ** {_POWERS[sign]}."
    return f"the sign {sign} is not read here: the page lists what may be written."


def _of_factors(message: str, line: str) -> str:
    """`2a` and `a b`, as they are written on paper."""
    if message == "invalid decimal literal":
        found = _NUMBER_AND_NAME.search(line)
        return f"a product is written with *: write {found[1]} * {found[2]}." if found else ""
    if not message.startswith("invalid syntax"):
        return ""
    for left, right in _SIDE_BY_SIDE.findall(line):
        if not keyword.iskeyword(left) and not keyword.iskeyword(right):
            example = "" if left in ")]" else f": {left} * {right}"
            comma = ", or a comma between arguments" if "comma" in message else ""
            return f"write * between factors{example}{comma}."
    return ""
