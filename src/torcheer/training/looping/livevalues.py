"""New values of parameters while a training runs: taken over into the optimizer, and into its schedule.

Where every group of the optimizer had the old value, each has the new one. Where one has another, as a group
with its own learning rate does, it is scaled by as much as the parameter was. With a scheduler the whole
schedule is scaled: twice the rate is twice the rate from there on, wherever the schedule is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from torch import Tensor
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.training.looping.parameterkinds import kinds_of
from torcheer.training.looping.parameters import Parameters
from torcheer.training.looping.setup import Setup

# Of a learning rate, what a scheduler keeps in the groups, and in itself.
_IN_GROUPS: Final = ("initial_lr", "max_lr", "min_lr")
_IN_SCHEDULERS: Final = ("base_lrs", "max_lrs", "min_lrs")


class LiveValues:
    """What of the parameters is in the optimizer by now."""

    def __init__(self, setup: Setup, optimizer: Optimizer, scheduler: Any, parameters: Parameters) -> None:
        self._setup = setup
        self._optimizer = optimizer
        self._scheduler = scheduler
        self._applied = parameters
        self._live = {
            name: kind.about.live
            for name, kind in kinds_of(type(parameters)).items()
            if not isinstance(kind.about.live, bool)
        }
        for name, live in self._live.items():
            if isinstance(live, str):
                self._check_entry(name, live)

    def take_over(self, parameters: Parameters) -> list[str]:
        """Say which have changed since the last time, in words."""
        if parameters is self._applied:
            return []
        before, self._applied = self._applied, parameters
        changes = []
        for name in kinds_of(type(parameters)):
            old, new = getattr(before, name), getattr(parameters, name)
            if old == new:
                continue
            live = self._live.get(name)
            if isinstance(live, str):
                self._set_entry(live, old, new)
            elif callable(live):
                live(self._setup, new)
            changes.append(f"{name} {old} → {new}")
        return changes

    def _check_entry(self, name: str, entry: str) -> None:
        missing = next((group for group in self._optimizer.param_groups if entry not in group), None)
        if missing is not None:
            known = ", ".join(key for key in missing if key not in ("params", "param_names"))
            raise InputError(
                f"{name} is live as {entry!r}, and {type(self._optimizer).__name__} has no such entry: name "
                f"one of {known}, or give live= a function of the setup and the value."
            )

    def _set_entry(self, entry: str, old: Any, new: Any) -> None:
        for group in self._optimizer.param_groups:
            if entry != "lr" or self._scheduler is None:
                _set(group, entry, _scaled(group[entry], old, new))
                continue
            for key in (entry, *_IN_GROUPS):
                if key in group:
                    _set(group, key, _scaled_schedule(group[key], old, new))
        if entry == "lr":
            for scheduler in _all_schedulers(self._scheduler):
                for key in _IN_SCHEDULERS:
                    rates = getattr(scheduler, key, None)
                    if isinstance(rates, list):
                        rates[:] = [_scaled_schedule(rate, old, new) for rate in rates]


def _set(group: dict[str, Any], key: str, value: Any) -> None:
    held = group[key]
    if isinstance(held, Tensor):  # of a compiled or captured optimizer, which looks nowhere else
        held.fill_(value)
    else:
        group[key] = value


def _scaled(held: Any, old: Any, new: Any) -> Any:
    """The new value where it was the old one; else as many times as large."""
    if isinstance(held, Tensor):
        held = held.item()
    is_number = (
        isinstance(held, int | float) and isinstance(old, int | float) and isinstance(new, int | float)
    )
    if not is_number or held == old or not old:
        return new
    return held * (new / old)


def _scaled_schedule(held: Any, old: Any, new: Any) -> Any:
    """A schedule may have reached anything; from nothing nothing could be scaled."""
    if isinstance(held, Tensor):
        held = held.item()
    if not old or not isinstance(held, int | float):
        return new
    return new if held == old else held * (new / old)


def _all_schedulers(scheduler: Any) -> Iterator[Any]:
    """With those that one of them is made of."""
    if scheduler is not None:
        yield scheduler
        for inner in getattr(scheduler, "_schedulers", ()):
            yield from _all_schedulers(inner)
