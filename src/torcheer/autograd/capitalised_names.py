"""Each operation of a tensor by a name with capitals, too: `x.Sum()`, `x.View(3, -1)`, `x.LogSoftmax(1)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from torch import Tensor

from torcheer.autograd.engine import tracer
from torcheer.autograd.torch_calls import CALLS, PLAIN
from torcheer.errors import InputError

# Names that have more capitals where they are written with care. The regular ones are there as well.
_BETTER: Final = {
    "MatMul": "matmul",
    "ReLU": "relu",
    "SoftMax": "softmax",
    "LogSoftMax": "log_softmax",
    "LogSumExp": "logsumexp",
    "CumSum": "cumsum",
    "CumProd": "cumprod",
    "TopK": "topk",
}


def capitalised(name: str) -> str:
    """`LogSoftmax` for `log_softmax`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def gather(x: Any, *args: Any, **kwargs: Any) -> Any:
    """`x.Gather(index)`: one element of each row, as a column; `x.Gather(dim, index)` as torch's gather."""
    given = len(args) + len(kwargs)
    index = args[0] if args else kwargs.get("index")
    if given != 1 or not isinstance(index, Tensor):
        return x.gather(*args, **kwargs)
    if x.dim() != 2 or index.dim() != 1 or index.shape[0] != x.shape[0]:
        raise InputError(
            f"Gather(index) takes one place for each row of a matrix: {tuple(index.shape)} does not fit "
            f"{tuple(x.shape)}. For any other, x.Gather(dim, index)."
        )
    return x.gather(1, index.unsqueeze(1))


def _method(name: str) -> Callable[..., Any]:
    def operation(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    operation.__name__ = operation.__qualname__ = capitalised(name)
    operation.__doc__ = f"The same as x.{name}(…)."
    return operation


def install() -> None:
    """Give them to all tracers."""
    names = {}
    for name in sorted({*CALLS, *PLAIN}):
        # The methods of a tensor that we know: they begin small, and write into nothing.
        is_op = name.islower() and not name.startswith("_") and not name.endswith("_") and "." not in name
        if is_op and callable(getattr(Tensor, name, None)):
            names[capitalised(name)] = name
    names |= _BETTER
    for capital, name in names.items():
        if not hasattr(Tensor, capital):  # T is torch's own
            setattr(tracer, capital, _method(name))
    tracer.Gather = gather  # type: ignore[attr-defined]
