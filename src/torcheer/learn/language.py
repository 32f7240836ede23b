"""The language of the page: a few lines of Python, read and computed here, and never run as a program.

Signs of mathematics are read as well, and what is no Python gets a sentence that says what to write.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.learn.expression import Expressions
from torcheer.learn.expression_values import Value, Values
from torcheer.learn.functions import described, is_int
from torcheer.learn.lesson_document import (
    MAX_DEPTH,
    MAX_ROUNDS,
    MAX_SOURCE,
    MAX_STATEMENTS,
    Fault,
    LearnFault,
)

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


_MODULE: Final = "torcheer.autograd"
_LOSS: Final = "loss"  # what students call it
_LOSS_TO_COME: Final = re.compile(rf"(?:^|;)\s*{_LOSS}\s*=(?!=)", re.MULTILINE)
_STATEMENTS: Final = "a line is an assignment, an expression, a loop `for i in range(n):`, or loss.backward()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read, up to the first fault."""

    values: Values
    loss: Value | None  # none where a fault came before it
    fault: LearnFault | None


def read(source: str, dtype: torch.dtype = torch.float32) -> Reading:
    """Compute what a student wrote. It ends at what cannot be read, and says where that is."""
    reader = _Reader(dtype)
    tree, unread = parse_to_fault(source)
    fault = None
    try:
        reader.run(tree)
        if unread is not None:
            raise unread
        reader.loss = reader.loss or reader.last_number
        if reader.loss is None:
            fault = reader.why_no_loss()
    except Fault as found:
        fault = found.shown()
        rest = "\n".join(source.split("\n")[max(0, fault.line - 1) :])
        if reader.loss is None and not _LOSS_TO_COME.search(rest):
            reader.loss = reader.number_called(_LOSS)
    return Reading(values=reader.values, loss=reader.loss, fault=fault)


def evaluate(source: str, variables: Mapping[str, Any], dtype: torch.dtype = torch.float64) -> Tensor:
    """One expression over some tensors; a fault is raised."""
    tree = parse(source)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise Fault("write one expression, such as g * b.", 1)
    unknown = partial(_not_given, list(variables))
    result = Expressions(dict(variables), Values(), dtype, unknown).value(tree.body[0].value)
    if isinstance(result, int | float) and not isinstance(result, bool):
        return torch.tensor(float(result), dtype=dtype)
    if not isinstance(result, Tensor):
        raise Fault(f"this gives {described(result)}, not a tensor.", 1)
    return result


def _not_given(names: Sequence[str], name: str) -> str:
    """What is said of a name that an answer may not use; `gb` is what is written for g * b on paper."""
    meant = f" Did you mean {' * '.join(name)}?" if set(name) <= set(names) else ""
    return f"there is no {name[:60]} here; given are {', '.join(names)}.{meant}"


class _Reader:
    def __init__(self, dtype: torch.dtype) -> None:
        self.values = Values()
        self.loss: Value | None = None
        self.last_number: Value | None = None  # that wants a gradient
        self._variables: dict[str, Any] = {}
        self._expressions = Expressions(self._variables, self.values, dtype)
        self._num_rounds = 0
        self._num_statements = 0

    def run(self, tree: ast.Module) -> None:
        self._all(tree.body)

    def number_called(self, name: str) -> Value | None:
        """The variable, if the way back can begin at it."""
        tensor = self._variables.get(name)
        value = self.values.of(tensor) if isinstance(tensor, Tensor) else None
        is_start = value is not None and value.node is not None and value.tensor.numel() == 1
        return value if is_start else None

    def why_no_loss(self) -> LearnFault:
        """What to add, where there is nothing to begin the way back with."""
        wants = [one for one in self.values.all if one.node is not None]
        if not self.values.all:
            message = "nothing is computed yet: x = T.param(3), and loss = (x ** 2).sum()."
        elif not wants:
            message = (
                "nothing here wants a gradient: make a leaf with T.param(…), or with requires_grad=True."
            )
        else:
            message = "the way back begins at a single number: add loss = ….sum() or ….mean()."
        return LearnFault(line=0, message=message)

    # --- statements ------------------------------------------------------------------------------------

    def _all(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._num_statements += 1
            if self._num_statements > MAX_STATEMENTS:
                raise Fault(
                    f"more than {MAX_STATEMENTS} lines, with those of loops each time.", statement.lineno
                )
            run = _RUNNERS.get(type(statement))
            if run is None:
                first, _, _ = ast.unparse(statement).partition("\n")
                raise Fault(f"`{first[:60]}` is not used here: {_STATEMENTS}.", statement.lineno)
            try:
                run(self, statement)
            except Fault as fault:
                fault.line = fault.line or statement.lineno
                raise

    def _import(self, statement: ast.Import) -> None:
        for alias in statement.names:
            if alias.name != _MODULE or alias.asname is None:
                raise Fault(f"only `import {_MODULE} as T` is used here, and nothing else is imported.")
            self._expressions.namespaces.add(alias.asname)

    def _assign(self, statement: ast.Assign) -> None:
        value = self._computed(statement.value)
        for target in statement.targets:
            self._bind(target, value)

    def _augmented(self, statement: ast.AugAssign) -> None:
        raise Fault("`x += 1` writes into x, whose value the way back needs: write x = x + 1.")

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            if not isinstance(value, tuple | list) or len(value) != len(target.elts):
                raise Fault(f"{len(target.elts)} names on the left, and not as many values on the right.")
            for one, part in zip(target.elts, value, strict=True):
                self._bind(one, part)
            return
        if not isinstance(target, ast.Name):
            raise Fault("a value gets a name, as in a = …: writing into a tensor would lose what it held.")
        if target.id in self._expressions.namespaces:
            raise Fault(f"{target.id} is {_MODULE} here: take another name.")
        self._variables[target.id] = value
        self.values.name(value, target.id)

    def _expression(self, statement: ast.Expr) -> None:
        tree = statement.value
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            return  # a comment of several lines
        is_call = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute)
        if is_call and tree.func.attr == "backward" and not tree.args and not tree.keywords:  # type: ignore[attr-defined]
            self._backward(tree.func.value)  # type: ignore[attr-defined]
        else:
            self._computed(tree)

    def _backward(self, tree: ast.expr) -> None:
        if self.loss is not None:
            raise Fault("there is one backward() already: one is enough to look at.")
        result = self._computed(tree)
        value = self.values.of(result) if isinstance(result, Tensor) else None
        if value is None or value.node is None:
            raise Fault("backward() begins at something that wants a gradient: make a leaf with T.param(…).")
        if value.tensor.numel() != 1:
            raise Fault("backward() begins at a single number: take the .sum() or the .mean().")
        self.loss = value

    def _for(self, statement: ast.For) -> None:
        if not isinstance(statement.target, ast.Name) or statement.orelse:
            raise Fault("a loop is written `for i in range(n):`.")
        for number in self._range(statement.iter):
            self._num_rounds += 1
            if self._num_rounds > MAX_ROUNDS:
                raise Fault(f"loops make at most {MAX_ROUNDS} rounds here, all together: a few show as much.")
            self._variables[statement.target.id] = number
            self._all(statement.body)

    def _range(self, tree: ast.expr) -> range:
        is_range = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "range"
        if not is_range or tree.keywords:  # type: ignore[attr-defined]
            raise Fault("a loop goes over range(n).")
        numbers = [self._expressions.value(one) for one in tree.args]  # type: ignore[attr-defined]
        if not 1 <= len(numbers) <= 3 or not all(is_int(one) for one in numbers) or 0 in numbers[2:]:
            raise Fault("range() takes one to three whole numbers, and no steps of 0.")
        return range(*numbers)

    def _pass(self, statement: ast.Pass) -> None:
        """Nothing."""

    def _computed(self, tree: ast.expr) -> Any:
        result = self._expressions.value(tree)
        value = self.values.of(result) if isinstance(result, Tensor) else None
        if value is not None and value.kind == "op" and value.node is not None and value.tensor.numel() == 1:
            self.last_number = value
        return result


_RUNNERS: Final[Mapping[type[ast.stmt], Callable[[_Reader, Any], None]]] = {
    ast.Import: _Reader._import,
    ast.Assign: _Reader._assign,
    ast.AugAssign: _Reader._augmented,
    ast.Expr: _Reader._expression,
    ast.For: _Reader._for,
    ast.Pass: _Reader._pass,
}
