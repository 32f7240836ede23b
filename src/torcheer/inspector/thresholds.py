"""When something is worth an alarm. All can be set; None switches one off."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from torcheer.errors import InputError

_SHARES = ("dead_units", "saturated")
_FACTORS = ("exploding_gradient", "loss_spike")
_POSITIVE = ("gradient_norm", "vanishing_gradient")
_COUNTS = ("stuck_weight", "steps", "well_steps")


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the alarms. Steps are watched steps: those in between are not seen."""

    nonfinite: bool | None = True  # NaN or infinite values anywhere
    exploding_gradient: float | None = 100.0  # the norm of all gradients together, by its usual size
    gradient_norm: float | None = 1e15  # the same norm, whatever is usual
    vanishing_gradient: float | None = 1e-5  # the norm at the first layer, by that where it is largest
    dead_units: float | None = 0.8  # share of a layer's units that give nothing but 0
    saturated: float | None = 0.95  # share of what a Sigmoid, Tanh… gives that lies at the ends of its range
    loss_spike: float | None = 10.0  # a loss above its usual one, by how far it usually strays from that
    stuck_weight: int | None = 20  # steps in which a weight has a gradient and stays the same, or has none
    steps: int = 20  # so long dead, saturated and vanishing must last: a few may be chance
    well_steps: int = 50  # so long all must be well before the same alarm can be raised again

    def __post_init__(self) -> None:
        for name in _SHARES:
            self._check(name, lambda value: 0 < value <= 1, "a share between 0 and 1, such as 0.8")
        for name in _FACTORS:
            self._check(name, lambda value: value > 1, "a factor above 1, such as 10")
        for name in _POSITIVE:
            self._check(name, lambda value: value > 0, "a number above 0")
        for name in _COUNTS:
            self._check(name, lambda value: isinstance(value, int) and value >= 1, "a whole number from 1 on")

    def _check(self, name: str, test: Callable[[float], bool], wanted: str) -> None:
        value = getattr(self, name)
        if value is None and name in ("steps", "well_steps"):
            raise InputError(f"{name} is None: give {wanted}.")
        if value is None:
            return
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not test(value):
            raise InputError(f"{name} is {value!r}: give {wanted}, or None to switch this alarm off.")
