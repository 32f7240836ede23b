"""The base of optimizers: which parameters, with which settings, and what is remembered of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError


class Optimizer:
    """Parameters come in groups, and each group may have settings of its own; `defaults` fills in the others.

    A new kind of optimizer says in `update` what one step does with one parameter. All take `foreach` and
    `fused` for torch's sake, where they choose between ways to compute the same.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = {}
        given = [params] if isinstance(params, dict) else list(params)
        if not given:
            raise InputError("an optimizer needs parameters: pass model.parameters().")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else _without_names(params)
        known = {id(one) for group in self.param_groups for one in group["params"]}
        for one in params:
            if not isinstance(one, Tensor) or not hasattr(one, "_node"):
                raise InputError(
                    "an optimizer moves tracers and parameters of torcheer.autograd.nn, not a "
                    f"{type(one).__name__} of torch's: for those there is torch.optim."
                )
            if not one.is_leaf:
                raise InputError("a computed tensor cannot be moved, only what it was computed from.")
            if id(one) in known:
                raise InputError("a parameter is in two groups, and would be moved twice.")
            known.add(id(one))
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients: without it, those of the next backward() are added."""
        for group in self.param_groups:
            for one in group["params"]:
                if one.grad is not None:
                    one.grad = None if set_to_none else torch.zeros_like(one.data)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move each parameter that has a gradient. A closure computes the loss again, before."""
        loss = None if closure is None else closure()
        with as_plain(), torch.no_grad():  # in place, as on ordinary tensors: nobody remembers it
            for group in self.param_groups:
                for one in group["params"]:
                    gradient = one.grad
                    if gradient is not None:
                        gradient = -gradient if group.get("maximize") else gradient
                        self.update(one, gradient, self._state_of(one), group)
        return loss

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _state_of(self, param: Tensor) -> dict[str, Any]:
        found = self.state.get(param)
        if found is None:
            found = self.state[param] = {}
        return found

    def state_dict(self) -> dict[str, Any]:
        """Settings and memory, with numbers in place of the parameters: torch's optimizers read it, too."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for one in group["params"]:
                numbers[id(one)] = len(numbers)
            groups.append({**group, "params": [numbers[id(one)] for one in group["params"]]})
        state = {numbers[id(one)]: dict(kept) for one, kept in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where such a state was written. The parameters have to come in the same groups and order."""
        groups = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in groups]
        own_sizes = [len(group["params"]) for group in self.param_groups]
        if sizes != own_sizes:
            raise InputError(
                f"the state is for groups of {sizes} parameters, and here there are {own_sizes}."
            )
        params: dict[int, Tensor] = {}
        for saved, group in zip(groups, self.param_groups, strict=True):
            params.update(zip(saved["params"], group["params"], strict=True))
            group.update({name: value for name, value in saved.items() if name != "params"})
        self.state = {
            params[number]: {name: _like(value, params[number], name) for name, value in kept.items()}
            for number, kept in state_dict["state"].items()
        }

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for place, group in enumerate(self.param_groups):
            settings = ", ".join(f"{name}={value}" for name, value in group.items() if name != "params")
            lines.append(f"    ({place}):{len(group['params'])} parameters, {settings}")
        return "\n".join([*lines, ")"])


def _without_names(params: Iterable[Any]) -> list[Any]:
    """named_parameters() will do as well."""
    return [one[1] if isinstance(one, tuple) else one for one in params]


def _like(value: Any, param: Tensor, name: str) -> Any:
    """In the type of the parameter, but for the count of steps, which is a number by itself."""
    if not isinstance(value, Tensor):
        return value
    with as_plain():
        return value.clone() if name == "step" else value.to(param.device, param.dtype, copy=True)
