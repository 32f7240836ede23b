"""When the learning rate changes: after each epoch, or after each step.

    scheduler=StepLR(optimizer, 10)                                    after each epoch
    scheduler=OneCycleLR(optimizer, 0.1, total_steps=1000)             after each step: it is made for that
    scheduler=tl.by_step(CosineAnnealingLR(optimizer, 1000))           after each step: you say so
    scheduler=tl.by_epoch(ReduceLROnPlateau(optimizer), "test/loss")   by what became of a figure

Where `fit` makes the optimizer, the scheduler is a function of it: `lambda optimizer: StepLR(optimizer, 10)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import CyclicLR, OneCycleLR, ReduceLROnPlateau

from torcheer.errors import InputError

_BY_STEP = (OneCycleLR, CyclicLR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A scheduler, and when it is stepped."""

    scheduler: Any
    is_by_step: bool
    metric: str | None = None  # a figure of the epoch that it looks at


def by_step(scheduler: Any) -> Schedule:
    """Step it whenever the weights were changed, and not once an epoch."""
    if isinstance(scheduler, ReduceLROnPlateau):
        raise InputError(
            "ReduceLROnPlateau looks at a figure of an epoch: tl.by_epoch(scheduler, 'test/loss')."
        )
    return Schedule(scheduler=scheduler, is_by_step=True)


def by_epoch(scheduler: Any, metric: str | None = None) -> Schedule:
    """Step it after each epoch; `metric` is the figure that a ReduceLROnPlateau looks at: "test/accuracy"."""
    return Schedule(scheduler=scheduler, is_by_step=False, metric=metric)


class Scheduling:
    """The scheduler of a training, stepped at the right times."""

    def __init__(self, given: Any, optimizer: Optimizer, figures: Sequence[str]) -> None:
        """`figures`: those that an epoch will have."""
        made = _made(given, optimizer)
        schedule = made if isinstance(made, Schedule) else None
        scheduler = _scheduler_of(
            made if schedule is None else _made(schedule.scheduler, optimizer), optimizer
        )
        self.scheduler = scheduler
        self.is_by_step = isinstance(scheduler, _BY_STEP) if schedule is None else schedule.is_by_step
        self.metric: str | None = None  # the figure of an epoch that it looks at
        if isinstance(scheduler, ReduceLROnPlateau):
            self.metric = _looked_at(scheduler, None if schedule is None else schedule.metric, figures)

    def after_step(self, did_step: bool) -> None:
        """`did_step`: whether the weights were changed."""
        if did_step and self.is_by_step:
            self.scheduler.step()

    def after_epoch(self, values: Mapping[str, float]) -> None:
        if self.scheduler is None or self.is_by_step:
            return
        if self.metric is None:
            self.scheduler.step()
        else:
            self.scheduler.step(values[self.metric])


def _looked_at(scheduler: ReduceLROnPlateau, metric: str | None, figures: Sequence[str]) -> str:
    """The figure that decides whether it goes on getting better."""
    if metric is None:
        metric = "test/loss" if "test/loss" in figures else "train/loss"
        if scheduler.mode == "max":
            raise InputError(
                f"a ReduceLROnPlateau with mode='max' cannot look at {metric!r}, which should fall: say what "
                "it looks at, scheduler=tl.by_epoch(scheduler, 'test/accuracy')."
            )
    if metric not in figures:
        raise InputError(
            f"the scheduler looks at {metric!r}, and an epoch has {', '.join(figures)}: name one of these in "
            "tl.by_epoch(scheduler, ...)."
        )
    return metric


def _made(given: Any, optimizer: Optimizer) -> Any:
    """What a function makes of the optimizer; anything else as it is."""
    return given(optimizer) if callable(given) and not hasattr(given, "step") else given


def _scheduler_of(given: Any, optimizer: Optimizer) -> Any:
    if given is None:
        return None
    if isinstance(given, list | tuple):
        raise InputError(
            f"scheduler is a {type(given).__name__}: put several into one, with "
            "torch.optim.lr_scheduler.ChainedScheduler or SequentialLR."
        )
    if isinstance(given, type) or not callable(getattr(given, "step", None)):
        raise InputError(
            f"scheduler is a {type(given).__name__}: give one of torch.optim.lr_scheduler, made with the "
            "optimizer, or a function of the optimizer that makes one."
        )
    if getattr(given, "optimizer", optimizer) is not optimizer:
        raise InputError(
            "the scheduler was made for another optimizer: make it with the one that is trained with."
        )
    return given
