"""Compute an expression from its syntax tree.

There is a function here for each thing that may be written. What is not in the table cannot be written, so
nothing that a student types is ever run as a program.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd import tensors_in, tracer
from torcheer.errors import TorcheerError
from torcheer.learn.expression_values import Values
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
    MAX_EXPONENT,
    MAX_OPS,
    Fault,
    NodeKind,
    broadcast,
    check_number,
    check_shape,
    shape_text,
)

NAMESPACE: Final = "T"  # how torcheer.autograd is called, unless it is imported by another name

_ARITHMETIC: Final[Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
_SIGNS: Final[Mapping[type[ast.unaryop], tuple[str, Callable[[Any], Any]]]] = {
    ast.USub: ("neg", operator.neg),
    ast.UAdd: ("pos", lambda value: value),
    ast.Invert: ("not", operator.invert),
}
_ALLOWED: Final = "tensors, numbers, + - * / ** @, comparisons, x[…], and the functions that the page lists"
# What torch and the engine raise for arguments that do not fit.
_OF_AN_OP: Final = (
    TorcheerError,
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    NotImplementedError,
    ArithmeticError,
    AttributeError,
    AssertionError,
)


def _not_yet(name: str) -> str:
    return f"there is no {name[:60]} yet: assign it in a line above."


class Expressions:
    """Computes expressions over variables, and notes what came about."""

    def __init__(
        self,
        variables: dict[str, Any],
        values: Values,
        dtype: torch.dtype,
        unknown: Callable[[str], str] = _not_yet,
    ) -> None:
        self.variables = variables
        self._unknown = unknown  # what is said of a name that nothing has
        self.values = values
        self.namespaces = {NAMESPACE}
        self._maker = Maker(dtype)
        self._num_ops = 0

    def value(self, tree: ast.expr) -> Any:
        """What it comes to."""
        reader = _READERS.get(type(tree))
        if reader is None:
            raise Fault(f"`{_text(tree)}` cannot be used here: {_ALLOWED}.", tree.lineno)
        try:
            return reader(self, tree)
        except Fault as fault:
            fault.line = fault.line or tree.lineno
            raise

    # --- single things -------------------------------------------------------------------------------

    def _constant(self, tree: ast.Constant) -> Any:
        value = tree.value
        if value is None or value is Ellipsis or isinstance(value, bool | str):
            return value
        if not isinstance(value, int | float):
            raise Fault(
                "numbers are whole or have a decimal point: complex ones and bytes are not used here."
            )
        check_number(value)
        return value

    def _name(self, tree: ast.Name) -> Any:
        if tree.id in self.variables:
            return self.variables[tree.id]
        if tree.id in self.namespaces:
            raise Fault(f"{tree.id} stands before a function: {tree.id}.tensor, {tree.id}.relu.")
        if _is_function(tree.id):
            raise Fault(f"write {tree.id}(…): it is a function.")
        raise Fault(self._unknown(tree.id))

    def _sequence(self, tree: ast.List | ast.Tuple) -> Any:
        items = [self.value(one) for one in tree.elts]
        return items if isinstance(tree, ast.List) else tuple(items)

    def _slice(self, tree: ast.Slice) -> slice:
        parts = [None if one is None else self.value(one) for one in (tree.lower, tree.upper, tree.step)]
        if not all(one is None or is_int(one) for one in parts):
            raise Fault("a slice has whole numbers: x[1:3].")
        return slice(*parts)

    # --- operators -----------------------------------------------------------------------------------

    def _binary(self, tree: ast.BinOp) -> Any:
        if isinstance(tree.op, ast.BitXor):
            raise Fault(f"a power is written with **: write {_text(tree.left)} ** {_text(tree.right)}.")
        if type(tree.op) not in _ARITHMETIC:
            raise Fault(f"`{_text(tree)}` cannot be used here: + - * / ** @ can, and & | on masks.")
        name, operate = _ARITHMETIC[type(tree.op)]
        left, right = self.value(tree.left), self.value(tree.right)
        if name == "pow" and is_number(right) and abs(right) > MAX_EXPONENT:
            raise Fault(f"an exponent is at most {MAX_EXPONENT} here.")
        if is_number(left) and is_number(right):
            return _of_numbers(tree, operate, name, left, right)
        return self._of_two(tree, name, operate, left, right)

    def _of_two(
        self, tree: ast.expr, name: str, operate: Callable[[Any, Any], Any], left: Any, right: Any
    ) -> Any:
        for one in (left, right):
            if not isinstance(one, Tensor) and (name == "matmul" or not is_number(one)):
                raise Fault(f"{name} wants tensors, not {described(one)}.")
        if name == "matmul":
            _check_product(left, right)
            left, right = floats(left, right)
        else:
            broadcast(*(tuple(one.shape) for one in (left, right) if isinstance(one, Tensor)))
        return self._operate(tree, name, lambda a, b: operate(a, b), {"a": left, "b": right})

    def _unary(self, tree: ast.UnaryOp) -> Any:
        if type(tree.op) not in _SIGNS:
            raise Fault("`not` is not used here: ~ turns a mask round.")
        name, operate = _SIGNS[type(tree.op)]
        value = self.value(tree.operand)
        if is_number(value) and name != "not":
            return operate(value)
        if not isinstance(value, Tensor):
            raise Fault(f"{name} wants a tensor or a number, not {described(value)}.")
        return self._operate(tree, name, lambda x: operate(x), {"x": value})

    def _compare(self, tree: ast.Compare) -> Any:
        if len(tree.ops) > 1 or type(tree.ops[0]) not in _COMPARISONS:
            raise Fault("compare two at a time, with < <= > >= == or !=.")
        name, operate = _COMPARISONS[type(tree.ops[0])]
        left, right = self.value(tree.left), self.value(tree.comparators[0])
        if is_number(left) and is_number(right):
            return bool(operate(left, right))
        return self._of_two(tree, name, operate, left, right)

    def _subscript(self, tree: ast.Subscript) -> Any:
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

    def _attribute(self, tree: ast.Attribute) -> Any:
        if self._is_namespace(tree.value):
            raise Fault(f"{tree.attr[:60]} is a function here: write it with brackets, if the page lists it.")
        value = self.value(tree.value)
        if not isinstance(value, Tensor) or tree.attr not in ATTRIBUTES:
            raise Fault(
                f".{tree.attr[:60]} is not used here: a tensor has {_listed(ATTRIBUTES)}, and methods."
            )
        read = ATTRIBUTES[tree.attr]
        if tree.attr in ("shape", "ndim"):
            return read(value)
        return self._operate(tree, tree.attr, lambda x: read(x), {"x": value})

    def _call(self, tree: ast.Call) -> Any:
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
            raise Fault(f"a variable has the name {name} here: write {NAMESPACE}.{name}(…) for the function.")
        inside = ", ".join(map(ast.unparse, tree.args))
        raise Fault(f"write * between factors: {_text(tree.func)} * ({inside[:60]}).")

    def _call_function(
        self, tree: ast.Call, name: str, owner: list[Any], named: Mapping[str, ast.expr]
    ) -> Any:
        function = FUNCTIONS.get(name)
        if owner and function is not None and not function.is_method:
            function = None
        made = MAKERS.get(name) if function is None and not owner else None
        if function is None and made is None:
            before = "." if owner else f"{NAMESPACE}."
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
            raise Fault(f"{_text(tree)}: {first_sentence(error)}") from None
        kind: NodeKind = "constant"
        if made.name == "param":
            kind = "parameter"
        elif made.name in ("tensor", "randn"):
            kind = "input"
        self.values.add_leaf(leaf, kind, _text(tree), tree.lineno)
        return leaf

    def _size(self, value: Tensor, args: Sequence[Any]) -> Any:
        shape = tuple(value.shape)
        if not args:
            return shape
        if len(args) > 1 or not is_int(args[0]) or not -len(shape) <= args[0] < len(shape):
            raise Fault(f"size() takes one dimension, and this tensor has {len(shape)}.")
        return shape[args[0]]

    def _is_namespace(self, tree: ast.expr) -> bool:
        return isinstance(tree, ast.Name) and tree.id in self.namespaces and tree.id not in self.variables

    # --- doing it --------------------------------------------------------------------------------------

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
            raise Fault(f"{_text(tree)}: {first_sentence(error)}") from None
        if not isinstance(result, Tensor):
            raise Fault(f"{name} gives no tensor here.")
        check_shape(result.shape, "the result")
        if not isinstance(result, tracer):
            result = tracer(result)
        self.values.add_result(result, list(tensors_in(tuple(of.values()))), name, _text(tree), tree.lineno)
        return result


def _check_product(left: Tensor, right: Tensor) -> None:
    inner, rows = left.shape[-1:], right.shape[-2 if right.dim() > 1 else 0 :][:1]
    if not left.shape or not right.shape or inner != rows:
        raise Fault(
            f"{shape_text(left.shape)} @ {shape_text(right.shape)} does not fit: the last dimension of the "
            "left must be as long as the second to last of the right, or the only one."
        )


def first_sentence(error: BaseException) -> str:
    """What torch says, without its traces of C++."""
    return str(error).partition("\n")[0][:300] or type(error).__name__


def _of_numbers(
    tree: ast.expr, operate: Callable[[Any, Any], Any], name: str, left: Any, right: Any
) -> int | float:
    if name in ("matmul", "and", "or"):
        raise Fault(f"{name} wants tensors, not numbers.")
    try:
        result = operate(left, right)
    except ZeroDivisionError:
        raise Fault(f"{_text(tree)} divides by 0, and that gives no number.") from None
    except ArithmeticError:
        raise Fault(f"{_text(tree)} is too large to be computed.") from None
    if not is_number(result):
        raise Fault(f"{_text(tree)} is no real number.")
    check_number(result, "the result")
    return result  # type: ignore[no-any-return]


def _is_function(name: str) -> bool:
    return name in FUNCTIONS or name in MAKERS


def _text(tree: ast.expr) -> str:
    text = ast.unparse(tree)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(f".{name}" for name in names)


_READERS: Final[Mapping[type[ast.expr], Callable[[Expressions, Any], Any]]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.List: Expressions._sequence,
    ast.Tuple: Expressions._sequence,
    ast.Slice: Expressions._slice,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.Subscript: Expressions._subscript,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
}
