"""Take the states of model, optimizer, scheduler and scaler, and load them back: all of them or none."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from torcheer.errors import InputError

# --- a model under plain names ------------------------------------------------------------------------------

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


def _model_differences(model: nn.Module, state: Mapping[str, Any]) -> list[str]:
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


_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a training consists of. Any may be missing."""

    model: nn.Module | None = None
    optimizer: Optimizer | None = None
    scheduler: Any = None
    scaler: Any = None

    def __post_init__(self) -> None:
        if self.model is not None and not isinstance(self.model, nn.Module):
            raise InputError(f"model is a {type(self.model).__name__}: give a torch.nn.Module.")
        for name, part in self.given():
            if not all(callable(getattr(part, method, None)) for method in ("state_dict", "load_state_dict")):
                raise InputError(
                    f"{name} is a {type(part).__name__}, which has no state_dict and load_state_dict: give "
                    f"torch's own {name}, or one with these two methods."
                )

    def given(self) -> Iterator[tuple[str, Any]]:
        for name in ("model", "optimizer", "scheduler", "scaler"):
            part = getattr(self, name)
            if part is not None:
                yield name, part


# --- taking -------------------------------------------------------------------------------------------------


def tree_of(parts: Parts) -> Tree:
    """The state of each part by its name, and beside it what tells whether it fits when it is loaded."""
    tree: Tree = {"kinds": {name: kind_of(part) for name, part in parts.given()}}
    if parts.model is not None:
        tree["model"], tree["model_versions"] = state_of(parts.model)
    if parts.optimizer is not None:
        tree["optimizer"] = parts.optimizer.state_dict()
        tree["parameters"] = _outlines(parts.optimizer, parts.model)
    if parts.scheduler is not None:
        tree["scheduler"] = _scheduler_state(parts.scheduler)
    if parts.scaler is not None:
        tree["scaler"] = parts.scaler.state_dict()
    return tree


def kind_of(part: Any) -> str:
    """Its class, and those of the schedulers in it: SequentialLR(LinearLR, CosineAnnealingLR)."""
    if isinstance(part, nn.Module):
        return type(part).__name__
    inner = [kind_of(one) for one in getattr(part, "_schedulers", ())]
    return type(part).__name__ + (f"({', '.join(inner)})" if inner else "")


def _outlines(optimizer: Optimizer, model: nn.Module | None) -> list[list[Any]]:
    """Name and shape of each parameter, group by group: its state is stored by number only."""
    names = parameter_names(model)
    return [
        [[names.get(id(one)), list(one.shape)] for one in group["params"]] for group in optimizer.param_groups
    ]


def _scheduler_state(scheduler: Any) -> Any:
    """Without the functions that torch's own classes choose when they are made, and keep in their state."""
    state = scheduler.state_dict()
    if isinstance(state, dict) and type(scheduler).__module__.startswith("torch."):
        return {name: value for name, value in state.items() if not callable(value)}
    return state


# --- putting back -------------------------------------------------------------------------------------------


def check_fits(path: str, tree: Mapping[str, Any], parts: Parts) -> None:
    """Raise where one of the parts is another than that whose state is in the checkpoint."""
    for name, part in parts.given():
        if name not in tree:
            raise InputError(
                f"{path} has no {name}: it was saved without one. Leave out {name}=, or save it with one."
            )
        found = _differences(name, part, tree, parts)
        if found:
            shown = "; ".join(found[:_MOST_NAMED])
            more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
            raise InputError(
                f"{path} does not fit this {name}, {kind_of(part)}: {shown}{more}. Nothing was loaded. Build "
                f"it as it was when the checkpoint was saved, or take what you need from "
                f"load_checkpoint(path).{name}."
            )


def _differences(name: str, part: Any, tree: Mapping[str, Any], parts: Parts) -> list[str]:
    if name == "model":
        return _model_differences(part, tree["model"])
    stored, here = tree["kinds"][name], kind_of(part)
    if stored != here:
        return [f"the checkpoint has the state of {stored}"]
    return _parameter_differences(tree["parameters"], part, parts.model) if name == "optimizer" else []


def _parameter_differences(
    stored: list[list[Any]], optimizer: Optimizer, model: nn.Module | None
) -> list[str]:
    here = _outlines(optimizer, model)
    if [len(group) for group in stored] != [len(group) for group in here]:
        sizes = [" + ".join(str(len(group)) for group in groups) or "no" for groups in (stored, here)]
        return [f"it was saved with {sizes[0]} parameters (by group), and has {sizes[1]} here"]
    found = []
    pairs = [pair for groups in zip(stored, here, strict=True) for pair in zip(*groups, strict=True)]
    for number, ((name, shape), (own_name, own_shape)) in enumerate(pairs):
        if shape != own_shape:
            was, now = tuple(shape), tuple(own_shape)
            found.append(f"its parameter {number} ({name}) has shape {was} in the checkpoint and {now} here")
        elif name and own_name and name != own_name:
            found.append(f"its parameter {number} is '{name}' in the checkpoint and '{own_name}' here")
    return found


def load_parts(tree: Mapping[str, Any], parts: Parts) -> None:
    """Load each part. Where one of them refuses, those before it are put back as they were."""
    loaders: dict[str, Callable[[Any], None]] = {
        "model": lambda model: load_state(model, tree["model"], tree["model_versions"]),
        "optimizer": lambda optimizer: _load_optimizer(optimizer, tree["optimizer"]),
        "scheduler": lambda scheduler: scheduler.load_state_dict(_copied(tree["scheduler"])),
        # Empty: it was off when it was saved, and has nothing to say.
        "scaler": lambda scaler: scaler.load_state_dict(_copied(tree["scaler"])) if tree["scaler"] else None,
    }
    with _undone_on_error(parts):
        for name, part in parts.given():
            loaders[name](part)


@contextmanager
def _undone_on_error(parts: Parts) -> Iterator[None]:
    before = {name: _copied(part.state_dict()) for name, part in parts.given()}
    try:
        yield
    except BaseException:
        for name, part in parts.given():
            # One that cannot go back must not keep the others from it.
            with suppress(Exception):
                part.load_state_dict(before[name])
        raise


def _load_optimizer(optimizer: Optimizer, state: Mapping[str, Any]) -> None:
    own = _copied(state)
    optimizer.load_state_dict(own)
    # torch gives all floats of a state the type of their parameter. Some have another (NAdam's mu_product
    # beside a bfloat16 weight), and would lose digits.
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    for number, parameter in zip(numbers, parameters, strict=True):
        if number in own["state"] and parameter in optimizer.state:
            optimizer.state[parameter] = _typed(optimizer.state[parameter], own["state"][number])


def _typed(loaded: Any, stored: Any) -> Any:
    if isinstance(loaded, Tensor) and isinstance(stored, Tensor):
        return loaded if loaded.dtype is stored.dtype else stored.to(loaded.device)
    if isinstance(loaded, dict):
        return {key: _typed(value, stored[key]) if key in stored else value for key, value in loaded.items()}
    if type(loaded) in (list, tuple) and len(loaded) == len(stored):
        return type(loaded)(_typed(*pair) for pair in zip(loaded, stored, strict=True))
    return loaded


def _copied(state: Any) -> Any:
    """Memory of its own: torch takes over what it is given, and some schedulers empty it."""
    with torch.no_grad():
        return copy.deepcopy(state)
