"""The language of the page: a few lines of Python, read and computed here, and never run as a program.

Assignments, expressions, loops over a range and `loss.backward()`; see functions.py for what can be called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.learn.arguments import described, is_int
from torcheer.learn.document import LearnFault
from torcheer.learn.expressions import Expressions
from torcheer.learn.faults import Fault
from torcheer.learn.limits import MAX_ROUNDS, MAX_STATEMENTS
from torcheer.learn.syntax import parse, parse_to_fault
from torcheer.learn.values import Value, Values

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
    factors = _factors(name, names)
    meant = f" Did you mean {' * '.join(factors)}?" if factors else ""
    return f"there is no {name[:60]} here; given are {', '.join(names)}.{meant}"


def _factors(name: str, names: Sequence[str]) -> list[str]:
    """The names that this one is made of, one after the other; none if it is not."""
    made: list[list[str] | None] = [[]]  # of the first signs, by how many they are
    for end in range(1, len(name) + 1):
        ways = (
            [*before, one]
            for one in names
            if name.endswith(one, 0, end) and (before := made[end - len(one)]) is not None
        )
        made.append(next(ways, None))
    return made[-1] or []


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
                raise Fault(f"{_called(statement)} is not used here: {_STATEMENTS}.", statement.lineno)
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


def _called(statement: ast.stmt) -> str:
    return _KEYWORDS.get(type(statement), f"`{type(statement).__name__.lower()}`")


_KEYWORDS: Final[Mapping[type[ast.stmt], str]] = {
    ast.ImportFrom: f"importing anything but `import {_MODULE} as T`",
    ast.FunctionDef: "`def`",
    ast.ClassDef: "`class`",
    ast.AnnAssign: "a type after a name",
    ast.Delete: "`del`",
}
_RUNNERS: Final[Mapping[type[ast.stmt], Callable[[_Reader, Any], None]]] = {
    ast.Import: _Reader._import,
    ast.Assign: _Reader._assign,
    ast.AugAssign: _Reader._augmented,
    ast.Expr: _Reader._expression,
    ast.For: _Reader._for,
    ast.Pass: _Reader._pass,
}
