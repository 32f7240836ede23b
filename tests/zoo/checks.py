"""Look at a model from outside, without torcheer, so that what was captured can be compared with it."""

from __future__ import annotations

import copy
import functools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

from tests.zoo.specimen import Example, Specimen

# What may stand at the head of a graph: calls that make a tensor out of no other. (Longformer divides two
# Python numbers with torch.div.)
FACTORIES = frozenset(
    "arange as_tensor div empty eye from_numpy full linspace ones rand randint randn randperm scalar_tensor "
    "tensor tril_indices triu_indices zeros hann_window".split()
)


def prepare(specimen: Specimen, *, number: int) -> list[Example]:
    """So many equal examples of one model."""
    first = _built(specimen)
    if specimen.copies:
        return [first, *(Example(*copy.deepcopy(tuple(first))) for _ in range(number - 1))]
    return [first, *(_built(specimen) for _ in range(number - 1))]


def _built(specimen: Specimen) -> Example:
    seed(0)
    example = specimen.build()
    stir(example.model)
    example.model.train(specimen.training)
    return example


def stir(model: nn.Module) -> None:
    """Move every weight away from the constant it was born with: a zero hides what flows through it."""
    running = {
        f"{address}.{name}": buffer
        for address, module in model.named_modules()
        for name, buffer in module.named_buffers(recurse=False)
        if name in ("running_mean", "running_var")
    }
    with torch.no_grad():
        for tensor in (*model.parameters(), *running.values()):
            if (
                tensor.is_floating_point()
                and tensor.numel() > 1
                and bool((tensor == tensor.flatten()[0]).all())
            ):
                tensor.add_(0.1 * torch.rand_like(tensor))


def seed(number: int) -> None:
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def forget(model: nn.Module) -> None:
    """Empty the caches that its code keeps for the whole process, so that every pass is a first one."""
    homes = {kind.__module__ for module in model.modules() for kind in type(module).__mro__}
    spaces = [vars(sys.modules[home]) for home in homes if home.startswith(("timm", "transformers"))]
    spaces += [vars(kind) for space in list(spaces) for kind in space.values() if isinstance(kind, type)]
    for value in (value for space in spaces for value in space.values()):
        function = getattr(value, "__func__", value)
        held = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        for cached in (function, *held):
            if isinstance(cached, functools._lru_cache_wrapper):
                cached.cache_clear()


def tensors_of(value: Any) -> Iterator[Tensor]:
    """The tensors in an output, whatever they are wrapped in."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_of(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors_of(getattr(value, field.name))
    elif hasattr(value, "__dict__"):
        yield from tensors_of(vars(value))


# --- a plain forward --------------------------------------------------------------------------


class Idle(TorchFunctionMode):
    """Does nothing. nn.MultiheadAttention and its like leave their fused path while any mode is on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What a forward leaves behind besides its output."""

    random: tuple[Any, ...]
    buffers: dict[str, Tensor]
    flags: dict[str, tuple[bool, ...]]


def traces(model: nn.Module) -> Traces:
    name, keys, *rest = np.random.get_state()
    flags = {f"{address} (module)": (m.training, _has_hooks(m)) for address, m in model.named_modules()}
    flags |= {
        address: (p.requires_grad, p.is_leaf and p.grad is not None)
        for address, p in model.named_parameters()
    }
    return Traces(
        random=(random.getstate(), name, keys.tolist(), *rest, torch.get_rng_state().tolist()),
        buffers={address: buffer.clone() for address, buffer in model.named_buffers()},
        flags=flags,
    )


def _has_hooks(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A forward with nothing of torcheer near it."""

    outputs: list[Tensor]
    traces: Traces


def run_plain(example: Example) -> Plain:
    with Idle():
        result = example.model(*example.args, **example.kwargs)
    return Plain(outputs=list(tensors_of(result)), traces=traces(example.model))


# --- what torch itself knows of a forward --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Three things that the graph of a pass must agree with."""

    module_calls: Counter[str]
    params_reached: set[str]  # parameters that autograd finds behind the outputs
    num_flops: int  # of matrix products, convolutions and attention, by torch's own counter


def unwrapped(model: nn.Module) -> nn.Module:
    """What torch.compile or DataParallel was put around: addresses start there."""
    if isinstance(model, nn.DataParallel):
        return model.module
    inner = getattr(model, "_orig_mod", model)
    assert isinstance(inner, nn.Module)
    return inner


def survey(example: Example) -> Survey:
    model, root = example.model, unwrapped(example.model)
    names = {id(module): address for address, module in root.named_modules()}
    calls: Counter[str] = Counter()
    handles = [
        module.register_forward_pre_hook(lambda m, _: calls.update([names[id(m)]]))
        for module in root.modules()
        if not isinstance(module, torch.jit.ScriptModule)
    ]
    with torch.enable_grad(), _recurrent_layers_opened(model), Idle(), _FlopCounter() as counter:
        result = model(*example.args, **example.kwargs)
    for handle in handles:
        handle.remove()
    return Survey(
        # A scripted model is one call to Python: no hook sees inside.
        module_calls=calls or Counter([""]),
        params_reached=_params_behind(list(tensors_of(result)), root),
        num_flops=counter.num_flops,
    )


@contextmanager
def _recurrent_layers_opened(model: nn.Module) -> Iterator[None]:
    """oneDNN runs a whole LSTM as one call, which torch's counter does not know."""
    was_on = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(was_on and not any(isinstance(m, nn.RNNBase) for m in model.modules()))
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(was_on)


class _FlopCounter(TorchDispatchMode):
    """torch's own counts; its FlopCounterMode also follows modules, which some models do not bear."""

    def __init__(self) -> None:
        super().__init__()
        self.num_flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if torch._C._current_autograd_node() is not None:
            return out  # a backward that forward itself runs
        packet = func._overloadpacket
        if packet is torch.ops.aten._scaled_dot_product_flash_attention_for_cpu:
            self.num_flops += sdpa_flop_count(args[0].shape, args[1].shape, args[2].shape)
        elif packet in flop_registry:
            self.num_flops += flop_registry[packet](*args, **(kwargs or {}), out_val=out)
        return out


def _params_behind(outputs: list[Tensor], model: nn.Module) -> set[str]:
    names = {id(param): address for address, param in model.named_parameters()}
    found = {names[id(output)] for output in outputs if id(output) in names}
    queue = [output.grad_fn for output in outputs if output.grad_fn is not None]
    seen = set(queue)
    while queue:
        node = queue.pop()
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) in names:
            found.add(names[id(variable)])
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                queue.append(following)
    return found
