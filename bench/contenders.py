"""What is compared: a forward pass, ways of keeping what it makes, and the captures."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import torcheer as tl
from torcheer.capture import OpenCopies

BARE = "bare"
KEEP_OUTPUTS = "keeps outputs"
KEEP_VALUES = "keeps values"
HOOKS = "module hooks"
RECORDED = "torcheer, recorded"
OURS = "torcheer"
TORCHLENS = "TorchLens"

EXPLAINED = {
    BARE: "the forward pass, nothing else",
    KEEP_OUTPUTS: "a function mode that appends every tensor a torch call returns to a list, as it is: an "
    "in-place op later changes it, and nothing is seen of what `F.multi_head_attention_forward` and its like "
    "make inside",
    KEEP_VALUES: "the same, but it looks inside such functions and clones what an in-place op is about to "
    "overwrite: the least that keeping every value can cost",
    HOOKS: "a forward hook on every leaf module that keeps its output as it is",
    RECORDED: "`log_forward_pass`, all saved; graph and labels left until they are asked for",
    OURS: "`log_forward_pass`, all saved, graph and labels built",
    TORCHLENS: "`torchlens.trace` with its defaults (all saved), in a process of its own, since it leaves "
    "torch patched; its time is set against the bare forward of the same round",
}

Run = Callable[[], Any]


def in_this_process(model: nn.Module, inputs: Any) -> dict[str, Run]:
    """Each contender as a call; what it returns is whatever it keeps."""
    return {
        BARE: lambda: model(inputs),
        KEEP_OUTPUTS: lambda: keep_outputs(model, inputs),
        KEEP_VALUES: lambda: keep_values(model, inputs),
        HOOKS: lambda: keep_by_hooks(model, inputs),
        RECORDED: lambda: tl.log_forward_pass(model, inputs),
        OURS: lambda: capture_and_build(model, inputs),
    }


def capture_and_build(model: nn.Module, inputs: Any) -> tl.ModelHistory:
    history = tl.log_forward_pass(model, inputs)
    history.layer_labels  # noqa: B018
    history._structure.children  # noqa: B018
    return history


def keep_outputs(model: nn.Module, inputs: Any) -> list[Tensor]:
    mode = KeepingOutputs()
    with mode:
        model(inputs)
    return mode.kept


def keep_values(model: nn.Module, inputs: Any) -> list[Tensor]:
    mode = KeepingValues()
    with mode:
        model(inputs)
    return mode.kept


def keep_by_hooks(model: nn.Module, inputs: Any) -> list[Any]:
    kept: list[Any] = []

    def keep(_module: nn.Module, _args: Any, output: Any) -> None:
        kept.append(output)

    leaves = [module for module in model.modules() if not any(module.children())]
    handles = [module.register_forward_hook(keep) for module in leaves]
    try:
        model(inputs)
    finally:
        for handle in handles:
            handle.remove()
    return kept


class KeepingOutputs(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **kwargs) if kwargs else func(*args)
        if isinstance(out, Tensor):
            self.kept.append(out)
        elif type(out) is tuple or type(out) is list:
            self.kept.extend(item for item in out if isinstance(item, Tensor))
        return out


class KeepingValues(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Tensor] = []
        self._place: dict[int, int] = {}  # id of a kept tensor -> where it stands
        self._copies = OpenCopies()
        self._inside: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if type(func) is FunctionType and func is not self._inside:
            return self._look_inside(func, args, kwargs)
        if writes(func, kwargs) and args:
            self._save_from_writing(args[0])
        out = func(*args, **kwargs)
        if isinstance(out, Tensor):
            self._place[id(out)] = len(self.kept)
            self.kept.append(out)
        elif type(out) is tuple or type(out) is list:
            self.kept.extend(item for item in out if isinstance(item, Tensor))
        return out

    def _look_inside(self, func: FunctionType, args: Any, kwargs: dict[str, Any]) -> Any:
        outer, self._inside = self._inside, func
        try:
            with self:
                return self._copies.copy_of(func)(*args, **kwargs)
        finally:
            self._inside = outer

    def _save_from_writing(self, target: Any) -> None:
        place = self._place.get(id(target))
        if place is not None:
            self.kept[place] = target.clone()


def writes(func: Any, kwargs: dict[str, Any]) -> bool:
    name = getattr(func, "__name__", "")
    return (name.endswith("_") and not name.endswith("__")) or name in ("__setitem__", "__iadd__", "__imul__")


def tensors_kept(result: Any) -> list[Tensor]:
    """The tensors that a contender held on to."""
    if isinstance(result, tl.ModelHistory):
        return [value for value in result._tape.values if value is not None]
    if isinstance(result, list):
        return [item for item in result if isinstance(item, Tensor)]
    return []


def megabytes(tensors: list[Tensor]) -> float:
    """Of the memory that the tensors lie on, counted once; what the model has anyway counts too."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values()) / 1e6
