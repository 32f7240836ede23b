"""Passes, histograms and NetView moments of a model that somebody else trains, as often as asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torcheer.capture import log_forward_pass, same_model_after, same_random_state_after
from torcheer.errors import InputError
from torcheer.inspector import Watcher
from torcheer.models import unwrapped
from torcheer.netview import NetView
from torcheer.run import Run
from torcheer.training.recorded_training import Recording, Watch, begin_watching, watch_options
from torcheer.training.training_warning import warn


class Called(NamedTuple):
    """A call of a module."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def as_one(self) -> Any:
        """All arguments in one: a list, or a dict of them by name."""
        if not self.kwargs:
            return list(self.args)
        return {**inspect.signature(self.module.forward).bind_partial(*self.args).arguments, **self.kwargs}


class Calls:
    """The last call of a model, or, where it is not called itself, of the largest layer of it that is.

    A step may call `self(x)`, or `self.net(x)`, as people like it.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._last: dict[nn.Module, Called] = {}
        self._handles: list[RemovableHandle] = [
            module.register_forward_pre_hook(self._note, with_kwargs=True)
            for module in dict.fromkeys((model, *model.children()))
        ]

    def of_the_model(self) -> Called | None:
        if self._model in self._last:
            return self._last[self._model]
        return max(
            self._last.values(),
            key=lambda called: sum(weight.numel() for weight in called.module.parameters()),
            default=None,
        )

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._last = {}

    def _note(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Lightning leads the call of a wrapper round to `training_step` under this name: that is no pass.
        if getattr(module.forward, "__name__", "") != "wrapped_forward":
            self._last[module] = Called(module, args, dict(kwargs))


Often = int | Literal["epoch"] | None

PASS = "pass"  # the name under which passes are kept


class Snapshots:
    """What is recorded of a model besides what is watched. Nothing here raises into the training.

    Each of the three is None, `'epoch'` for the first step of each epoch, or every so many steps.
    """

    def __init__(self, *, histograms: Often = None, passes: Often = None, netview: Often = None) -> None:
        given = {"histograms": histograms, "passes": passes, "netview": netview}
        self._often = {name: checked_often(name, often) for name, often in given.items()}
        self._due: set[str] = set()
        self._model: nn.Module | None = None
        self._run: Run | None = None
        self._watcher: Watcher | None = None
        self._view: NetView | None = None
        self._view_folder: Path | None = None
        self._calls: Calls | None = None
        self._told: set[str] = set()

    @property
    def are_wanted(self) -> bool:
        return any(self._often.values())

    def begin(self, model: Any, run: Run, watcher: Watcher | None = None) -> None:
        """Record this model into this run. A watcher writes tensors of the same names as NetView, so that the
        moments then go into the folder `netview` within the run's."""
        self._model, self._run, self._watcher = unwrapped(model), run, watcher
        self._view_folder = None if watcher is None else run.path / "netview"

    def before_step(self, step: int, *, is_first_of_epoch: bool) -> None:
        if self._model is None:
            return
        self._due = {
            name
            for name, often in self._often.items()
            if (is_first_of_epoch if often == "epoch" else often is not None and step % often == 0)
        }
        if self._due & {"passes", "netview"}:
            self._let_go()
            self._calls = Calls(self._model)

    def on_gradients(self, step: int) -> None:
        """The gradients are those that the optimizer gets."""
        if "histograms" in self._due:
            self._try("histograms", lambda: self._keep_histograms(step, ".Grad", lambda weight: weight.grad))

    def after_step(self, step: int, **counters: Any) -> None:
        due, self._due = self._due, set()
        is_asked = self._calls is not None
        called = None if self._calls is None else self._calls.of_the_model()
        self._let_go()
        if "histograms" in due:
            self._try("histograms", lambda: self._keep_histograms(step, "", lambda weight: weight))
        if is_asked and called is None:
            self._tell("inputs", "no pass was recorded: the step called neither the model nor a layer of it.")
        elif called is not None:
            with self._unwatched():
                if "passes" in due:
                    self._try("passes", lambda: self._keep_pass(step, called))
                if "netview" in due:
                    self._try("netview", lambda: self._keep_moment(called, step=step, **counters))

    def end(self) -> None:
        """Leave no hook behind, and write what is left."""
        self._let_go()
        self._due = set()
        if self._view is not None:
            self._view.close()
        self._model = self._run = self._view = self._watcher = None

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        """These passes belong to no step of the training."""
        watcher = self._watcher if self._watcher is not None and self._watcher.enabled else None
        if watcher is not None:
            watcher.enabled = False
        try:
            yield
        finally:
            if watcher is not None:
                watcher.enabled = True

    def _keep_histograms(self, step: int, ending: str, tensor_of: Callable[[Tensor], Tensor | None]) -> None:
        assert self._model is not None
        assert self._run is not None
        for name, weight in self._model.named_parameters():
            tensor = tensor_of(weight)
            if tensor is not None:
                self._run.log_histogram(step, name + ending, tensor.detach())

    def _keep_pass(self, step: int, called: Called) -> None:
        assert self._run is not None
        with same_random_state_after(), same_model_after(called.module):
            history = log_forward_pass(called.module, list(called.args), called.kwargs)
        self._run.log_pass(step, PASS, history)

    def _keep_moment(self, called: Called, **counters: Any) -> None:
        assert self._run is not None
        if self._view is None:
            # The view makes its first moment by itself, before it can be told the counters.
            run = self._run if self._view_folder is None else self._view_folder
            self._view = NetView(called.module, called.as_one(), run=run)
        else:
            self._view.update(called.as_one(), **counters)

    def _let_go(self) -> None:
        if self._calls is not None:
            self._calls.remove()
            self._calls = None

    def _try(self, what: str, record: Callable[[], None]) -> None:
        try:
            record()
        except Exception as error:
            self._tell(what, f"{what} cannot be recorded: {type(error).__name__}: {error}")

    def _tell(self, cause: str, message: str) -> None:
        if cause not in self._told:
            self._told.add(cause)
            warn(f"{message} The training goes on.")


def checked_often(name: str, often: Any) -> Often:
    if often is None or often is False:
        return None
    if often == "epoch":
        return "epoch"
    if isinstance(often, bool) or not isinstance(often, int) or often < 1:
        raise InputError(f"{name} is {often!r}: give 'epoch', a number of steps, or None.")
    return often


# --- callbacks of other trainers ----------------------------------------------------------------------------


class RecordingCallback:
    """What the callbacks of Lightning and transformers share: a run, a watcher, snapshots of the model."""

    def __init__(self, watch: Watch, **often: Often) -> None:
        watch_options(watch)  # what makes no sense is told now, not when the training begins
        self._watch = watch
        self._snapshots = Snapshots(**often)
        self._recording: Recording | None = None  # in the middle of a training

    @property
    def run(self) -> Run | None:
        """Open while the Trainer trains: `callback.run.log_text(step, "sample", text)`."""
        return None if self._recording is None else self._recording.run

    @property
    def watcher(self) -> Watcher | None:
        return None if self._recording is None else self._recording.watcher

    def _begin(self, recording: Recording, model: Any, optimizer: Any, *, first_step: int, rank: int) -> None:
        self._recording = recording
        begin_watching(recording, self._watch, model, optimizer, first_step=first_step, rank=rank)
        if rank == 0 and self._snapshots.are_wanted:
            self._snapshots.begin(model, recording.run, recording.watcher)

    def _end(self, error: BaseException | None) -> None:
        recording, self._recording = self._recording, None
        self._snapshots.end()
        if recording is not None:
            recording.end(error)
