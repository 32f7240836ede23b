"""Which steps are watched: when a step begins and ends, how often to look, and what looking may cost."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from torcheer.errors import InputError
from torcheer.inspector.layer_hooks import Hook

if TYPE_CHECKING:
    from torcheer.inspector.watcher import Watcher

Ids = frozenset[int] | None  # of parameters, by identity; None for all of them


class OptimizerSteps:
    """A step is a call of `optimizer.step()`.

    Of several optimizers, the one that was last in the round before ends it: their order in the training need
    not be the one in which they are given, and some may not step each time, or no more.
    """

    knows_update = True
    is_outside = True  # of all that may be compiled: its steps end where nothing of the model runs

    def __init__(self, optimizers: Sequence[Optimizer]) -> None:
        self.optimizers = optimizers
        self._handles: list[Any] = []
        self._stepped: list[Optimizer] = []  # since the last step ended
        self._last = optimizers[0] if len(optimizers) == 1 else None  # the one that ends a step

    def start(self, told: Watcher) -> None:
        for optimizer in self.optimizers:
            self._handles.append(optimizer.register_step_pre_hook(partial(self._before, told)))
            self._handles.append(optimizer.register_step_post_hook(partial(self._after, told)))

    def _before(self, told: Watcher, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if optimizer in self._stepped:  # a new round, although nobody ended the last one
            self._last = self._stepped[-1]
            self._end(told)
        own, has_closure = self._own(optimizer), _has_closure(args, kwargs)
        for look in told.looks:
            if not has_closure:
                look.look_at_weight_gradients(own)
            look.look_before_update(own)

    def _after(self, told: Watcher, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        own, has_closure = self._own(optimizer), _has_closure(args, kwargs)
        for look in told.looks:
            if has_closure:
                look.look_at_weight_gradients(own)
            look.look_at_changes(own)
        self._stepped.append(optimizer)
        if len(self._stepped) == len(self.optimizers):
            self._last = optimizer
        if optimizer is self._last:
            self._end(told)

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _end(self, told: Watcher) -> None:
        self._stepped.clear()
        told.end_step()

    def _own(self, optimizer: Optimizer) -> Ids:
        if len(self.optimizers) == 1:
            return None
        groups = optimizer.param_groups
        return frozenset(id(parameter) for group in groups for parameter in group["params"])


def _has_closure(args: Any, kwargs: Any) -> bool:
    """True if the optimizer computes the gradients itself, during its step."""
    closure = kwargs.get("closure", args[1] if len(args) > 1 else args[0] if args else None)
    return callable(closure) and not isinstance(closure, Optimizer)


class ForwardSteps:
    """A step is a forward pass and all that follows until the next one.

    Where the models themselves are never called, but their layers are, the first of these begins it. Where
    there are tensors alone, a step ends with a backward pass that reaches one of them.
    """

    knows_update = False

    def __init__(
        self,
        models: Sequence[nn.Module],
        layers: Mapping[str, nn.Module],
        tensors: Mapping[str, Tensor] | None = None,
    ) -> None:
        """All of these may grow: what counts is what is there at the start."""
        self._models, self._layers, self._tensors = models, layers, {} if tensors is None else tensors
        self._handles: list[RemovableHandle] = []
        self._places: dict[nn.Module, RemovableHandle] = {}
        self._first: nn.Module | None = None
        self._is_backward = False

    @property
    def is_outside(self) -> bool:
        """True if steps end before compiled code begins: torch.compile's wrapper calls its hooks itself."""
        return bool(self._models) and all(hasattr(model, "_orig_mod") for model in self._models)

    def start(self, told: Watcher) -> None:
        def begins(module: nn.Module, _args: Any) -> None:
            if torch._C._current_graph_task_id() != -1:
                return  # a checkpoint computes again: no new pass
            if self._first is None:
                self._first = module
                for other, handle in self._places.items():
                    if other is not module:
                        handle.remove()
                self._handles = [self._places[module]]
            elif module is self._first:
                told.end_step()

        watched = dict.fromkeys([*self._models, *self._layers.values()])
        self._places = {module: module.register_forward_pre_hook(Hook(begins)) for module in watched}
        self._handles = list(self._places.values())
        if not watched:
            self._start_with_tensors(told)

    def _start_with_tensors(self, told: Watcher) -> None:
        def ends() -> None:
            self._is_backward = False
            told.end_step()

        def reached(_gradient: Any) -> None:
            if not self._is_backward:
                self._is_backward = True
                torch.autograd.Variable._execution_engine.queue_callback(ends)

        for tensor in self._tensors.values():
            if tensor.requires_grad:
                register: Callable[[Any], RemovableHandle] = tensor.register_hook
                self._handles.append(register(Hook(reached)))

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._first = None
        self._is_backward = False


Steps = OptimizerSteps | ForwardSteps


_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RATE = re.compile(rf"\s*({_NUMBER})\s*/\s*(s|sec|second|min|minute|h|hour)\s*\Z")
_STEPS = re.compile(r"\s*(?:every\s+)?([0-9]+)\s*(?:steps?)?\s*\Z")
_SECONDS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_NUM_WARMING = 2  # looks that set things up and say nothing of the cost
_NUM_COSTS = 7  # of which the median holds: one that was disturbed says nothing
_MEMORY = 0.8  # how much of what was known of a step's length stays with each new one
_MOST_TIMES = 4.0  # of the usual length, above which a step counts as disturbed
_DOUBLING_SECONDS = 5.0  # in which a thinned rate doubles again
_LEAST_SHARE = 1 / 64
_LEAST_RATE = 0.2  # looks a second that there are whatever they cost, where as many are asked for
_NUM_FIRST = 10  # steps that are looked at whatever it costs


LeftOut = Literal["budget", "thinned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """How often to look, as it was asked for."""

    per_second: float = math.inf
    num_steps: int = 1
    text: str = ""


def parse_rate(every: Any) -> Every:
    """`'20/s'`, `'6/min'`, 20.0 for a rate; 10 or `'10 steps'` for every tenth step."""
    if isinstance(every, Every):
        return every
    if isinstance(every, int) and not isinstance(every, bool) and every >= 1:
        return Every(num_steps=every, text=f"{every} steps" if every > 1 else "step")
    if isinstance(every, float) and 0 < every < math.inf:
        return Every(per_second=every, text=f"{every:g}/s")
    if isinstance(every, str):
        if match := _STEPS.match(every):
            if int(match[1]) >= 1:
                return parse_rate(int(match[1]))
        elif match := _RATE.match(every):
            rate = float(match[1]) / _SECONDS[match[2]]
            if 0 < rate < math.inf:
                return Every(per_second=rate, text=every.strip())
    raise InputError(
        f"every is {every!r}: give a rate such as '20/s' or '6/min', or a whole number of steps."
    )


def _after(due: float, now: float, interval: float) -> float:
    """When the next is due: keep to the beat, but do not catch up on what was missed."""
    if not interval:
        return -math.inf
    return (now if now - due > interval / 2 else due) + interval


class Pace:
    """Decides at each step whether the next one is watched, and keeps the cost below a share of the time."""

    def __init__(self, every: Every, budget: float | None) -> None:
        self.every, self.budget = every, budget
        self._next_time = -math.inf
        self._next_step: int | None = None
        self._share = 1.0  # of the rate, where the ring was full and the rate is thinned for it
        self._thinned_at = self._now = 0.0
        self._num_looks = 0
        self._costs: deque[float] = deque(maxlen=_NUM_COSTS)
        self.cost: float | None = None  # seconds for a look, both processes together
        self._step_seconds: float | None = None  # from one step to the next
        self._num_first = _NUM_FIRST if every.per_second >= _LEAST_RATE else 0  # steps that are left of those
        self._asked_time = -math.inf  # when the next look would be due if it cost nothing
        self.left_out: LeftOut | None = None  # why the last step is not watched, although that was asked for

    @property
    def is_limited(self) -> bool:
        """True if the cost, and not what was asked for, says how often to look."""
        if not self._step_seconds:
            return False
        asked = min(self.every.per_second, 1 / (self.every.num_steps * self._step_seconds))
        return self.most_per_second() < asked

    def is_due(self, now: float, step: int) -> bool:
        """True if this step is watched; then the next one is due an interval later."""
        self._now, self.left_out = now, None
        if self._next_step is not None and step < self._next_step:
            return False
        is_first, self._num_first = self._num_first > 0, max(0, self._num_first - 1)
        is_asked = now >= self._asked_time
        if is_asked:
            self._asked_time = _after(self._asked_time, now, 1 / self.every.per_second)
        if not is_first and now < self._next_time:
            if is_asked:
                self.left_out = "thinned" if self._share_at(now) < 1 else "budget"
                self._next_step = step + self.every.num_steps
            return False
        self._next_time = _after(self._next_time, now, 1 / self.most_per_second())
        self._next_step = step + self.every.num_steps
        return True

    def most_per_second(self) -> float:
        """The rate that is kept: what was asked for, or what the budget allows, but not next to nothing."""
        rate = self.every.per_second
        if self.budget is not None and self.cost:
            rate = min(rate, self.budget / self.cost)
        share = self._share_at(self._now)
        if share < 1:
            rate = min(rate, 1 / (self._step_seconds or 0.05)) * share
        return max(rate, min(_LEAST_RATE, self.every.per_second))

    def note_look(self, seconds: float) -> None:
        """A look took so long, in the training and in the child."""
        self._num_looks += 1
        if self._num_looks > _NUM_WARMING:
            self._costs.append(seconds)
            self.cost = median(self._costs)

    def note_step(self, seconds: float) -> None:
        known = seconds if self._step_seconds is None else self._step_seconds
        self._step_seconds = _MEMORY * known + (1 - _MEMORY) * min(seconds, _MOST_TIMES * known)

    def thin(self, now: float) -> None:
        """The ring was full: look half as often, for a while."""
        self._share = max(_LEAST_SHARE, self._share_at(now) / 2)
        self._thinned_at = self._now = now

    def _share_at(self, now: float) -> float:
        """Of the rate; it doubles again as time goes by."""
        return min(1.0, self._share * 2 ** min(64.0, (now - self._thinned_at) / _DOUBLING_SECONDS))
