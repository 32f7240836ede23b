"""What may be called in an expression: one row a function, with its parameters, what it does and its limits.

Whatever has a tensor as its first parameter can be written as a method, too: `x.sum(dim=0)`. Arguments are
sorted to parameters and checked, and a result that would be too large is refused before it is computed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd import as_plain, drawn, tracer
from torcheer.learn.lesson_document import (
    MAX_DIMS,
    MAX_WINDOW,
    Fault,
    check_number,
    check_shape,
)

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


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Of these each returns the value as it is to be used, or None where it is of another kind.


def _if(test: Callable[[Any], bool]) -> Callable[[Any], Any]:
    return lambda value: value if test(value) else None


def _tensor(value: Any) -> Any:
    if is_number(value):
        return tracer(torch.tensor(float(value)))
    return value if isinstance(value, Tensor) else None


def _is_index(value: Any) -> bool:
    return isinstance(value, Tensor) and not value.is_floating_point() and value.dtype != torch.bool


def _tensors(value: Any) -> Any:
    if isinstance(value, list | tuple) and value and all(isinstance(one, Tensor) for one in value):
        return tuple(value)
    return None


def _is_dim(value: Any) -> bool:
    return is_int(value) and abs(value) <= MAX_DIMS


def _dims(value: Any) -> Any:
    if isinstance(value, list | tuple) and len(value) <= MAX_DIMS and all(map(_is_dim, value)):
        return tuple(value)
    return value if _is_dim(value) else None


def _sizes(value: Any) -> Any:
    values = value if isinstance(value, list | tuple) else (value,)
    if not all(is_int(one) for one in values):
        return None
    for one in values:
        check_number(one, "a size")
    return tuple(values)


def _is_nested(value: Any) -> bool:
    return isinstance(value, bool | int | float | list | tuple | Tensor)


def _window(value: Any) -> Any:
    both = (value, value) if is_int(value) else value
    fits = isinstance(both, list | tuple) and len(both) == 2 and all(is_int(one) for one in both)
    return tuple(both) if fits and all(0 <= one <= MAX_WINDOW for one in both) else None


KINDS: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
    "tensor": (_tensor, "a tensor"),
    "operand": (_if(lambda value: isinstance(value, Tensor) or is_number(value)), "a tensor or a number"),
    "index": (_if(_is_index), "a tensor of whole numbers, such as T.tensor([0, 2]),"),
    "mask": (
        _if(lambda value: isinstance(value, Tensor) and value.dtype == torch.bool),
        "a mask, such as x > 0,",
    ),
    "tensors": (_tensors, "a list of tensors"),
    "dim": (_if(_is_dim), "a dimension, such as 0 or -1,"),
    "dims": (_dims, "a dimension or several"),
    "sizes": (_sizes, "whole numbers"),
    "param": (
        lambda value: _sizes(value) if is_int(value) else _if(_is_nested)(value),
        "sizes, or rows of numbers,",
    ),
    "window": (_window, f"a whole number from 0 to {MAX_WINDOW}, or two"),
    "number": (_if(is_number), "a number"),
    "count": (_if(lambda value: is_int(value) and value >= 0), "a whole number that is not negative"),
    "flag": (_if(lambda value: isinstance(value, bool)), "True or False"),
    "numbers": (_if(_is_nested), "numbers"),
    "reduction": (_if(lambda value: value in ("mean", "sum", "none")), "'mean', 'sum' or 'none'"),
}


class Maker:
    """Makes leaves of one type of floats. Without a seed, those made first, second, … are always alike."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._num_random = 0

    def tensor(self, values: Any, requires_grad: bool) -> tracer:
        """Whole numbers stay whole, for places and classes, unless a gradient is wanted."""
        if isinstance(values, Tensor):
            raise Fault("this is a tensor already.")
        numbers = list(_flat(values, 0))
        check_shape((len(numbers),), "the tensor")
        is_float = requires_grad or any(isinstance(one, float) for one in numbers) or not numbers
        is_mask = bool(numbers) and all(isinstance(one, bool) for one in numbers) and not requires_grad
        dtype = torch.bool if is_mask else self.dtype if is_float else torch.int64
        try:
            made = torch.tensor(values, dtype=dtype)
        except (TypeError, ValueError, RuntimeError):
            raise Fault(
                "rows of a tensor must be equally long: T.tensor([[1.0, 2.0], [3.0, 4.0]])."
            ) from None
        return tracer(made, requires_grad=requires_grad)

    def param(self, sizes: Any, seed: int | None) -> tracer:
        """Weights: as given, or at random. Two digits are enough to learn with, and can be read."""
        if not isinstance(sizes, tuple) or not all(isinstance(one, int) for one in sizes):
            return self.tensor(sizes, True)
        return tracer(self._random(sizes, seed) / 2, requires_grad=True)

    def randn(self, sizes: Sequence[int], seed: int | None, requires_grad: bool) -> tracer:
        return tracer(self._random(sizes, seed), requires_grad=requires_grad)

    def filled(self, sizes: Sequence[int], value: float, requires_grad: bool) -> tracer:
        _check_sizes(sizes)
        return tracer(torch.full(tuple(sizes), value, dtype=self.dtype), requires_grad=requires_grad)

    def eye(self, n: Sequence[int], requires_grad: bool) -> tracer:
        if not 1 <= len(n) <= 2:
            raise Fault("eye() takes the number of rows, and perhaps that of columns.")
        sides = (n[0], n[-1])
        _check_sizes(sides)
        return tracer(torch.eye(*sides, dtype=self.dtype), requires_grad=requires_grad)

    def arange(self, start: float, end: float | None, step: float) -> tracer:
        first, last = (0, start) if end is None else (start, end)
        if not step:
            raise Fault("arange() makes no steps of 0.")
        check_shape((max(0, int((last - first) / step) + 1),), "the range")
        is_whole = all(isinstance(one, int) for one in (first, last, step))
        return tracer(torch.arange(first, last, step, dtype=torch.int64 if is_whole else self.dtype))

    def _random(self, sizes: Sequence[int], seed: int | None) -> Tensor:
        _check_sizes(sizes)
        self._num_random += 1
        return drawn(sizes, self._num_random if seed is None else seed, self.dtype)


def _check_sizes(sizes: Sequence[int]) -> None:
    if any(one < 0 for one in sizes):
        raise Fault("a size is not negative.")
    check_shape(sizes, "the tensor")


def _flat(values: Any, depth: int) -> Iterator[int | float]:
    if isinstance(values, list | tuple):
        if depth == MAX_DIMS:
            raise Fault(f"{MAX_DIMS} dimensions are allowed.")
        for one in values:
            yield from _flat(one, depth + 1)
    elif isinstance(values, int | float):
        check_number(values)
        yield values
    else:
        raise Fault(
            "a tensor is written with numbers: T.tensor([[1.0, 2.0]]); T.stack([a, b]) joins tensors."
        )


def check_size(run: Callable[..., Any], of: Mapping[str, Any]) -> None:
    """Refuse a result that would be too large. It is computed on meta tensors, which hold no numbers.

    What torch says of arguments that do not fit is raised here.
    """
    with as_plain():
        try:
            result = run(**{name: _without_numbers(value) for name, value in of.items()})
        except NotImplementedError:
            return  # a mask, which chooses some of what is there
    check_shape(result.shape, "the result")


def _without_numbers(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.empty(value.shape, dtype=value.dtype, device="meta")
    if isinstance(value, list | tuple):
        return type(value)(_without_numbers(one) for one in value)
    return value


class Function(NamedTuple):
    """What may be called."""

    name: str
    parameters: tuple[Parameter, ...]
    run: Callable[..., Any]  # of its arguments by name
    group: str

    @property
    def is_method(self) -> bool:
        return bool(self.parameters) and self.parameters[0].kind in ("tensor", "operand", "mask", "index")

    @property
    def shown(self) -> str:
        return signature(self.name, self.parameters)


FUNCTIONS: Final[dict[str, Function]] = {}
MAKERS: Final[dict[str, Function]] = {}  # those of leaves: `run` gets a Maker first


def _row(group: str, names: str, takes: str, run: Callable[..., Any] | None = None) -> None:
    """Functions of torch's that take these in this order, unless `run` says what to do."""
    for name in names.split():
        FUNCTIONS[name] = Function(name, parameters_of(takes), run or _of_torch(name), group)


def _maker(name: str, takes: str, run: Callable[..., tracer]) -> None:
    MAKERS[name] = Function(name, parameters_of(takes), run, "tensors")


def floats(*values: Any) -> list[Any]:
    """Whole numbers among floats become floats: a product of matrices wants one type."""
    kinds = [one.dtype for one in values if isinstance(one, Tensor) and one.is_floating_point()]
    return [one.to(kinds[0]) if kinds and isinstance(one, Tensor) else one for one in values]


def _of_torch(name: str) -> Callable[..., Any]:
    """A call of torch's, which the engine hears of where there is a tracer in it."""
    op: Callable[..., Any] = getattr(F, name, None) or getattr(torch, name)
    return lambda **of: op(*of.values())


# fmt: off

_maker("tensor", "values:numbers requires_grad:flag=False", Maker.tensor)
_maker("param", "sizes:param seed:count=None", Maker.param)
_maker("randn", "sizes:sizes seed:count=None requires_grad:flag=False", Maker.randn)
_maker("zeros", "sizes:sizes requires_grad:flag=False", partial(Maker.filled, value=0.0))
_maker("ones", "sizes:sizes requires_grad:flag=False", partial(Maker.filled, value=1.0))
_maker("eye", "n:sizes requires_grad:flag=False", Maker.eye)
_maker("arange", "start:number end:number=None step:number=1", Maker.arange)


_row("element by element", "abs exp expm1 log log1p sqrt rsqrt square reciprocal neg sign floor ceil sin cos "
     "tan atan asin tanh sigmoid relu silu gelu softplus logsigmoid erf", "x:tensor")
_row("element by element", "leaky_relu", "x:tensor slope:number=0.01")
_row("element by element", "clamp", "x:tensor min:number=None max:number=None")
_row("element by element", "add sub mul div pow", "a:tensor b:operand")
_row("element by element", "maximum minimum", "a:tensor b:tensor")
_row("element by element", "where", "mask:mask a:operand b:operand")
_row("element by element", "masked_fill", "x:tensor mask:mask value:number")
_row("element by element", "float", "x:tensor", lambda x: x.to(torch.float32))
_row("element by element", "detach clone", "x:tensor")


_row("sums", "sum mean", "x:tensor dim:dims=None keepdim:flag=False")
_row("sums", "amax amin", "x:tensor dim:dims=() keepdim:flag=False")
_row("sums", "max min", "x:tensor")
_row("sums", "var std", "x:tensor dim:dims=None unbiased:flag=True keepdim:flag=False")
_row("sums", "logsumexp", "x:tensor dim:dims keepdim:flag=False")
_row("sums", "cumsum softmax log_softmax", "x:tensor dim:dim")
_row("sums", "argmax", "x:tensor dim:dim=None")


_row("shapes", "reshape view", "x:tensor sizes:sizes", lambda x, sizes: x.reshape(sizes))
_row("shapes", "flatten", "x:tensor start_dim:dim=0")
_row("shapes", "transpose", "x:tensor dim0:dim dim1:dim")
_row("shapes", "permute", "x:tensor dims:sizes")
_row("shapes", "t", "x:tensor")
_row("shapes", "squeeze unsqueeze", "x:tensor dim:dim")
_row("shapes", "expand", "x:tensor sizes:sizes", lambda x, sizes: x.expand(sizes))
_row("shapes", "repeat", "x:tensor sizes:sizes", lambda x, sizes: x.repeat(sizes))
_row("shapes", "flip", "x:tensor dims:sizes")
_row("shapes", "cat", "tensors:tensors dim:dim=0", lambda tensors, dim: torch.cat(floats(*tensors), dim))
_row("shapes", "stack", "tensors:tensors dim:dim=0", lambda tensors, dim: torch.stack(floats(*tensors), dim))
_row("shapes", "tril", "x:tensor diagonal:dim=0")


_row("picking", "gather", "x:tensor dim:dim index:index")
_row("picking", "embedding", "index:index weight:tensor")
_row("picking", "one_hot", "index:index num_classes:count")


_row("layers", "matmul dot", "a:tensor b:tensor", lambda a, b: torch.matmul(*floats(a, b)))
_row("layers", "linear", "x:tensor weight:tensor bias:tensor=None",
     lambda x, weight, bias: F.linear(*floats(x, weight, bias)))
_row("layers", "conv2d", "x:tensor weight:tensor bias:tensor=None stride:window=(1,1) padding:window=(0,0) "
     "dilation:window=(1,1)", lambda x, weight, bias, **how: F.conv2d(*floats(x, weight, bias), **how))
_row("layers", "max_pool2d avg_pool2d", "x:tensor kernel_size:window stride:window=None padding:window=(0,0)")
_row("layers", "layer_norm", "x:tensor shape:sizes weight:tensor=None bias:tensor=None eps:number=1e-05")
_row("layers", "cross_entropy", "x:tensor target:tensor reduction:reduction='mean'",
     lambda x, target, reduction: F.cross_entropy(x, target, reduction=reduction))
_row("layers", "nll_loss", "x:tensor target:index reduction:reduction='mean'",
     lambda x, target, reduction: F.nll_loss(x, target, reduction=reduction))
for loss in (F.mse_loss, F.l1_loss, F.binary_cross_entropy_with_logits):
    _row("layers", loss.__name__, "a:tensor b:tensor reduction:reduction='mean'",
         lambda a, b, reduction, op=loss: op(*floats(a, b), reduction=reduction))
# fmt: on

ATTRIBUTES: Final[Mapping[str, Callable[[Tensor], Any]]] = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "shape": lambda x: tuple(x.shape),
    "ndim": lambda x: x.dim(),
}


def functions_text() -> list[str]:
    """What may be written, a line each, for the page. Statements are the last: an answer has none."""
    lines = [f"tensors: {', '.join(f'T.{one.shown}' for one in MAKERS.values())}"]
    groups: dict[str, list[str]] = {}
    for one in FUNCTIONS.values():
        groups.setdefault(one.group, []).append(one.shown)
    lines += [f"{group}: {', '.join(shown)}" for group, shown in groups.items()]
    lines.append("calls: exp(x), T.exp(x) and x.exp() are the same")
    lines.append(
        "operators: + - * / ** @, comparisons for masks, & | ~ on masks, x[…] with slices, .T .mT .shape"
    )
    lines.append("statements: a = …, a, b = …, for i in range(n): …, loss.backward()")
    return lines
