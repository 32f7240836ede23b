"""The language of the page: a few lines of Python, read and computed here, and never run as a program.

There is a method here for each thing that may be written (`Interpreter`). What has none cannot be written.
Signs of mathematics are read as well, and what is no Python gets a sentence that says what to write.
"""

from __future__ import annotations

import ast
import keyword
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd import tensors_in, tracer
from torcheer.errors import TorcheerError
from torcheer.learn.expression_values import Value, Values
from torcheer.learn.functions import (
    ATTRIBUTES,
    FUNCTIONS,
    MAKERS,
    Function,
    Maker,
    bind,
    check_size,
    described,
    floats,
    is_int,
    is_number,
)
from torcheer.learn.lesson_document import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_EXPONENT,
    MAX_OPS,
    MAX_ROUNDS,
    MAX_SOURCE,
    MAX_STATEMENTS,
    Fault,
    LearnFault,
    NodeKind,
    check_number,
    check_shape,
    shape_text,
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
        line = source.partition("\\")[0].count("\n") + 1
        raise Fault("a backslash is not used here: a long line goes on inside of brackets.", line)
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
    """All that can be read; where there is a fault, the statements before the one that it is in.

    A statement may begin some lines above its fault. Half of a loop would compute something else.
    """
    try:
        return parse(source), None
    except Fault as first:
        fault, lines = first, source.split("\n")
    for end in range(min(fault.line, len(lines)) - 1, max(0, fault.line - _MAX_BACK), -1):
        try:
            tree = parse("\n".join(lines[:end]))
        except Fault:
            continue
        if lines[end][:1].isspace() and tree.body and isinstance(tree.body[-1], ast.For):
            tree.body.pop()
        return tree, fault
    return ast.Module(body=[], type_ignores=[]), fault


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
_MAX_PARTS: Final = 2 * MAX_ELEMENTS  # rows count, too
_NAMESPACE: Final = "T"  # how it is called, unless it is imported by another name
_LOSS: Final = "loss"  # what students call it
_LOSS_TO_COME: Final = re.compile(rf"(?:^|;)\s*{_LOSS}\s*=(?!=)", re.MULTILINE)
_STATEMENTS: Final = "a line is an assignment, an expression, a loop `for i in range(n):`, or loss.backward()"
_ALLOWED: Final = "tensors, numbers, + - * / ** @, comparisons, x[…], and the functions that the page lists"
_OPERATORS: Final[Mapping[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_KIND_OF_LEAF: Final[Mapping[str, NodeKind]] = {"param": "parameter", "tensor": "input", "randn": "input"}
# What torch and the engine raise for arguments that do not fit.
_OF_AN_OP: Final = (
    TorcheerError,
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    ArithmeticError,
    AttributeError,
    AssertionError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read, up to the first fault."""

    values: Values
    loss: Value | None  # none where a fault came before it
    fault: LearnFault | None


def read(source: str, dtype: torch.dtype = torch.float32) -> Reading:
    """Compute what a student wrote. It ends at what cannot be read, and says where that is."""
    interpreter = Interpreter({}, dtype)
    tree, unread = parse_to_fault(source)
    fault = None
    try:
        interpreter.run(tree.body)
        if unread is not None:
            raise unread
        loss = interpreter.loss or interpreter.last_number
        if loss is None:
            fault = interpreter.why_no_loss()
    except Fault as found:
        fault, loss = found.shown(), interpreter.loss
        rest = "\n".join(source.split("\n")[max(0, fault.line - 1) :])
        if loss is None and not _LOSS_TO_COME.search(rest):
            value = interpreter.values.of(interpreter.variables.get(_LOSS))
            loss = value if value is not None and value.can_start else None
    return Reading(values=interpreter.values, loss=loss, fault=fault)


def evaluate(source: str, variables: Mapping[str, Any], dtype: torch.dtype = torch.float64) -> Tensor:
    """One expression over some tensors; a fault is raised."""
    tree = parse(source)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise Fault("write one expression, such as g * b.", 1)

    def unknown(name: str) -> str:
        # `gb` is what is written for g * b on paper.
        meant = f" Did you mean {' * '.join(name)}?" if set(name) <= set(variables) else ""
        return f"there is no {name[:60]} here; given are {', '.join(variables)}.{meant}"

    result = Interpreter(dict(variables), dtype, unknown).value(tree.body[0].value)
    if is_number(result):
        return torch.tensor(float(result), dtype=dtype)
    if not isinstance(result, Tensor):
        raise Fault(f"this gives {described(result)}, not a tensor.", 1)
    return result


def _not_yet(name: str) -> str:
    return f"there is no {name[:60]} yet: assign it in a line above."


class Interpreter:
    """Computes statements and expressions over variables, and notes what came about.

    Each kind of node of a syntax tree has a method of its name: `_read_binop` reads `ast.BinOp`.
    """

    def __init__(
        self, variables: dict[str, Any], dtype: torch.dtype, unknown: Callable[[str], str] = _not_yet
    ) -> None:
        self.variables = variables
        self.values = Values()
        self.loss: Value | None = None
        self.last_number: Value | None = None  # that wants a gradient
        self._unknown = unknown  # what is said of a name that nothing has
        self._namespaces = {_NAMESPACE}
        self._maker = Maker(dtype)
        self._num_ops = self._num_rounds = self._num_statements = 0

    def run(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._num_statements += 1
            if self._num_statements > MAX_STATEMENTS:
                raise Fault(
                    f"more than {MAX_STATEMENTS} lines, with those of loops each time.", statement.lineno
                )
            self.value(statement)

    def value(self, tree: ast.stmt | ast.expr) -> Any:
        """What an expression comes to; of a statement None, once it is done."""
        read = getattr(self, f"_read_{type(tree).__name__.lower()}", None)
        if read is None:
            is_line = isinstance(tree, ast.stmt)
            what = f"is not used here: {_STATEMENTS}" if is_line else f"cannot be used here: {_ALLOWED}"
            raise Fault(f"`{text_of(tree)}` {what}.", tree.lineno)
        try:
            return read(tree)
        except Fault as fault:
            fault.line = fault.line or tree.lineno
            raise

    def why_no_loss(self) -> LearnFault:
        """What to add, where there is nothing to begin the way back with."""
        if not self.values.all:
            message = "nothing is computed yet: x = T.param(3), and loss = (x ** 2).sum()."
        elif all(one.node is None for one in self.values.all):
            message = (
                "nothing here wants a gradient: make a leaf with T.param(…), or with requires_grad=True."
            )
        else:
            message = "the way back begins at a single number: add loss = ….sum() or ….mean()."
        return LearnFault(line=0, message=message)

    # --- statements ------------------------------------------------------------------------------------

    def _read_import(self, statement: ast.Import) -> None:
        for alias in statement.names:
            if alias.name != _MODULE or alias.asname is None:
                raise Fault(f"only `import {_MODULE} as T` is used here, and nothing else is imported.")
            self._namespaces.add(alias.asname)

    def _read_assign(self, statement: ast.Assign) -> None:
        value = self._computed(statement.value)
        for target in statement.targets:
            self._bind(target, value)

    def _read_augassign(self, statement: ast.AugAssign) -> None:
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
        if target.id in self._namespaces:
            raise Fault(f"{target.id} is {_MODULE} here: take another name.")
        self.variables[target.id] = value
        self.values.name(value, target.id)

    def _read_expr(self, statement: ast.Expr) -> None:
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
        value = self.values.of(self._computed(tree))
        if value is None or value.node is None:
            raise Fault("backward() begins at something that wants a gradient: make a leaf with T.param(…).")
        if not value.can_start:
            raise Fault("backward() begins at a single number: take the .sum() or the .mean().")
        self.loss = value

    def _read_for(self, statement: ast.For) -> None:
        if not isinstance(statement.target, ast.Name) or statement.orelse:
            raise Fault("a loop is written `for i in range(n):`.")
        for number in self._range(statement.iter):
            self._num_rounds += 1
            if self._num_rounds > MAX_ROUNDS:
                raise Fault(f"loops make at most {MAX_ROUNDS} rounds here, all together: a few show as much.")
            self.variables[statement.target.id] = number
            self.run(statement.body)

    def _range(self, tree: ast.expr) -> range:
        is_range = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "range"
        if not is_range or tree.keywords:  # type: ignore[attr-defined]
            raise Fault("a loop goes over range(n).")
        numbers = [self.value(one) for one in tree.args]  # type: ignore[attr-defined]
        if not 1 <= len(numbers) <= 3 or not all(is_int(one) for one in numbers) or 0 in numbers[2:]:
            raise Fault("range() takes one to three whole numbers, and no steps of 0.")
        return range(*numbers)

    def _read_pass(self, statement: ast.Pass) -> None:
        """Nothing."""

    def _computed(self, tree: ast.expr) -> Any:
        result = self.value(tree)
        value = self.values.of(result)
        if value is not None and value.kind == "op" and value.can_start:
            self.last_number = value
        return result

    def _read_constant(self, tree: ast.Constant) -> Any:
        value = tree.value
        if value is None or value is Ellipsis or isinstance(value, bool | str):
            return value
        if not isinstance(value, int | float):
            raise Fault(
                "numbers are whole or have a decimal point: complex ones and bytes are not used here."
            )
        check_number(value)
        return value

    def _read_name(self, tree: ast.Name) -> Any:
        if tree.id in self.variables:
            return self.variables[tree.id]
        if tree.id in self._namespaces:
            raise Fault(f"{tree.id} stands before a function: {tree.id}.tensor, {tree.id}.relu.")
        if _is_function(tree.id):
            raise Fault(f"write {tree.id}(…): it is a function.")
        raise Fault(self._unknown(tree.id))

    def _read_list(self, tree: ast.List | ast.Tuple) -> list[Any]:
        items = [self.value(one) for one in tree.elts]
        # Lists of one list many times, and lists of these, would soon be too long to be gone through.
        if next(islice(_all_parts(items), _MAX_PARTS, None), None) is not None:
            raise Fault(f"lists in lists have at most {_MAX_PARTS:,} parts here, all together.")
        return items

    def _read_tuple(self, tree: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._read_list(tree))

    def _read_slice(self, tree: ast.Slice) -> slice:
        parts = [None if one is None else self.value(one) for one in (tree.lower, tree.upper, tree.step)]
        if not all(one is None or is_int(one) for one in parts):
            raise Fault("a slice has whole numbers: x[1:3].")
        return slice(*parts)

    def _read_binop(self, tree: ast.BinOp) -> Any:
        if isinstance(tree.op, ast.BitXor):
            raise Fault(f"a power is written with **: write {text_of(tree.left)} ** {text_of(tree.right)}.")
        if type(tree.op) not in _OPERATORS:
            raise Fault(f"`{text_of(tree)}` cannot be used here: + - * / ** @ can, and & | on masks.")
        return self._of_two(tree, tree.op, self.value(tree.left), self.value(tree.right))

    def _read_compare(self, tree: ast.Compare) -> Any:
        if len(tree.ops) > 1 or type(tree.ops[0]) not in _OPERATORS:
            raise Fault("compare two at a time, with < <= > >= == or !=.")
        return self._of_two(tree, tree.ops[0], self.value(tree.left), self.value(tree.comparators[0]))

    def _of_two(self, tree: ast.expr, sign: ast.operator | ast.cmpop, left: Any, right: Any) -> Any:
        operate = _OPERATORS[type(sign)]
        name = _name_of(operate)
        if name == "pow" and is_number(right) and abs(right) > MAX_EXPONENT:
            raise Fault(f"an exponent is at most {MAX_EXPONENT} here.")
        if is_number(left) and is_number(right):
            return _of_numbers(tree, operate, left, right)
        for one in (left, right):
            if not isinstance(one, Tensor) and (name == "matmul" or not is_number(one)):
                raise Fault(f"{name} wants tensors, not {described(one)}.")
        if name == "matmul":
            _check_product(left, right)
            left, right = floats(left, right)
        elif isinstance(left, Tensor) and isinstance(right, Tensor):
            _check_alike(left, right)
        return self._operate(tree, name, lambda a, b: operate(a, b), {"a": left, "b": right})

    def _read_unaryop(self, tree: ast.UnaryOp) -> Any:
        if type(tree.op) not in _OPERATORS:
            raise Fault("`not` is not used here: ~ turns a mask round.")
        operate, value = _OPERATORS[type(tree.op)], self.value(tree.operand)
        if is_number(value) and operate is not operator.invert:
            return operate(value)
        if not isinstance(value, Tensor):
            raise Fault(f"`{text_of(tree)}` wants a tensor or a number, not {described(value)}.")
        return self._operate(tree, _name_of(operate), lambda x: operate(x), {"x": value})

    def _read_subscript(self, tree: ast.Subscript) -> Any:
        value, key = self.value(tree.value), self._key(self.value(tree.slice))
        if isinstance(value, tuple | list):
            if not is_int(key) or not -len(value) <= key < len(value):
                raise Fault(f"this has {len(value)} parts: take one by its number, from 0.")
            return value[key]
        if not isinstance(value, Tensor):
            raise Fault(f"{described(value)} has no parts.")
        return self._operate(tree, "index", lambda x, key: x[key], {"x": value, "key": key})

    def _key(self, key: Any) -> Any:
        """Lists of numbers in a key are places, as in torch."""
        if isinstance(key, tuple):
            return tuple(self._key(one) for one in key)
        if isinstance(key, list):
            return self._maker.tensor(key, False)
        is_known = key is None or key is Ellipsis or isinstance(key, slice) or is_int(key)
        if not is_known and not (isinstance(key, Tensor) and not key.is_floating_point()):
            raise Fault("inside of x[…] stand whole numbers, slices, masks, or tensors of whole numbers.")
        return key

    # --- names after a dot, and calls ------------------------------------------------------------------

    def _read_attribute(self, tree: ast.Attribute) -> Any:
        if self._is_namespace(tree.value):
            raise Fault(f"{tree.attr[:60]} is a function here: write it with brackets, if the page lists it.")
        value = self.value(tree.value)
        if not isinstance(value, Tensor) or tree.attr not in ATTRIBUTES:
            known = ", ".join(f".{name}" for name in ATTRIBUTES)
            raise Fault(f".{tree.attr[:60]} is not used here: a tensor has {known}, and methods.")
        read = ATTRIBUTES[tree.attr]
        if tree.attr in ("shape", "ndim"):
            return read(value)
        return self._operate(tree, tree.attr, lambda x: read(x), {"x": value})

    def _read_call(self, tree: ast.Call) -> Any:
        named = {one.arg: one.value for one in tree.keywords if one.arg is not None}
        if len(named) != len(tree.keywords) or any(isinstance(one, ast.Starred) for one in tree.args):
            raise Fault("arguments are written out: no * or ** in a call.")
        if not isinstance(tree.func, ast.Attribute):
            return self._call_function(tree, self._bare_name(tree), [], named)
        name = tree.func.attr
        if self._is_namespace(tree.func.value):
            return self._call_function(tree, name, [], named)
        owner = self.value(tree.func.value)
        if not isinstance(owner, Tensor):
            raise Fault(f".{name[:60]}() is called on a tensor, not on {described(owner)}.")
        if name == "size":
            return self._size(owner, [self.value(one) for one in tree.args])
        if name == "backward":
            raise Fault("backward() stands in a line of its own, without arguments: loss.backward().")
        return self._call_function(tree, name, [owner], named)

    def _bare_name(self, tree: ast.Call) -> str:
        """exp(x) is T.exp(x), unless a variable has that name."""
        name = tree.func.id if isinstance(tree.func, ast.Name) else ""
        if name and name not in self.variables:
            if not _is_function(name):
                raise Fault(f"there is no {name[:60]}() here: the page lists what can be called.")
            return name
        if _is_function(name):
            raise Fault(
                f"a variable has the name {name} here: write {_NAMESPACE}.{name}(…) for the function."
            )
        inside = ", ".join(map(ast.unparse, tree.args))
        raise Fault(f"write * between factors: {text_of(tree.func)} * ({inside[:60]}).")

    def _call_function(
        self, tree: ast.Call, name: str, owner: list[Any], named: Mapping[str, ast.expr]
    ) -> Any:
        function = FUNCTIONS.get(name)
        if owner and function is not None and not function.is_method:
            function = None
        made = MAKERS.get(name) if function is None and not owner else None
        if function is None and made is None:
            before = "." if owner else f"{_NAMESPACE}."
            raise Fault(f"there is no {before}{name[:60]}() here: the page lists what can be called.")
        args = [*owner, *(self.value(one) for one in tree.args)]
        values = {key: self.value(one) for key, one in named.items()}
        if made is not None:
            return self._make(tree, made, args, values)
        assert function is not None
        bound = bind(name, function.parameters, args, values)
        return self._operate(tree, name, function.run, bound)

    def _make(self, tree: ast.Call, made: Function, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        bound = bind(made.name, made.parameters, args, named)
        self._count()
        try:
            leaf = made.run(self._maker, **bound)
        except _OF_AN_OP as error:
            raise Fault(f"{text_of(tree)}: {_first_sentence(error)}") from None
        self.values.add_leaf(leaf, _KIND_OF_LEAF.get(made.name, "constant"), text_of(tree), tree.lineno)
        return leaf

    def _size(self, value: Tensor, args: Sequence[Any]) -> Any:
        shape = tuple(value.shape)
        if not args:
            return shape
        if len(args) > 1 or not is_int(args[0]) or not -len(shape) <= args[0] < len(shape):
            raise Fault(f"size() takes one dimension, and this tensor has {len(shape)}.")
        return shape[args[0]]

    def _is_namespace(self, tree: ast.expr) -> bool:
        return isinstance(tree, ast.Name) and tree.id in self._namespaces and tree.id not in self.variables

    def _count(self) -> None:
        self._num_ops += 1
        if self._num_ops > MAX_OPS:
            raise Fault(f"more than {MAX_OPS} operations: take a smaller example, or fewer rounds.")

    def _operate(self, tree: ast.expr, name: str, run: Callable[..., Any], of: Mapping[str, Any]) -> Any:
        """Do an op, with a sentence for what goes wrong, and note what it made."""
        self._count()
        try:
            check_size(run, of)
            result = run(**of)
        except _OF_AN_OP as error:
            raise Fault(f"{text_of(tree)}: {_first_sentence(error)}") from None
        if not isinstance(result, Tensor):
            raise Fault(f"{name} gives no tensor here.")
        check_shape(result.shape, "the result")
        if not isinstance(result, tracer):
            result = tracer(result)
        self.values.add_result(result, list(tensors_in(tuple(of.values()))), name, text_of(tree), tree.lineno)
        return result


def _check_product(left: Tensor, right: Tensor) -> None:
    inner, rows = left.shape[-1:], right.shape[-2 if right.dim() > 1 else 0 :][:1]
    if not left.shape or not right.shape or inner != rows:
        raise Fault(
            f"{shape_text(left.shape)} @ {shape_text(right.shape)} does not fit: the last dimension of the "
            "left must be as long as the second to last of the right, or the only one."
        )


def _check_alike(left: Tensor, right: Tensor) -> None:
    for one, other in zip(reversed(left.shape), reversed(right.shape), strict=False):
        if one != other and 1 not in (one, other):
            raise Fault(
                f"{shape_text(left.shape)} and {shape_text(right.shape)} do not fit element by element: from "
                f"the right, each dimension must be equal or 1, and here {one} meets {other}."
            )


def _first_sentence(error: BaseException) -> str:
    """What torch says, without its traces of C++."""
    return str(error).partition("\n")[0][:300] or type(error).__name__


def _name_of(operate: Callable[..., Any]) -> str:
    """`div` for truediv, `and` for and_: as rules are called."""
    return operate.__name__.removeprefix("true").rstrip("_")


def _of_numbers(tree: ast.expr, operate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if operate in (operator.matmul, operator.and_, operator.or_):
        raise Fault(f"{_name_of(operate)} wants tensors, not numbers.")
    try:
        result = operate(left, right)
    except ZeroDivisionError:
        raise Fault(f"{text_of(tree)} divides by 0, and that gives no number.") from None
    except ArithmeticError:
        raise Fault(f"{text_of(tree)} is too large to be computed.") from None
    if isinstance(result, complex):
        raise Fault(f"{text_of(tree)} is no real number.")
    check_number(result, "the result")
    return result


def _all_parts(items: Iterable[Any]) -> Iterator[int]:
    """A number for each part, and for each part of a part."""
    for one in items:
        yield 1
        if isinstance(one, list | tuple):
            yield from _all_parts(one)


def _is_function(name: str) -> bool:
    return name in FUNCTIONS or name in MAKERS


def text_of(tree: ast.AST) -> str:
    """As it is written, in one line."""
    text = ast.unparse(tree).partition("\n")[0]
    return text if len(text) <= 120 else f"{text[:119]}…"
