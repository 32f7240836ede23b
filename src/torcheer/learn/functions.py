"""What may be called in an expression: one row a function, with its parameters, what it does and its size.

Whatever has a tensor as its first parameter can be written as a method, too: `x.sum(dim=0)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd.engine import tracer
from torcheer.learn import sizing
from torcheer.learn.arguments import Parameter, parameters_of, signature
from torcheer.learn.making import Maker

Size = Callable[[Mapping[str, Any]], None]


class Function(NamedTuple):
    """What may be called."""

    name: str
    parameters: tuple[Parameter, ...]
    run: Callable[..., Any]  # of its arguments by name
    size: Size  # refuses what would be too large
    group: str

    @property
    def is_method(self) -> bool:
        return bool(self.parameters) and self.parameters[0].kind in ("tensor", "operand", "mask", "index")

    @property
    def shown(self) -> str:
        return signature(self.name, self.parameters)


FUNCTIONS: Final[dict[str, Function]] = {}
MAKERS: Final[dict[str, Function]] = {}  # those of leaves: `run` gets a Maker first


def _row(group: str, name: str, takes: str, run: Callable[..., Any], size: Size = sizing.same) -> None:
    FUNCTIONS[name] = Function(name, parameters_of(takes), run, size, group)


def _maker(name: str, takes: str, run: Callable[..., tracer]) -> None:
    MAKERS[name] = Function(name, parameters_of(takes), run, sizing.same, "tensors")


def floats(*values: Any) -> list[Any]:
    """Whole numbers among floats become floats: a product of matrices wants one type."""
    kinds = [one.dtype for one in values if isinstance(one, Tensor) and one.is_floating_point()]
    return [one.to(kinds[0]) if kinds and isinstance(one, Tensor) else one for one in values]


# --- calls of torch's, which the engine hears of where there is a tracer in them ---------------------------


def _of_torch(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(torch, name, None) or getattr(F, name)
    return found


def _of_one(name: str) -> Callable[..., Any]:
    op = _of_torch(name)
    return lambda x: op(x)


def _of_two(name: str) -> Callable[..., Any]:
    op = _of_torch(name)
    return lambda a, b: op(a, b)


def _over_dims(name: str) -> Callable[..., Any]:
    op = _of_torch(name)
    return lambda x, dim, keepdim: op(x, dim=dim, keepdim=keepdim)


def _loss(name: str) -> Callable[..., Any]:
    op: Callable[..., Any] = getattr(F, name)  # torch itself has others by these names
    return lambda a, b, reduction: op(*floats(a, b), reduction=reduction)


def _pool(name: str) -> Callable[..., Any]:
    op: Callable[..., Any] = getattr(F, name)
    return lambda x, kernel_size, stride, padding: op(x, kernel_size, stride, padding)


def _conv2d(x: Tensor, weight: Tensor, bias: Tensor | None, **how: Any) -> Any:
    x, weight, bias = floats(x, weight, bias)
    return F.conv2d(x, weight, bias, **how)


# fmt: off
# --- tensors ---------------------------------------------------------------------------------------------

_maker("tensor", "values:numbers requires_grad:flag=False", Maker.tensor)
_maker("param", "sizes:param seed:count=None", Maker.param)
_maker("randn", "sizes:sizes seed:count=None requires_grad:flag=False", Maker.randn)
_maker("zeros", "sizes:sizes requires_grad:flag=False", partial(Maker.filled, value=0.0))
_maker("ones", "sizes:sizes requires_grad:flag=False", partial(Maker.filled, value=1.0))
_maker("eye", "n:sizes requires_grad:flag=False", Maker.eye)
_maker("arange", "start:number end:number=None step:number=1", Maker.arange)

# --- element by element ----------------------------------------------------------------------------------

for name in ("abs exp expm1 log log1p sqrt rsqrt square reciprocal neg sign floor ceil sin cos tan atan asin "
             "tanh sigmoid relu silu gelu softplus logsigmoid erf").split():
    _row("element by element", name, "x:tensor", _of_one(name))
_row("element by element", "leaky_relu", "x:tensor slope:number=0.01",
     lambda x, slope: F.leaky_relu(x, slope))
_row("element by element", "clamp", "x:tensor min:number=None max:number=None",
     lambda x, min, max: torch.clamp(x, min=min, max=max))
for name in "add sub mul div pow".split():
    _row("element by element", name, "a:tensor b:operand", _of_two(name), sizing.elementwise)
for name in "maximum minimum".split():
    _row("element by element", name, "a:tensor b:tensor", _of_two(name), sizing.elementwise)
_row("element by element", "where", "mask:mask a:operand b:operand",
     lambda mask, a, b: torch.where(mask, a, b), sizing.elementwise)
_row("element by element", "masked_fill", "x:tensor mask:mask value:number",
     lambda x, mask, value: x.masked_fill(mask, value), sizing.elementwise)
_row("element by element", "float", "x:tensor", lambda x: x.to(torch.float32))
_row("element by element", "detach", "x:tensor", lambda x: x.detach())
_row("element by element", "clone", "x:tensor", lambda x: torch.clone(x))

# --- sums and their like ---------------------------------------------------------------------------------

_row("sums", "sum", "x:tensor dim:dims=None keepdim:flag=False", _over_dims("sum"))
_row("sums", "mean", "x:tensor dim:dims=None keepdim:flag=False", _over_dims("mean"))
_row("sums", "amax", "x:tensor dim:dims=() keepdim:flag=False", _over_dims("amax"))
_row("sums", "amin", "x:tensor dim:dims=() keepdim:flag=False", _over_dims("amin"))
_row("sums", "max", "x:tensor", lambda x: torch.amax(x, dim=()))
_row("sums", "min", "x:tensor", lambda x: torch.amin(x, dim=()))
_row("sums", "var", "x:tensor dim:dims=None unbiased:flag=True keepdim:flag=False",
     lambda x, dim, unbiased, keepdim: torch.var(x, dim=dim, unbiased=unbiased, keepdim=keepdim))
_row("sums", "std", "x:tensor dim:dims=None unbiased:flag=True keepdim:flag=False",
     lambda x, dim, unbiased, keepdim: torch.std(x, dim=dim, unbiased=unbiased, keepdim=keepdim))
_row("sums", "logsumexp", "x:tensor dim:dims keepdim:flag=False", _over_dims("logsumexp"))
_row("sums", "cumsum", "x:tensor dim:dim", lambda x, dim: torch.cumsum(x, dim))
_row("sums", "softmax", "x:tensor dim:dim", lambda x, dim: torch.softmax(x, dim))
_row("sums", "log_softmax", "x:tensor dim:dim", lambda x, dim: torch.log_softmax(x, dim))
_row("sums", "argmax", "x:tensor dim:dim=None", lambda x, dim: torch.argmax(x, dim))

# --- shapes ----------------------------------------------------------------------------------------------

for name in "reshape view".split():
    _row("shapes", name, "x:tensor sizes:sizes", lambda x, sizes: x.reshape(sizes), sizing.renewed)
_row("shapes", "flatten", "x:tensor start_dim:dim=0", lambda x, start_dim: torch.flatten(x, start_dim))
_row("shapes", "transpose", "x:tensor dim0:dim dim1:dim",
     lambda x, dim0, dim1: torch.transpose(x, dim0, dim1))
_row("shapes", "permute", "x:tensor dims:sizes", lambda x, dims: torch.permute(x, dims))
_row("shapes", "t", "x:tensor", lambda x: torch.t(x))
_row("shapes", "squeeze", "x:tensor dim:dim", lambda x, dim: torch.squeeze(x, dim))
_row("shapes", "unsqueeze", "x:tensor dim:dim", lambda x, dim: torch.unsqueeze(x, dim), sizing.one_more)
_row("shapes", "expand", "x:tensor sizes:sizes", lambda x, sizes: x.expand(sizes), sizing.stretched)
_row("shapes", "repeat", "x:tensor sizes:sizes", lambda x, sizes: x.repeat(sizes), sizing.repeated)
_row("shapes", "flip", "x:tensor dims:sizes", lambda x, dims: torch.flip(x, dims))
_row("shapes", "cat", "tensors:tensors dim:dim=0", lambda tensors, dim: torch.cat(floats(*tensors), dim),
     sizing.joined)
_row("shapes", "stack", "tensors:tensors dim:dim=0", lambda tensors, dim: torch.stack(floats(*tensors), dim),
     sizing.joined)
_row("shapes", "tril", "x:tensor diagonal:dim=0", lambda x, diagonal: torch.tril(x, diagonal))

# --- some of the numbers ---------------------------------------------------------------------------------

_row("picking", "gather", "x:tensor dim:dim index:index", lambda x, dim, index: torch.gather(x, dim, index),
     sizing.picked)
_row("picking", "embedding", "index:index weight:tensor", lambda index, weight: F.embedding(index, weight),
     sizing.embedded)
_row("picking", "one_hot", "index:index num_classes:count",
     lambda index, num_classes: F.one_hot(index, num_classes), sizing.one_hot)

# --- products and layers ---------------------------------------------------------------------------------

for name in "matmul dot".split():
    _row("layers", name, "a:tensor b:tensor", lambda a, b: torch.matmul(*floats(a, b)), sizing.product)
_row("layers", "linear", "x:tensor weight:tensor bias:tensor=None",
     lambda x, weight, bias: F.linear(*floats(x, weight, bias)), sizing.linear)
_row("layers", "conv2d", "x:tensor weight:tensor bias:tensor=None stride:window=(1,1) padding:window=(0,0) "
     "dilation:window=(1,1)", _conv2d, sizing.convolved)
for name in "max_pool2d avg_pool2d".split():
    _row("layers", name, "x:tensor kernel_size:window stride:window=None padding:window=(0,0)", _pool(name),
         sizing.pooled)
_row("layers", "layer_norm", "x:tensor shape:sizes weight:tensor=None bias:tensor=None eps:number=1e-05",
     lambda x, shape, weight, bias, eps: F.layer_norm(x, shape, weight, bias, eps))
_row("layers", "cross_entropy", "x:tensor target:tensor reduction:reduction='mean'",
     lambda x, target, reduction: F.cross_entropy(x, target, reduction=reduction))
_row("layers", "nll_loss", "x:tensor target:index reduction:reduction='mean'",
     lambda x, target, reduction: F.nll_loss(x, target, reduction=reduction))
for name in "mse_loss l1_loss binary_cross_entropy_with_logits".split():
    _row("layers", name, "a:tensor b:tensor reduction:reduction='mean'", _loss(name), sizing.elementwise)
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
