"""Learning rates that change: each scheduler says what the rate is at an epoch, counted in calls of `step()`.

Where torch computes a rate from the one before, here it comes from the first one and the number of the epoch.
The rates are the same.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from torcheer.autograd.optim.optimizer import Optimizer
from torcheer.errors import InputError


class LRScheduler:
    """Sets the rate of each group of an optimizer, now and at each `step()`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr = [float(group["lr"]) for group in optimizer.param_groups]
        self.step()

    def rate(self, base: float, epoch: int) -> float:
        """What the first rate has become at this epoch."""
        raise NotImplementedError

    def step(self) -> None:
        self._set_epoch(self.last_epoch + 1)

    def _set_epoch(self, epoch: int) -> None:
        self.last_epoch = epoch
        self._set([self.rate(base, epoch) for base in self.base_lrs])

    def _set(self, rates: Sequence[float]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._last_lr = list(rates)

    def get_last_lr(self) -> list[float]:
        """The rates that are set now, one for each group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer, and functions, which cannot be stored."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "optimizer" and not _is_or_has_function(value)
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch, one for all groups or one for each."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        is_one = callable(lr_lambda)
        self.lr_lambdas: list[Callable[[int], float]] = (
            [lr_lambda] * len(optimizer.param_groups) if is_one else list(lr_lambda)
        )
        if len(self.lr_lambdas) != len(optimizer.param_groups):
            raise InputError(
                f"{len(self.lr_lambdas)} functions for {len(optimizer.param_groups)} groups of parameters."
            )
        super().__init__(optimizer, last_epoch)

    def _set_epoch(self, epoch: int) -> None:
        self.last_epoch = epoch
        both = zip(self.base_lrs, self.lr_lambdas, strict=True)
        self._set([base * factor(epoch) for base, factor in both])


class StepLR(LRScheduler):
    """Every `step_size` epochs the rate is multiplied by gamma."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return float(base * self.gamma ** (epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """At each milestone the rate is multiplied by gamma."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return float(base * self.gamma ** bisect_right(self.milestones, epoch))


class ConstantLR(LRScheduler):
    """Smaller by a factor for some epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return base * self.factor if epoch < self.total_iters else base


class LinearLR(LRScheduler):
    """From one factor to another on a straight line: a warm-up."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        done = min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


class ExponentialLR(LRScheduler):
    """Every epoch the rate is multiplied by gamma."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return float(base * self.gamma**epoch)


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs, along a half wave of a cosine."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,  # noqa: N803  (torch's name)
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        wave = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self.eta_min + (base - self.eta_min) * wave


class CosineAnnealingWarmRestarts(LRScheduler):
    """The same again and again: at first in `T_0` epochs, then each time in `T_mult` times as many."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803  (torch's name)
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise InputError(f"a wave takes at least one epoch, not {T_0} times {T_mult}.")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        length = self.T_0
        while epoch >= length:
            epoch, length = epoch - length, length * self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / length)) / 2


class PolynomialLR(LRScheduler):
    """Down to nothing in so many epochs, along a power of what is left."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return float(base * (1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class MultiplicativeLR(LambdaLR):
    """Every epoch the rate is multiplied by a function of it."""

    def _set_epoch(self, epoch: int) -> None:
        self.last_epoch = epoch
        if epoch:
            both = zip(self._last_lr, self.lr_lambdas, strict=True)
            self._set([lr * factor(epoch) for lr, factor in both])


class OneCycleLR(LRScheduler):
    """Up to `max_lr`, and down to almost nothing, in so many steps; the momentum goes against it."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise InputError("how long is the cycle? Pass total_steps, or epochs and steps_per_epoch.")
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise InputError(f"anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}.")
        self.total_steps, self.max_lr, self.is_cosine = total_steps, max_lr, anneal_strategy == "cos"
        self.top = pct_start * total_steps - 1  # the step at which the rate is highest
        self.first_lr = max_lr / div_factor
        self.final_lr = self.first_lr / final_div_factor
        self.cycle_momentum, self.base_momentum, self.max_momentum = (
            cycle_momentum,
            base_momentum,
            max_momentum,
        )
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return self._between(epoch, self.first_lr, self.max_lr, self.final_lr)

    def _set_epoch(self, epoch: int) -> None:
        if epoch >= self.total_steps:
            raise InputError(f"the cycle has {self.total_steps} steps, and they are done.")
        super()._set_epoch(epoch)
        if self.cycle_momentum:
            momentum = self._between(epoch, self.max_momentum, self.base_momentum, self.max_momentum)
            for group in self.optimizer.param_groups:
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                elif "momentum" in group:
                    group["momentum"] = momentum

    def _between(self, epoch: int, first: float, top: float, final: float) -> float:
        if epoch <= self.top:
            return self._part_of(first, top, epoch / self.top)
        return self._part_of(top, final, (epoch - self.top) / (self.total_steps - 1 - self.top))

    def _part_of(self, start: float, end: float, done: float) -> float:
        return start + (end - start) * ((1 - math.cos(math.pi * done)) / 2 if self.is_cosine else done)


class SequentialLR(LRScheduler):
    """One scheduler after the other, changed at the milestones; each counts from its own start."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise InputError(f"{len(schedulers)} schedulers have {len(schedulers) - 1} changes between them.")
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer, last_epoch)

    def _set_epoch(self, epoch: int) -> None:
        self.last_epoch = epoch
        which = bisect_right(self.milestones, epoch)
        self.schedulers[which]._set_epoch(epoch - ([0, *self.milestones])[which])
        self._last_lr = self.schedulers[which].get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "schedulers": [one.state_dict() for one in self.schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        inner = state_dict["schedulers"]
        for scheduler, state in zip(self.schedulers, inner, strict=True):
            scheduler.load_state_dict(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "schedulers"})


class ReduceLROnPlateau(LRScheduler):
    """When a measure was not better for more than `patience` epochs, the rate is multiplied by `factor`."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise InputError(f"the rate is to become smaller: a factor below 1, not {factor}.")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise InputError("mode is 'min' or 'max', and threshold_mode 'rel' or 'abs'.")
        self.mode, self.factor, self.patience, self.cooldown = mode, factor, patience, cooldown
        self.threshold, self.threshold_mode, self.min_lr, self.eps = threshold, threshold_mode, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self.optimizer, self.last_epoch = optimizer, 0
        self._last_lr = [float(group["lr"]) for group in optimizer.param_groups]

    def step(self, metrics: Any = None) -> None:
        if metrics is None:
            raise InputError("this scheduler looks at a measure: scheduler.step(loss).")
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [float(group["lr"]) for group in self.optimizer.param_groups]

    def _is_better(self, value: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        is_relative = self.threshold_mode == "rel"
        bar = self.best * (1 + sign * self.threshold) if is_relative else self.best + sign * self.threshold
        return value < bar if self.mode == "min" else value > bar

    def _reduce(self) -> None:
        for group in self.optimizer.param_groups:
            lower = max(group["lr"] * self.factor, self.min_lr)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower


def _is_or_has_function(value: Any) -> bool:
    return callable(value) or (isinstance(value, list) and any(_is_or_has_function(one) for one in value))
