"""`ParallelHandler`: one for a program, with children that each get some layers or tensors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.inspector.child_process import Child
from torcheer.inspector.protocol import Job
from torcheer.inspector.watch_api import callbacks_of, room_of, run_folder, tensors_of, thresholds_of
from torcheer.inspector.watched_share import WatchedShare, observed
from torcheer.inspector.watched_steps import ForwardSteps, parse_rate
from torcheer.inspector.watcher import Announcer, Watcher
from torcheer.models import WatchableLayer, rank_of, trackable, unwrapped_model


class _Tracked(NamedTuple):
    """One child of the handler."""

    watcher: Watcher
    models: list[nn.Module]
    share: WatchedShare


class ParallelHandler:
    """Hand tensors of a training to other processes, which call your functions with them.

    The first call makes it; any later `ParallelHandler()` in the program is the same one, until `stop()`.

    - `callback_onrun`: called in the child with (name, step, tensor); `DataRecorder.tensor_plot2D` is one.
    - `callback_onclosing`: called in the child before it ends.
    - `frequency`: how often a second.
    - `timeout`: a child that got nothing for so many seconds ends; what comes later starts another. 0: never.
    - `run`: the folder of a run in which figures, tensors and alarms are kept, too.
    - `observe`, `budget`, `tensors`, `start_method`: as for `tl.watch`.
    """

    _instance: ClassVar[ParallelHandler | None] = None
    _is_made: bool
    _announcer: Announcer

    def __new__(cls, *_: Any, **__: Any) -> ParallelHandler:
        if cls._instance is None or cls._instance._pid != os.getpid():
            cls._instance = super().__new__(cls)
            cls._instance._is_made = False
        return cls._instance

    def __init__(
        self,
        callback_onrun: Callable[[str, int, Tensor], Any] | None = None,
        callback_onclosing: Callable[[], Any] | None = None,
        frequency: float = 20.0,
        timeout: float = 0.0,
        *,
        run: Any = False,
        observe: Any = "all",
        tensors: Any = True,
        budget: float | None = 0.03,
        start_method: str | None = None,
    ) -> None:
        if self._is_made:
            if callback_onrun is not None or callback_onclosing is not None:
                self._announcer.warn(
                    "there is a ParallelHandler already, and this is the same one: what it was made with now "
                    "is ignored. Call stop() on it first to make another.",
                )
            return
        type(self)._instance = None  # until it is known that all of it makes sense
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout < 0:
            raise InputError(f"timeout is {timeout!r}: give seconds, or 0 for none.")
        self._pid, self._announcer = os.getpid(), Announcer()
        self._callbacks = callbacks_of(callback_onrun, callback_onclosing)
        self._every = parse_rate(float(frequency) if isinstance(frequency, int | float) else frequency)
        self._idle_seconds = float(timeout)
        self._roles = observed(observe)
        self._room = room_of(tensors_of(tensors, callback_onrun))
        self._folder = run_folder(run)
        self._budget, self._start_method = budget, start_method
        self._tracked: dict[int, _Tracked] = {}
        self._next_id = 0
        self._is_enabled = True
        type(self)._instance, self._is_made = self, True

    def track_model(self, process_id: int, models: Mapping[str, nn.Module]) -> int:
        """Track all layers of models, by name: `track_model(-1, {'model': model})`.

        `process_id` is -1 for a new child, or the id of one that is there. Returns the id.
        """
        layers = {
            f"{name}.{layer.name}".rstrip("."): layer.module
            for name, model in _checked(models, nn.Module).items()
            for layer in trackable(model)
        }
        return self._track(process_id, layers, {}, list(models.values()))

    def track_layer(self, process_id: int, layers: Mapping[str, nn.Module]) -> int:
        """Track single layers, by name: `track_layer(-1, {'first': model.features[0]})`."""
        found = {name: unwrapped_model(layer) for name, layer in _checked(layers, nn.Module).items()}
        return self._track(process_id, found, {}, [])

    def track_tensor(self, process_id: int, tensors: Mapping[str, Tensor]) -> int:
        """Track tensors, by name, and their gradients where they have some."""
        return self._track(process_id, {}, dict(_checked(tensors, Tensor)), [])

    def untrack(self, process_id: int, *names: str) -> list[str]:
        """Stop tracking layers or tensors, by name or pattern; all of the child's where no name is given."""
        watcher = self._found(process_id).watcher
        return watcher.untrack(*(names or ("*",)))

    @staticmethod
    def trackable(model: nn.Module) -> list[WatchableLayer]:
        """All layers of a model that can be tracked."""
        return trackable(model)

    @property
    def enabled(self) -> bool:
        """True if anything is tracked. Can be changed at any time."""
        return self._is_enabled

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        self._is_enabled = bool(enabled)
        for tracked in self._tracked.values():
            tracked.watcher.enabled = self._is_enabled

    @property
    def ids(self) -> list[int]:
        return list(self._tracked)

    def watcher(self, process_id: int) -> Watcher:
        """What stands behind a child: how often it looks, what it costs, what was dropped."""
        return self._found(process_id).watcher

    def is_alive(self, process_id: int | None = None) -> bool:
        """True if this child runs; without an id, if any does."""
        if process_id is not None:
            return process_id in self._tracked and self._tracked[process_id].watcher.is_alive()
        return any(tracked.watcher.is_alive() for tracked in self._tracked.values())

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until the children have seen all that was handed to them."""
        done = [tracked.watcher.flush(timeout) for tracked in self._tracked.values()]
        return all(done)

    def stop(self, process_id: int | None = None) -> None:
        """End a child, in order; without an id all of them, and the next ParallelHandler is a new one."""
        if process_id is not None:
            self._found(process_id).watcher.close()
            del self._tracked[process_id]
            return
        for tracked in self._tracked.values():
            tracked.watcher.close()
        self._tracked.clear()
        if type(self)._instance is self:
            type(self)._instance = None

    def __enter__(self) -> ParallelHandler:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<ParallelHandler, {len(self._tracked)} children>"

    def _track(
        self,
        process_id: int,
        layers: Mapping[str, nn.Module],
        tensors: Mapping[str, Tensor],
        models: list[nn.Module],
    ) -> int:
        if process_id == -1:
            process_id = self._next_id
            self._tracked[process_id] = self._started()
            self._next_id += 1
        tracked = self._found(process_id)
        for name in (*layers, *tensors):
            if name in tracked.share.layers or name in tracked.share.tensors:
                raise InputError(
                    f"{name!r} is tracked by this child already: untrack it, or choose another name."
                )
        tracked.share.layers.update(layers)
        tracked.share.tensors.update(tensors)
        tracked.models.extend(models)
        tracked.watcher.renew()
        if not tracked.share.layers and not any(t.requires_grad for t in tracked.share.tensors.values()):
            self._announcer.warn(
                f"child {process_id} has tensors alone, none of which gets a gradient: nothing says when a "
                f"step ends. Track a layer in the same child, or call watcher({process_id}).end_step()."
            )
        return process_id

    def _found(self, process_id: int) -> _Tracked:
        tracked = self._tracked.get(process_id)
        if tracked is None:
            known = ", ".join(map(str, self._tracked)) or "none yet"
            raise InputError(f"there is no child {process_id!r}: give -1 for a new one, or one of: {known}.")
        return tracked

    def _started(self) -> _Tracked:
        job = Job(
            run=self._folder,
            rank=rank_of(None),
            every=self._every.text,
            thresholds=thresholds_of(self._folder is not None),
            keeps_tensors=self._folder is not None,
            idle_seconds=self._idle_seconds,
            parent=os.getpid(),
            follows_losses=not self._tracked,
        )
        child = Child(job, self._callbacks, self._start_method)
        child.start()
        share = WatchedShare(child, self._roles, self._room, {})
        models: list[nn.Module] = []
        steps = ForwardSteps(models, share.layers, share.tensors)
        has_callback = self._callbacks is not None
        watcher = Watcher([share], steps, self._every, budget=self._budget, has_callback=has_callback)
        watcher.enabled = self._is_enabled
        return _Tracked(watcher, models, share)


def _checked(given: Any, kind: type) -> Any:
    if not isinstance(given, Mapping) or not given:
        raise InputError("give what is to be tracked by name: {'name': …}.")
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, kind):
            raise InputError(f"{name!r} is a {type(value).__name__}: give a {kind.__name__} for each name.")
    return given


ParrallelHandler = ParallelHandler  # a spelling that is in use
