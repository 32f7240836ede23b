"""Load the parts of a checkpoint into a model, an optimizer and the like: all of them, or none."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.training.checkpointing.modelstate import differences, load_state, parameter_names, state_of

_MOST_NAMED = 5

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a training consists of. Any may be missing."""

    model: nn.Module | None = None
    optimizer: Optimizer | None = None
    scheduler: Any = None
    scaler: Any = None

    def given(self) -> Iterator[tuple[str, Any]]:
        for name in ("model", "optimizer", "scheduler", "scaler"):
            part = getattr(self, name)
            if part is not None:
                yield name, part


def checked_parts(parts: Parts) -> Parts:
    if parts.model is not None and not isinstance(parts.model, nn.Module):
        raise InputError(f"model is a {type(parts.model).__name__}: give a torch.nn.Module.")
    for name, part in parts.given():
        if not all(callable(getattr(part, method, None)) for method in ("state_dict", "load_state_dict")):
            raise InputError(
                f"{name} is a {type(part).__name__}, which has no state_dict and load_state_dict: give "
                f"torch's own {name}, or one with these two methods."
            )
    return parts


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
        return differences(part, tree["model"])
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
