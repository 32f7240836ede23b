"""transformers' Trainer with torcheer: its logs, its settings and, if you like, its layers in a run.

    from torcheer.training.transformers import TorcheerCallback

    with TorcheerCallback("runs/a", watch="20/s") as callback:
        Trainer(model, args, train_dataset=data, callbacks=[callback]).train()

Needs transformers (with accelerate, for its Trainer); nothing else of torcheer does.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Self

from torcheer.models import rank_of
from torcheer.run import Run, folder_of
from torcheer.training.distributed import from_main, is_main
from torcheer.training.recorded_training import Often, Recording, RecordingCallback, Watch

try:
    _library: Any = importlib.import_module("transformers.trainer_callback")
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "transformers":
        raise
    raise ImportError(
        "torcheer.training.transformers needs transformers, which is not installed: pip install "
        "'transformers[torch]'"
    ) from error

__all__ = ["TorcheerCallback"]

_PHASES = ("eval", "test")  # what does not begin with one of these is of the training
_Trainer: Any = (_library.TrainerCallback, _library.ExportableState)
_open: weakref.WeakSet[Recording] = weakref.WeakSet()


class TorcheerCallback(RecordingCallback, *_Trainer):  # type: ignore[misc]
    """A callback of transformers' Trainer: `Trainer(..., callbacks=[TorcheerCallback("runs/a")])`.

    The run has what the Trainer logs, at its own steps: `train/loss`, `train/learning_rate`, `eval/loss`, and
    its arguments as hyperparameters. `train(resume_from_checkpoint=...)` goes on with the same run, and takes
    back what it has of later steps. Rank 0 writes; with `watch` each rank has a part for its own layers.

    - `run`: the folder. Left out, each training makes a new one in `runs/`, and one that is resumed goes on
      with its own.
    - `watch`: how often the layers are watched, `'20/s'` or every so many steps; a dict with options of
      `tl.watch`; or False, which is the default.
    - `histograms`, `passes`, `netview`: histograms of weights and their gradients, a pass with the figures of
      each op, a moment for NetView: `'epoch'` for the first step of each epoch, or every so many steps.
    - `comment`, `tags`: words to find the run by.

    The Trainer tells its callbacks nothing of an exception. In a `with callback:` the run dies of it at once;
    without one, when the program ends or the next training begins.
    """

    def __init__(
        self,
        run: str | os.PathLike[str] | None = None,
        *,
        watch: Watch = False,
        histograms: Often = None,
        passes: Often = None,
        netview: Often = None,
        comment: str = "",
        tags: tuple[str, ...] | list[str] | str = (),
    ) -> None:
        snapshots = {"histograms": histograms, "passes": passes, "netview": netview}
        super().__init__(watch, **snapshots)
        self._given = None if run is None else str(folder_of(run))
        self._words: dict[str, Any] = {"comment": comment, "tags": tags}
        self._arguments = {"run": self._given, "watch": watch, **snapshots, **self._words}
        self._folder = self._given
        self._is_first_of_epoch = True
        self._is_looking_away = False
        self._is_untouched = True  # by a training: what was evaluated before it belongs to the same run

    @property
    def path(self) -> str | None:
        """The folder of the run, as soon as there is one."""
        return self._folder

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **_: Any
    ) -> None:
        self._end(_not_ended())
        self._folder = from_main(self._folder_for(state) if is_main() else None)
        self._is_untouched = False
        for left in list(_open):  # of a Trainer that was left by an exception, whose run another goes on with
            if str(left.run.path) == self._folder:
                left.end(_not_ended())
        # The Trainer counts the steps that are over: what it logs after the first one, it logs at 1.
        first_step = state.global_step + 1
        purge_step = first_step if state.global_step else None
        run = self._opened(purge_step=purge_step, total_steps=state.max_steps or None)
        recording = Recording(run)
        _open.add(recording)
        weakref.finalize(self, recording.end, _not_ended()).atexit = False  # too late: see below
        self._begin(recording, model, optimizer, first_step=first_step, rank=rank_of())
        if state.is_world_process_zero:
            # All arguments of the Trainer, without the secrets among them.
            settings = args.to_sanitized_dict() if hasattr(args, "to_sanitized_dict") else vars(args)
            run.log_hparams(dict(settings), step=state.global_step)
            config: Any = getattr(model, "config", None)
            if hasattr(config, "to_json_string"):
                run.log_text(state.global_step, "model_config", config.to_json_string())
        self._look_away(getattr(args, "eval_on_start", False))

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._is_first_of_epoch = True

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.watcher is not None and self._is_looking_away:
            self.watcher.enabled = True
        self._is_looking_away = False
        self._before_step(state.global_step + 1, is_first_of_epoch=self._is_first_of_epoch)
        self._is_first_of_epoch = False

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._on_gradients(state.global_step + 1)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._after_step(state.global_step, epoch=f"{state.epoch or 0:.2f}")
        self._look_away(control.should_evaluate)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._look_away(control.should_evaluate)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._look_away(True)  # where somebody evaluates who did not say so

    def _look_away(self, is_evaluated: bool) -> None:
        """Until the next step begins: the layers run many times, and none of that belongs to a step."""
        if is_evaluated and self.watcher is not None and self.watcher.enabled:
            self.watcher.enabled = False
            self._is_looking_away = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._end(None)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any
    ) -> None:
        self._report(state, logs)

    def on_predict(
        self, args: Any, state: Any, control: Any, metrics: Mapping[str, Any] | None = None, **_: Any
    ) -> None:
        self._report(state, metrics)  # which the Trainer logs nowhere else

    def _report(self, state: Any, values: Mapping[str, Any] | None) -> None:
        if values and state.is_world_process_zero:
            with self._reachable(state) as run:
                run.log(state.global_step, {_name_of(name): value for name, value in values.items()})

    @contextmanager
    def _reachable(self, state: Any) -> Iterator[Run]:
        """The run; outside of a training, where nobody says when it is over, only for as long as it takes."""
        if self._recording is not None:
            yield self._recording.run
            return
        if self._folder is None:
            self._folder = self._folder_for(state)
        with self._opened() as run:
            yield run

    def _folder_for(self, state: Any) -> str:
        if self._given is not None:
            trial = state.trial_name if state.is_hyper_param_search else None
            return os.path.join(self._given, str(trial)) if trial else self._given
        goes_on = state.global_step > 0
        kept = (state.stateful_callbacks or {}).get(type(self).__name__) if goes_on else None
        found = kept.get("attributes", {}).get("_folder") if isinstance(kept, Mapping) else None
        if found:
            return str(found)
        if self._folder is not None and (goes_on or self._is_untouched):
            return self._folder
        return str(folder_of(None))

    def _opened(self, **options: Any) -> Run:
        return Run(self._folder, rank=rank_of(), **self._words, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._end(error)

    def state(self) -> dict[str, Any]:
        """How it was made, and where the run is, so that a training that goes on finds it."""
        return {"args": _as_json(self._arguments), "attributes": {"_folder": self._folder}}


def _name_of(name: str) -> str:
    """As transformers names them for TensorBoard: `eval_loss` is `eval/loss`, `loss` is `train/loss`."""
    phase, _, rest = name.partition("_")
    return f"{phase}/{rest}" if rest and phase in _PHASES else f"train/{name}"


def _as_json(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a checkpoint of the Trainer can hold. What it cannot, such as a function, is left out."""
    kept = {}
    for name, value in arguments.items():
        with suppress(TypeError, ValueError):
            kept[name] = json.loads(json.dumps(value))
    return kept


@atexit.register
def _end_all() -> None:
    """Before the runs themselves are closed as finished: a Trainer that was left in its middle is not."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    for recording in list(_open):
        recording.end(error if isinstance(error, BaseException) else _not_ended())


def _not_ended() -> RuntimeError:
    return RuntimeError("the Trainer did not come to its end")
