"""The state of a model under plain names, whatever is wrapped around it or its parts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

Tree = dict[str, Any]


def state_of(model: nn.Module) -> tuple[Tree, Tree]:
    """What is in `model.state_dict()` by plain name, and the versions of its modules, as torch wants them."""
    plain, state = _plain_names(model), model.state_dict()
    versions = {plain(address): one for address, one in getattr(state, "_metadata", {}).items()}
    return {plain(name): value for name, value in state.items()}, versions


def load_state(model: nn.Module, state: Mapping[str, Any], versions: Mapping[str, Any]) -> None:
    """Load what `state_of` gave, also where other things are wrapped around the model now."""
    plain, own = _plain_names(model), model.state_dict()
    renamed = OrderedDict((name, state[plain(name)]) for name in own)
    addresses = getattr(own, "_metadata", {})
    renamed._metadata = {address: versions.get(plain(address), {}) for address in addresses}  # type: ignore[attr-defined]
    model.load_state_dict(renamed)


def differences(model: nn.Module, state: Mapping[str, Any]) -> list[str]:
    """What keeps a state from being loaded into this model, in words."""
    own, _ = state_of(model)
    found = [
        f"'{name}' has shape {_shape(state[name])} in the checkpoint and {_shape(value)} here"
        for name, value in own.items()
        if name in state and not _fits(value, state[name])
    ]
    missing = [f"'{name}' is missing in the checkpoint" for name in own if name not in state]
    more = [f"'{name}' is in the checkpoint only" for name in state if name not in own]
    # In turn: of a name that was changed, both show.
    return found + [one for pair in zip_longest(missing, more) for one in pair if one is not None]


def parameter_names(model: nn.Module | None) -> dict[int, str]:
    """The plain name of each parameter, by its identity."""
    if model is None:
        return {}
    plain = _plain_names(model)
    return {id(parameter): plain(name) for name, parameter in model.named_parameters()}


def _plain_names(model: nn.Module) -> Callable[[str], str]:
    """Leaves out what torch.compile and data parallelism put into a name: `module.conv._orig_mod.weight`."""
    wrapped = set()
    for address, module in model.named_modules(remove_duplicate=False):
        inner = _inner_name(module)
        if inner:
            wrapped.add(f"{address}.{inner}" if address else inner)

    def plain(name: str) -> str:
        parts = name.split(".")
        kept = [part for count, part in enumerate(parts, 1) if ".".join(parts[:count]) not in wrapped]
        return ".".join(kept)

    return plain if wrapped else lambda name: name


def _inner_name(module: nn.Module) -> str:
    if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return "module"
    # By its name: to import the class would import the compiler.
    return "_orig_mod" if type(module).__name__ == "OptimizedModule" else ""


def _fits(own: Any, stored: Any) -> bool:
    if not isinstance(own, Tensor) or is_lazy(own):
        return True
    return isinstance(stored, Tensor) and own.shape == stored.shape


def _shape(value: Any) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else f"none, as a {type(value).__name__}"
