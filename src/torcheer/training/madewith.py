"""What a training is made with: kept in its checkpoints, and held against what is given when it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from torcheer.training.losses import LossFunction, name_of

_PLAIN = (bool, int, float, str)
_OF_SCHEDULER = "initial_lr"  # beside "lr", which says the same


def made_with(optimizer: Optimizer, loss: LossFunction | None) -> dict[str, Any]:
    """The name of the loss, and the settings of each group of the optimizer, before the first step."""
    return {"loss": name_of(loss), "groups": plain_groups(optimizer)}


def plain_groups(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Numbers and text, without the parameters."""
    return [
        {name: _plain(value) for name, value in group.items() if _is_plain(value)}
        for group in optimizer.param_groups
    ]


def settings_in_use(made: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Of the optimizer, by name; where its groups have several, `lr/0`, `lr/1` and so on."""
    found: dict[str, Any] = {}
    for name in names:
        values = [_value(group, name) for group in made["groups"] if name in group]
        if values and all(value == values[0] for value in values):
            found[name] = values[0]
        else:
            found |= {f"{name}/{number}": value for number, value in enumerate(values)}
    return found


def differences(was: Mapping[str, Any], given: Mapping[str, Any], optimizer: Optimizer) -> Iterator[str]:
    """Where settings that are given are others than those of the checkpoint, which `optimizer` has by now."""
    groups = list(zip(was["groups"], given["groups"], plain_groups(optimizer), strict=True))
    for number, (before, now, current) in enumerate(groups):
        of_group = f" of group {number}" if len(groups) > 1 else ""
        # Schedulers that cycle change these, so that an optimizer that was trained with already has others.
        moved = {"momentum", "betas"} if "max_momentum" in now else set()
        for name in sorted((before.keys() & now.keys()) - {_OF_SCHEDULER} - moved):
            was_given, is_given = _value(before, name), _value(now, name)
            if is_given not in (was_given, current.get(name)):
                yield f"{name}{of_group} was {was_given!r} and is {is_given!r}"


def _value(group: Mapping[str, Any], name: str) -> Any:
    """As it was given: a scheduler may have changed the learning rate already."""
    return group.get(_OF_SCHEDULER, group[name]) if name == "lr" else group[name]


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(one) for one in value)
    return value is None or isinstance(value, _PLAIN) or (isinstance(value, Tensor) and value.numel() == 1)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    if isinstance(value, Tensor):
        return value.item()
    # NumPy's numbers and the like are kinds of these; a checkpoint keeps just these.
    return next((kind(value) for kind in _PLAIN if isinstance(value, kind)), None)
