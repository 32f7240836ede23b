"""A module: parameters, modules inside of it, and a forward that says what it does with an input.

There is no register. Parameters and modules are found by a look at the attributes, in the order in which they
were set, so it does not matter whether `super().__init__()` comes first, last or never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor

from torcheer.autograd.attributes import Hook
from torcheer.autograd.modes import modes
from torcheer.autograd.nn.parameter import Parameter
from torcheer.autograd.nn.states import LoadedKeys, load_state, state_of
from torcheer.errors import InputError

T = TypeVar("T")


class LayerCall:
    """One call of a layer: every op in it keeps this, so that they can be shown as one."""

    __slots__ = ("layer",)

    def __init__(self, layer: Module) -> None:
        self.layer = layer

    def __repr__(self) -> str:
        return repr(self.layer)


def _no_forward(self: Module, *args: Any, **kwargs: Any) -> Any:
    raise InputError(
        f"{type(self).__name__} does not say what it computes: give it a method forward(self, x)."
    )


class Module:
    """The base of all layers and models."""

    is_one_layer: ClassVar[bool] = False  # shown as one layer although there are modules inside
    training: bool = True
    forward: Callable[..., Any] = _no_forward

    # --- running it --------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = modes.layer
        if self.is_one_layer or next(self.children(), None) is None:
            modes.layer = LayerCall(self)
        try:
            hooks = self.__dict__
            for before in tuple(hooks.get("_before_forward", ())):
                changed = before(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
            output = self.forward(*args, **kwargs)
            for after in tuple(hooks.get("_after_forward", ())):
                changed = after(self, args, output)
                output = output if changed is None else changed
            return output
        finally:
            modes.layer = around

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call `hook(module, args)` before each forward; what it returns takes the place of the arguments."""
        return Hook(self.__dict__.setdefault("_before_forward", []), hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call `hook(module, args, output)` after each forward; what it returns is the output then."""
        return Hook(self.__dict__.setdefault("_after_forward", []), hook)

    # --- what is in it -----------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside, each once."""
        seen: set[int] = set()
        for name, value in tuple(self.__dict__.items()):
            if isinstance(value, Module) and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This one and all inside, with their addresses."""
        memo = set() if memo is None else memo
        if remove_duplicate and id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, value in tuple(self.__dict__.items()):
            if isinstance(value, Module):
                address = f"{prefix}.{name}" if prefix else name
                yield from value.named_modules(memo, address, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All that is learned; what is shared comes once, by its first name."""
        yield from self._named(Module._own_parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """What is kept but not learned, like running statistics."""
        yield from self._named(Module._own_buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """The same as to set the attribute."""
        setattr(self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is not learned. One that is not persistent is left out of the state."""
        self.__dict__.setdefault("_buffers", {})[name] = persistent
        setattr(self, name, tensor)

    def add_module(self, name: str, module: Module | None) -> None:
        """The same as to set the attribute, for names that are numbers or come from elsewhere."""
        if not name or "." in name or (hasattr(self, name) and name not in self.__dict__):
            raise InputError(f"{name!r} cannot be the name of a module here: take another.")
        if module is not None and not isinstance(module, Module):
            raise InputError(
                f"{type(self).__name__} holds layers of torcheer.autograd.nn, and {name!r} is a "
                f"{type(module).__module__}.{type(module).__name__}: take the layer of that name here, or "
                "write a Module whose forward calls it."
            )
        setattr(self, name, module)

    def get_submodule(self, target: str) -> Module:
        """The module at an address: `model.get_submodule("layers.0")`."""
        found = dict(self.named_modules(remove_duplicate=False)).get(target)
        if found is None:
            raise AttributeError(f"there is no module {target!r} in this {type(self).__name__}.")
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at an address: `model.get_parameter("layers.0.weight")`."""
        address, _, name = target.rpartition(".")
        found = self.get_submodule(address).__dict__.get(name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"there is no parameter {target!r} in this {type(self).__name__}.")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at an address."""
        address, _, name = target.rpartition(".")
        found = dict(self.get_submodule(address)._own_buffers()).get(name)
        if found is None:
            raise AttributeError(f"there is no buffer {target!r} in this {type(self).__name__}.")
        return found

    def _own_parameters(self) -> list[tuple[str, Parameter]]:
        return [(name, value) for name, value in self.__dict__.items() if isinstance(value, Parameter)]

    def _own_buffers(self, also_passing: bool = True) -> list[tuple[str, Tensor]]:
        names: dict[str, bool] = self.__dict__.get("_buffers", {})
        return [
            (name, self.__dict__[name])
            for name, is_kept in names.items()
            if (is_kept or also_passing) and isinstance(self.__dict__.get(name), Tensor)
        ]

    def _named(
        self,
        own: Callable[[Module], list[tuple[str, T]]],
        prefix: str,
        recurse: bool,
        remove_duplicate: bool,
    ) -> Iterator[tuple[str, T]]:
        seen: set[int] = set()
        places = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        for address, module in places:
            for name, value in own(module):
                if remove_duplicate and id(value) in seen:
                    continue
                seen.add(id(value))
                yield f"{address}.{name}" if address else name, value

    # --- its state ---------------------------------------------------------------------------------------

    def state_dict(self, *, prefix: str = "") -> dict[str, Tensor]:
        """All parameters and buffers by name, as ordinary tensors of the same memory: torch reads them."""
        return state_of(self, prefix)

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> LoadedKeys:
        """Take over the values of such a state, also of torch's. One that does not fit changes nothing."""
        return load_state(self, state_dict, strict)

    # --- for all inside at once --------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else torch.zeros_like(parameter.data)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call it with every module, the innermost first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Another device or type of floats, of all parameters and buffers."""
        probe = torch.empty(0).to(*args, **kwargs)
        is_typed = any(isinstance(one, torch.dtype | Tensor) for one in (*args, *kwargs.values()))
        is_placed = len(args) + len(kwargs) > 1 or not is_typed or any(isinstance(a, Tensor) for a in args)

        def moved(value: Tensor) -> Tensor:
            value = value.to(probe.device) if is_placed else value
            return value.to(probe.dtype) if is_typed and value.is_floating_point() else value

        return self._change(moved)

    def float(self) -> Self:
        return self.to(torch.float32)

    def double(self) -> Self:
        return self.to(torch.float64)

    def half(self) -> Self:
        return self.to(torch.float16)

    def bfloat16(self) -> Self:
        return self.to(torch.bfloat16)

    def cpu(self) -> Self:
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        return self.to("cuda" if device is None else device)

    def _change(self, changed: Callable[[Tensor], Tensor]) -> Self:
        for parameter in self.parameters():
            gradient = parameter.grad
            # In place: optimizers go on with the same parameters.
            parameter.data = changed(parameter.data)
            if gradient is not None:
                parameter.grad = changed(gradient)
        for module in self.modules():
            for name, value in module._own_buffers():
                setattr(module, name, changed(value))
        return self

    # --- printing it -------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands in the brackets of a layer when it is printed."""
        return ""

    def _title(self) -> str:
        return type(self).__name__

    def _printed_children(self) -> list[tuple[str, Module]]:
        return [(name, value) for name, value in self.__dict__.items() if isinstance(value, Module)]

    def __repr__(self) -> str:
        inside = self._printed_children()
        if not inside or self.is_one_layer:
            return f"{self._title()}({self.extra_repr()})"
        lines = [f"{self._title()}("]
        for name, module in inside:
            first, *rest = repr(module).split("\n")
            lines += [f"    ({name}):{first}", *(f"    {line}" for line in rest)]
        return "\n".join([*lines, ")"])


class Model(Module):
    """A module that says of which parts it consists: `construct` returns them in order, for printing."""

    def construct(self) -> list[Module]:
        return list(self.children())

    def _title(self) -> str:
        return "Sequence"

    def _printed_children(self) -> list[tuple[str, Module]]:
        return [(str(place), module) for place, module in enumerate(self.construct())]
