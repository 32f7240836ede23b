"""Find out what connects recorded layers: which module read what was recorded, and gave what was, and how."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from math import prod
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torcheer.capture import collect_tensors, unwrapped
from torcheer.netview.forms import front_padding
from torcheer.run import Connection, NetLayer

_HANDING_ON: Final = (
    nn.Identity,
    nn.Flatten,
    nn.Unflatten,
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
)
_CONVOLUTIONS: Final = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED: Final = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def _form_of(weight: str, module: nn.Module, source: NetLayer, target: NetLayer) -> Connection | None:
    """`weight` names its series. None where the form is not known, or does not fit the two layers."""
    if source.has_items != target.has_items or "weight" not in module._parameters:
        return None  # a weight that is computed is no parameter
    bias = "" if getattr(module, "bias", None) is None else None  # else found by the name of the weight
    names: dict[str, Any] = {"source": source.name, "target": target.name, "weight": weight, "bias": bias}
    if isinstance(module, nn.Linear):
        num_rows, rest = divmod(prod(source.shape), module.in_features)
        fits = not rest and prod(target.shape) == num_rows * module.out_features
        return Connection(form="linear", **names) if fits else None
    if isinstance(module, nn.Embedding):
        fits = list(target.shape) == [*source.shape, module.embedding_dim]
        return Connection(form="embedding", **names) if fits else None
    if isinstance(module, _CONVOLUTIONS + _TRANSPOSED):
        return _convolution(module, source, target, names)
    return None


def _convolution(module: Any, source: NetLayer, target: NetLayer, names: dict[str, Any]) -> Connection | None:
    num_dims = len(module.kernel_size)
    if module.padding_mode != "zeros" or not len(source.shape) == num_dims + 1 == len(target.shape):
        return None
    if source.shape[0] != module.in_channels or target.shape[0] != module.out_channels:
        return None
    return Connection(
        form="transposed_conv" if isinstance(module, _TRANSPOSED) else "conv",
        stride=list(module.stride),
        padding=list(front_padding(module.padding, module.kernel_size, module.dilation)),
        dilation=list(module.dilation),
        groups=module.groups,
        **names,
    )


_MOST_HELD: Final = 4096  # calls, and tensors that were recorded


class _Call(NamedTuple):
    """One call of a module. The tensors are held, so that their memory is nobody else's meanwhile."""

    address: str
    module: nn.Module
    read: tuple[Tensor, ...]
    gave: tuple[Tensor, ...]
    place: int  # among the calls and what was recorded


class _Met(NamedTuple):
    layer: str
    tensor: Tensor
    place: int


class Matching:
    """Hooks on the modules of a model for a pass or two, until it is known what reads what."""

    def __init__(self) -> None:
        self._handles: list[RemovableHandle] = []
        self._names: dict[int, str] = {}  # of parameters, by their id: one that is shared has its first
        self._calls: list[_Call] = []
        self._met: list[_Met] = []

    @property
    def is_on(self) -> bool:
        return bool(self._handles)

    def start(self, model: nn.Module) -> None:
        if self._handles:
            return
        self._names = {id(param): name for name, param in unwrapped(model).named_parameters()}
        for address, module in unwrapped(model).named_modules():
            if not isinstance(module, torch.jit.ScriptModule) and not any(True for _ in module.children()):
                hook = _Hook(weakref.ref(self), address)
                self._handles.append(module.register_forward_hook(hook))

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.forget()

    def forget(self) -> None:
        """Let go of the tensors of a pass."""
        self._calls.clear()
        self._met.clear()

    def _make_room(self) -> None:
        """A model that runs on and on without a moment must not pile up its tensors."""
        if len(self._calls) + len(self._met) >= _MOST_HELD:
            self.forget()

    def see(self, address: str, module: nn.Module, args: Any, output: Any) -> None:
        self._make_room()
        read, gave = tuple(collect_tensors(args)), tuple(collect_tensors(output))
        self._calls.append(_Call(address, module, read, gave, len(self._calls) + len(self._met)))

    def met(self, layer: str, tensor: Tensor) -> None:
        if self._handles:
            self._make_room()
            self._met.append(_Met(layer, tensor, len(self._calls) + len(self._met)))

    # --- what it comes to ----------------------------------------------------------------------------

    def connections(self, layers: Iterable[NetLayer]) -> list[Connection]:
        shapes = {layer.name: layer for layer in layers}
        found: dict[tuple[str, str], Connection] = {}
        for call in self._calls:
            target = self._recorded_as(call.gave, after=call.place)
            if target is None or target not in shapes:
                continue
            for tensor in call.read[:1]:
                source, is_exact = self._source(tensor, call.place)
                if source is None or source == target or source not in shapes:
                    continue
                connection = Connection(source=source, target=target, form="other")
                if is_exact:
                    weight = self._weight_of(call)
                    connection = _form_of(weight, call.module, shapes[source], shapes[target]) or connection
                found.setdefault((source, target), connection)
        return list(found.values())

    def _weight_of(self, call: _Call) -> str:
        """The name of the series: tied weights are recorded once."""
        own = f"{call.address}.weight" if call.address else "weight"
        return self._names.get(id(call.module._parameters.get("weight")), own)

    def _recorded_as(self, tensors: tuple[Tensor, ...], after: int) -> str | None:
        """The layer as which a result was recorded, before another module wrote over it."""
        for met in self._met:
            if met.place > after and any(_is_same(met.tensor, tensor) for tensor in tensors):
                return met.layer
        return None

    def _source(self, tensor: Tensor, before: int) -> tuple[str | None, bool]:
        """The layer that a tensor was recorded as: itself, or what it was made of. Are these its values?"""
        is_exact = True
        while True:
            for met in reversed(self._met):
                if met.place < before and _is_same(met.tensor, tensor):
                    return met.layer, is_exact
            maker = self._maker(tensor, before)
            if maker is None or not maker.read:
                return None, False
            is_exact = is_exact and isinstance(maker.module, _HANDING_ON)
            tensor, before = maker.read[0], maker.place

    def _maker(self, tensor: Tensor, before: int) -> _Call | None:
        for call in reversed(self._calls):
            if call.place < before and any(_is_same(gave, tensor) for gave in call.gave):
                return call
        return None


class _Hook:
    """On one module. A model that is copied or saved meanwhile takes one along that only removes itself."""

    def __init__(self, matching: weakref.ref[Matching], address: str) -> None:
        self._matching = matching
        self._address = address

    def __call__(self, module: nn.Module, args: Any, output: Any) -> None:
        alive = self._matching()
        if alive is not None and not torch.compiler.is_compiling():
            alive.see(self._address, module, args, output)

    def __reduce__(self) -> tuple[Any, ...]:
        return _for_a_copy, ()


def _for_a_copy() -> Any:
    return remove_itself


def remove_itself(module: nn.Module, _args: Any, _output: Any) -> None:
    for number, hook in list(module._forward_hooks.items()):
        if hook is remove_itself:
            del module._forward_hooks[number]


def _is_same(one: Tensor, other: Tensor) -> bool:
    """The same numbers in the same memory; a view in another shape will do, one in another order will not."""
    if one is other:
        return True
    try:
        return (
            one.numel() == other.numel()
            and one.data_ptr() == other.data_ptr()
            and one.data_ptr() != 0
            and one.is_contiguous() == other.is_contiguous()
            and (one.is_contiguous() or one.stride() == other.stride())
        )
    except RuntimeError:  # a tensor without memory of its own
        return False
