"""When a step begins and ends: by the optimizer where there is one, otherwise by the forward passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from torcheer.inspector.layer_hooks import Hook
from torcheer.inspector.row_plan import Share

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
        def before(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
            if optimizer in self._stepped:  # a new round, although nobody ended the last one
                self._last = self._stepped[-1]
                self._end(told)
            own = self._own(optimizer)
            if not _has_closure(args, kwargs):
                told.on_gradients_ready(own)
            told.on_update_due(own)

        def after(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
            own = self._own(optimizer)
            if _has_closure(args, kwargs):
                told.on_gradients_ready(own)
            told.on_updated(own)
            self._stepped.append(optimizer)
            if len(self._stepped) == len(self.optimizers):
                self._last = optimizer
            if optimizer is self._last:
                self._end(told)

        for optimizer in self.optimizers:
            self._handles.append(optimizer.register_step_pre_hook(before))
            self._handles.append(optimizer.register_step_post_hook(after))

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _end(self, told: Watcher) -> None:
        self._stepped.clear()
        told.on_step_end()

    def _own(self, optimizer: Optimizer) -> Ids:
        if len(self.optimizers) == 1:
            return None
        groups = optimizer.param_groups
        return frozenset(id(parameter) for group in groups for parameter in group["params"])


def _has_closure(args: Any, kwargs: Any) -> bool:
    """Whether the optimizer computes the gradients itself, during its step."""
    closure = kwargs.get("closure", args[1] if len(args) > 1 else args[0] if args else None)
    return callable(closure) and not isinstance(closure, Optimizer)


class ForwardSteps:
    """A step is a forward pass and all that follows until the next one.

    Where the models themselves are never called, but their layers are, the first of these begins it. Where
    there are tensors alone, a step ends with a backward pass that reaches one of them.
    """

    knows_update = False

    def __init__(self, models: Sequence[nn.Module], share: Share) -> None:
        """`models` and `share` may grow: what counts is what is there at the start."""
        self._models, self._share = models, share
        self._handles: list[RemovableHandle] = []
        self._places: dict[nn.Module, RemovableHandle] = {}
        self._first: nn.Module | None = None
        self._is_backward = False

    @property
    def is_outside(self) -> bool:
        """Whether steps end before compiled code begins: torch.compile's wrapper calls its hooks itself."""
        return bool(self._models) and all(hasattr(model, "_orig_mod") for model in self._models)

    def start(self, told: Watcher) -> None:
        def begins(module: nn.Module, _args: Any) -> None:
            if torch._C._current_graph_task_id() != -1:
                return  # a checkpoint computes again: no new pass
            if self._first is None:
                self._first = module
                self._forget_all_but(module)
            elif module is self._first:
                told.on_step_end()

        watched = dict.fromkeys([*self._models, *self._share.layers.values()])
        self._places = {module: module.register_forward_pre_hook(Hook(begins)) for module in watched}
        self._handles = list(self._places.values())
        if not watched:
            self._start_with_tensors(told)

    def _start_with_tensors(self, told: Watcher) -> None:
        def ends() -> None:
            self._is_backward = False
            told.on_step_end()

        def reached(_gradient: Any) -> None:
            if not self._is_backward:
                self._is_backward = True
                torch.autograd.Variable._execution_engine.queue_callback(ends)

        for tensor in self._share.tensors.values():
            if tensor.requires_grad:
                register: Callable[[Any], RemovableHandle] = tensor.register_hook
                self._handles.append(register(Hook(reached)))

    def _forget_all_but(self, module: nn.Module) -> None:
        for other, handle in self._places.items():
            if other is not module:
                handle.remove()
        self._handles = [self._places[module]]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._first = None
        self._is_backward = False


Steps = OptimizerSteps | ForwardSteps
