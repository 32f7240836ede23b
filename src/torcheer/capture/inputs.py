"""From what the user gave to the call of the model."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from torcheer.capture.pytree import ATOMS, map_tensors, tensors_in
from torcheer.errors import InputError
from torcheer.models import unwrapped_model


class Call(NamedTuple):
    """The arguments with which the model is called."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def check_model(model: Any) -> None:
    if isinstance(model, type) and issubclass(model, nn.Module):
        raise InputError(
            f"{model.__name__} is a class, not a model: pass an instance, {model.__name__}(...)."
        )
    if not isinstance(model, nn.Module):
        given = f"{type(model).__name__} {model!r}"[:80]
        raise InputError(
            f"the first argument must be a torch.nn.Module, not {given}: log_forward_pass(model, x)."
        )


def bind(model: nn.Module, input_args: Any, input_kwargs: Mapping[str, Any] | None) -> Call:
    """Decide how the input fits forward: one argument, several, or by name."""
    kwargs = dict(input_kwargs or {})
    root = unwrapped_model(model)
    name = type(root).__name__
    try:
        signature: inspect.Signature | None = inspect.signature(root.forward)
    except (TypeError, ValueError):
        signature = None
    choices = _choices(input_args, kwargs)
    if signature is None:
        return choices[0]
    for call in choices:
        if _fits(signature, call):
            return call
    if input_args is None and not kwargs:
        raise InputError(f"there is no input: {name}.forward takes {signature}.")
    raise InputError(
        f"the input does not fit {name}.forward{signature}: it was given {_shape_of(choices[0])}."
    )


def _choices(value: Any, kwargs: dict[str, Any]) -> list[Call]:
    if value is None:
        return [Call((), kwargs)]
    if isinstance(value, Tensor):
        return [Call((value,), kwargs)]
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [Call(tuple(value), kwargs), Call((value,), kwargs)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return [Call((), {**value, **kwargs}), Call((value,), kwargs)]
    return [Call((value,), kwargs)]


def _fits(signature: inspect.Signature, call: Call) -> bool:
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError:
        return False
    return True


def copied_call(call: Call) -> Call:
    """The same call with lists, dicts and objects of its own: forward may change those it was given."""
    if all(type(value) in ATOMS for value in _values(call)):
        return call
    memo: dict[int, Any] = {}
    for _, tensor in tensors_in((call.args, call.kwargs), into_objects=True):
        memo[id(tensor)] = tensor
    for value in _values(call):
        if isinstance(value, nn.Module):
            memo[id(value)] = value
    try:
        return copy.deepcopy(call, memo)
    except Exception:  # an object that cannot be copied is used as it is
        return call


def copy_of_input(value: Tensor, like: Tensor) -> Tensor:
    """A copy of an input that a model may do with what it may do with the input itself."""
    copy = value.detach().clone().requires_grad_(like.requires_grad)
    # A leaf that requires grad must not be written into.
    return copy if like.is_leaf else copy.clone()


def call_with_copied_tensors(call: Call) -> Call:
    """The same call with tensors of its own, for a pass that may write into them."""
    again = copied_call(call)
    copies: dict[int, Tensor] = {}  # a tensor that is given twice stays one tensor

    def copied(tensor: Tensor) -> Tensor:
        if id(tensor) not in copies:
            copies[id(tensor)] = copy_of_input(tensor, tensor)
        return copies[id(tensor)]

    return Call(*map_tensors((again.args, again.kwargs), copied, into_objects=True))


def _values(call: Call) -> list[Any]:
    return [value for value in (*call.args, *call.kwargs.values()) if not isinstance(value, Tensor)]


def input_tensors(model: nn.Module, call: Call) -> list[tuple[str, Tensor]]:
    """Each tensor of the input with its name: that of forward's parameter, and the place inside it."""
    names = _parameter_names(model, len(call.args))
    found: list[tuple[str, Tensor]] = []
    for name, value in (*zip(names, call.args, strict=True), *call.kwargs.items()):
        found.extend(tensors_in(value, name, into_objects=True))
    unique = {id(tensor): (path, tensor) for path, tensor in reversed(found)}
    return list(unique.values())[::-1]


def _parameter_names(model: nn.Module, num_args: int) -> list[str]:
    try:
        parameters = list(inspect.signature(unwrapped_model(model).forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return (names + [f"{rest}.{i}" for i in range(num_args)])[:num_args]


def _shape_of(call: Call) -> str:
    parts = [_brief(arg) for arg in call.args] + [
        f"{key}={_brief(value)}" for key, value in call.kwargs.items()
    ]
    return f"({', '.join(parts)})"


def _brief(value: Any) -> str:
    return f"Tensor{tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
