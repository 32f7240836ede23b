"""Sort the arguments of a call to the parameters of a function, and refuse those of a wrong kind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from torcheer.autograd.engine import tracer
from torcheer.learn.faults import Fault
from torcheer.learn.limits import MAX_DIMS, MAX_WINDOW, check_number

_REQUIRED: Final = object()


class Parameter(NamedTuple):
    name: str
    kind: str
    default: Any


def parameters_of(text: str) -> tuple[Parameter, ...]:
    """`x:tensor dim:dims=None` as parameters: a name, a kind of KINDS, and perhaps a default."""
    found = []
    for part in text.split():
        name, _, rest = part.partition(":")
        kind, equals, default = rest.partition("=")
        found.append(Parameter(name, kind, ast.literal_eval(default) if equals else _REQUIRED))
    return tuple(found)


def bind(
    function: str, parameters: Sequence[Parameter], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by name, each checked. A parameter of the kind `sizes` takes all that are left."""
    left, result = list(args), {}
    if "axis" in named and any(parameter.name == "dim" for parameter in parameters):
        named = {"dim" if name == "axis" else name: value for name, value in named.items()}
    for parameter in parameters:
        if left and parameter.name in named:
            raise Fault(f"{function}() gets {parameter.name} twice.")
        if left and parameter.kind in ("sizes", "param"):
            given: Any = left[0] if len(left) == 1 else tuple(left)
            left = []
        elif left:
            given = left.pop(0)
        else:
            given = named.get(parameter.name, parameter.default)
        if given is _REQUIRED:
            raise Fault(f"{function}() needs {parameter.name}: {signature(function, parameters)}.")
        result[parameter.name] = _checked(function, parameter, given)
    unknown = [name for name in named if name not in result]
    if left or unknown:
        what = f"an argument {unknown[0]}" if unknown else f"{len(args)} arguments"
        raise Fault(f"{function}() does not take {what}: {signature(function, parameters)}.")
    return result


def signature(function: str, parameters: Sequence[Parameter]) -> str:
    """`softmax(x, dim)`, as it may be written."""
    return f"{function}({', '.join(_shown(parameter) for parameter in parameters)})"


def _shown(parameter: Parameter) -> str:
    if parameter.kind in ("sizes", "param"):
        return f"*{parameter.name}"
    return parameter.name if parameter.default is _REQUIRED else f"{parameter.name}={parameter.default!r}"


def _checked(function: str, parameter: Parameter, given: Any) -> Any:
    if given is None and parameter.default is None:
        return None
    accept, wanted = KINDS[parameter.kind]
    taken = accept(given)
    if taken is None:
        raise Fault(f"{function}() wants {wanted} for {parameter.name}, not {described(given)}.")
    return taken


def described(value: Any) -> str:
    """What kind of thing it is, for a sentence."""
    if isinstance(value, Tensor):
        return "a tensor"
    if isinstance(value, bool | int | float | str | None):
        return repr(value) if len(repr(value)) < 40 else type(value).__name__
    return "a list" if isinstance(value, list) else "a tuple" if isinstance(value, tuple) else "this"


# --- kinds: each returns the value as it is to be used, or None where it is of another kind ----------------


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _tensor(value: Any) -> Any:
    if is_number(value):
        return tracer(torch.tensor(float(value)))
    return value if isinstance(value, Tensor) else None


def _operand(value: Any) -> Any:
    return value if isinstance(value, Tensor) or is_number(value) else None


def _index(value: Any) -> Any:
    is_whole = isinstance(value, Tensor) and not value.is_floating_point() and value.dtype != torch.bool
    return value if is_whole else None


def _mask(value: Any) -> Any:
    return value if isinstance(value, Tensor) and value.dtype == torch.bool else None


def _tensors(value: Any) -> Any:
    if isinstance(value, list | tuple) and value and all(isinstance(one, Tensor) for one in value):
        return tuple(value)
    return None


def _dim(value: Any) -> Any:
    return value if is_int(value) and abs(value) <= MAX_DIMS else None


def _dims(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return (
            tuple(value) if len(value) <= MAX_DIMS and all(_dim(one) is not None for one in value) else None
        )
    return _dim(value)


def _sizes(value: Any) -> Any:
    values = value if isinstance(value, list | tuple) else (value,)
    if not all(is_int(one) for one in values):
        return None
    for one in values:
        check_number(one, "a size")
    return tuple(values)


def _sizes_or_numbers(value: Any) -> Any:
    """What T.param takes: sizes, or the weights themselves."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _sizes(value)
    return _nested(value)


def _window(value: Any) -> Any:
    both = (value, value) if is_int(value) else value
    fits = isinstance(both, list | tuple) and len(both) == 2 and all(is_int(one) for one in both)
    return tuple(both) if fits and all(0 <= one <= MAX_WINDOW for one in both) else None


def _number(value: Any) -> Any:
    return value if is_number(value) else None


def _count(value: Any) -> Any:
    return value if is_int(value) and value >= 0 else None


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else None


def _nested(value: Any) -> Any:
    return (
        value
        if isinstance(value, list | tuple | Tensor) or is_number(value) or isinstance(value, bool)
        else None
    )


def _reduction(value: Any) -> Any:
    return value if value in ("mean", "sum", "none") else None


KINDS: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
    "tensor": (_tensor, "a tensor"),
    "operand": (_operand, "a tensor or a number"),
    "index": (_index, "a tensor of whole numbers, such as T.tensor([0, 2]),"),
    "mask": (_mask, "a mask, such as x > 0,"),
    "tensors": (_tensors, "a list of tensors"),
    "dim": (_dim, "a dimension, such as 0 or -1,"),
    "dims": (_dims, "a dimension or several"),
    "sizes": (_sizes, "whole numbers"),
    "param": (_sizes_or_numbers, "sizes, or rows of numbers,"),
    "window": (_window, f"a whole number from 0 to {MAX_WINDOW}, or two"),
    "number": (_number, "a number"),
    "count": (_count, "a whole number that is not negative"),
    "flag": (_flag, "True or False"),
    "numbers": (_nested, "numbers"),
    "reduction": (_reduction, "'mean', 'sum' or 'none'"),
}
