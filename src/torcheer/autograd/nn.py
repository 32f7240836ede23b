"""Layers and models, with torch's names: `import torcheer.autograd.nn as nn`.

Some layers and a loss stand here to be read. Every other one is torch's own class (`of_torch`): what it
computes with a tracer comes to our rules, as every call of torch's does, and its parameters become ours when
they are set (`Module.register_parameter`).
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar, Final, Self, cast

import torch
from torch import Tensor

from torcheer.autograd.engine import tracer
from torcheer.autograd.modes import as_plain, modes, tracing
from torcheer.autograd.torch_calls import CALLS
from torcheer.errors import AutogradError, InputError

init, utils = torch.nn.init, torch.nn.utils
functional: Any = ModuleType(
    f"{__name__}.functional", "torch.nn.functional, for ordinary tensors and tracers."
)

# `import torcheer.autograd.nn.functional as F` finds them as well.
sys.modules.update({f"{__name__}.{one}": globals()[one] for one in ("functional", "init", "utils")})


def _function(name: str) -> Any:
    """One that leads to what calls of torch's by this name lead to; what it gives is a tracer."""
    if name.startswith("_") or not hasattr(torch.nn.functional, name):
        raise AttributeError(f"torch.nn.functional has no {name}, so neither is it here.")
    function = getattr(torch.nn.functional, name)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not tracing():  # in the forward of a rule
            return function(*args, **kwargs)
        return tracer.__torch_function__(function, (), args, kwargs)

    setattr(functional, name, called)
    return called


functional.__getattr__ = _function
functional.__dir__ = lambda: sorted(name for name in CALLS if hasattr(torch.nn.functional, name))


class Parameter(tracer):
    """A tensor that wants a gradient; a module finds it among its attributes."""

    _is_param = True  # isinstance(…, torch.nn.Parameter) asks for it

    @staticmethod
    def __new__(cls: type[Parameter], data: Any, requires_grad: bool = True) -> Parameter:
        return cast(Parameter, tracer.__new__(cls, data, requires_grad=requires_grad))

    def detach(self) -> tracer:  # type: ignore[override]
        """Its values alone, which are no parameter any more: a module that keeps them does not learn them."""
        with as_plain():
            return Tensor._make_subclass(tracer, self)


class LayerCall:
    """One call of a layer: every op in it keeps this, so that they can be shown as one."""

    __slots__ = ("layer",)

    def __init__(self, layer: Module) -> None:
        self.layer = layer

    def __repr__(self) -> str:
        return repr(self.layer)


def _no_backward_hook(self: Module, *args: Any, **kwargs: Any) -> Any:
    raise AutogradError("a module has no hooks on the way back here, a tensor has: x.register_hook(f).")


class Module(torch.nn.Module):
    """The base of all layers and models: torch's, with parameters of ours and a print form of its own."""

    is_one_layer: ClassVar[bool] = False  # shown as one layer although there are modules inside
    register_backward_hook = register_full_backward_hook = _no_backward_hook
    register_full_backward_pre_hook = _no_backward_hook

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # Here and not in __init__, so that a model may set its layers before it calls that, or never call it.
        made = super().__new__(cls)
        super(Module, made).__init__()
        return made

    def __init__(self) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = modes.layer
        if self.is_one_layer or not self._modules:
            modes.layer = LayerCall(self)
        try:
            return super().__call__(*args, **kwargs)
        finally:
            modes.layer = around

    def register_parameter(self, name: str, param: Any) -> None:
        """The same as to set the attribute. One of torch's becomes one of ours, of the same memory."""
        if type(param) is torch.nn.Parameter:
            param = Parameter(param.data, param.requires_grad)
        super().register_parameter(name, param)

    def add_module(self, name: str, module: torch.nn.Module | None) -> None:
        if module is not None:
            _check_is_ours(
                module, f"{type(self).__name__} holds layers of torcheer.autograd.nn, and {name!r}"
            )
        super().add_module(name, module)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        with as_plain():  # another type or device is no op that a gradient goes back through
            return cast(Self, super()._apply(fn, recurse))  # type: ignore[no-untyped-call]

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """All parameters and buffers by name, as ordinary tensors of the same memory: torch reads them."""
        state = super().state_dict(*args, **kwargs)
        if not kwargs.get("keep_vars"):
            state.update({name: one.data for name, one in state.items() if isinstance(one, tracer)})
        return state

    def __repr__(self) -> str:
        inside = self._printed_children()
        if not inside or self.is_one_layer:
            return self._line()
        lines = [f"{self._title()}("]
        for name, module in inside:
            first, *rest = repr(module).split("\n")
            lines += [f"    ({name}):{first}", *(f"    {line}" for line in rest)]
        return "\n".join([*lines, ")"])

    def _title(self) -> str:
        return type(self).__name__

    def _line(self) -> str:
        """A module without others inside, as torch prints it."""
        return f"{self._title()}({self.extra_repr()})"

    def _printed_children(self) -> list[tuple[str, torch.nn.Module]]:
        return [(name, module) for name, module in self._modules.items() if module is not None]


class Model(Module):
    """A module that says of which parts it consists: `construct` returns them in order, for printing."""

    def construct(self) -> Sequence[torch.nn.Module]:
        return list(self.children())

    def _title(self) -> str:
        return "Sequence"

    def _printed_children(self) -> list[tuple[str, torch.nn.Module]]:
        return [(str(place), module) for place, module in enumerate(self.construct())]


def _check_is_ours(module: Any, who: str) -> None:
    if not isinstance(module, Module):
        raise InputError(
            f"{who} is a {type(module).__module__}.{type(module).__name__}: take the layer of that name "
            "here, or write a Module whose forward calls it."
        )


class Sequential(torch.nn.Sequential, Model):
    """One after the other: each gets what the one before it gave."""

    __repr__ = Module.__repr__

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x

    def construct(self) -> Sequence[torch.nn.Module]:
        return list(self)


class Linear(Module):
    """Each output is a weighted sum of all inputs, plus a bias: y = x wᵀ + b."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Any:
        return functional.linear(x, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"Linear layer ({self.in_features} X {self.out_features})"


class ReLU(Module):
    """What is below 0 becomes 0. `inplace` is taken for torch's sake: there is always a new tensor."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Any:
        return functional.relu(x)


class MSELoss(Module):
    """The mean of the squares of all differences; `reduction` says what to make of them instead."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.mse_loss(input, target, reduction=self.reduction)


def causal_mask(num_steps: int) -> Tensor:
    """For attention that may not look ahead: -inf above the diagonal, 0 elsewhere."""
    return torch.full((num_steps, num_steps), -math.inf).triu(1)


_SHORT: Final = {
    "MSE": "MSELoss",
    "L1": "L1Loss",
    "Huber": "HuberLoss",
    "BCE": "BCEWithLogitsLoss",
    "CrossEntropy": "CrossEntropyLoss",
    "NLL": "NLLLoss",
    "MultiHeadAttention": "MultiheadAttention",
}


def of_torch(torchs: type[torch.nn.Module]) -> type[Module]:
    """A layer of torch's whose parameters are ours."""

    @functools.wraps(torchs.__init__)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        for one in (*args, *kwargs.values()):
            if isinstance(one, torch.nn.Module):
                _check_is_ours(one, f"{torchs.__name__} takes layers of torcheer.autograd.nn, and one")
        torchs.__init__(self, *args, **kwargs)
        if getattr(self, "inplace", False):
            self.inplace = False  # there is always a new tensor
        if getattr(self, "dim", 0) is None:
            self.dim = -1  # of a softmax, unless it is said
        for one in self.modules():
            _adopt(one)

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        # What a layer is given may be an ordinary tensor, and what it gives has the methods of a tracer.
        given = [tracer(x) if type(x) is Tensor and x.is_floating_point() else x for x in args]
        return Module.__call__(self, *given, **kwargs)

    return type(
        torchs.__name__,
        (torchs, Module),
        {
            "__doc__": torchs.__doc__,
            "__module__": __name__,
            "__init__": made,
            "__call__": called,
            "__repr__": Module.__repr__,
            "_line": _channels if torchs.__name__.startswith("Conv") else Module._line,
            "is_one_layer": torchs.__name__ == "MultiheadAttention",
        },
    )


def _adopt(module: torch.nn.Module) -> None:
    """A layer that torch made inside of another becomes ours, too, as if it had been made here."""
    if isinstance(module, Module):
        return
    kind = next(one for one in type(module).__mro__ if getattr(torch.nn, one.__name__, None) is one)
    module.__class__ = getattr(sys.modules[__name__], kind.__name__)
    for name, parameter in tuple(module._parameters.items()):
        module.register_parameter(name, parameter)


def _channels(layer: Any) -> str:
    """A convolution is printed as in torchtrace."""
    return f"{type(layer).__name__} {layer.in_channels} -> {layer.out_channels}"


def _is_torchs(name: str) -> bool:
    """Whether torch has a layer of this name. The lazy ones have no parameters when they are made."""
    found = getattr(torch.nn, name, None)
    return isinstance(found, type) and issubclass(found, torch.nn.Module) and not name.startswith("Lazy")


def __getattr__(name: str) -> Any:
    full = _SHORT.get(name, name)
    if full not in globals():
        if not _is_torchs(full):
            raise AttributeError(
                f"torcheer.autograd.nn has no {name}. A layer of your own is a class on nn.Module with a "
                "forward(self, x) that calls functions of torch; its weights are attributes, nn.Parameter(…)."
            )
        globals()[full] = of_torch(getattr(torch.nn, full))
    globals()[name] = globals()[full]
    return globals()[name]


__all__ = ["Model", "Parameter", "causal_mask", "functional", "init", "utils"]
__all__ += [*_SHORT, *filter(_is_torchs, dir(torch.nn))]


def __dir__() -> list[str]:
    return sorted(__all__)
