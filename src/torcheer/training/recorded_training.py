"""`with tl.training_run(...)`: record a training whose loop is your own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.inspector import Watcher, parse_rate
from torcheer.inspector import watch as watch_training
from torcheer.models import num_ranks
from torcheer.run import (
    NOT_A_NUMBER,
    Run,
    RunReader,
    ending_of,
    folder_of,
    is_run,
    number_of,
    rank_in,
    whole_number_of,
)
from torcheer.training.distributed import from_main, is_connected, is_main, names_of_rank, rank
from torcheer.training.training_progress import StepBar

# --- the run and its watcher --------------------------------------------------------------------------------


class Recording:
    """Open until `end`. A run that somebody else opened stays open then (`is_own=False`)."""

    def __init__(self, run: Run, *, is_own: bool = True) -> None:
        self.run = run
        self.watcher: Watcher | None = None
        self.is_over = False
        self._is_own = is_own

    def end(self, error: BaseException | None) -> None:
        """With an error, both say that they died of it."""
        if self.is_over:
            return
        self.is_over = True
        watcher, self.watcher = self.watcher, None
        try:
            if watcher is not None:
                watcher.close_with(ending_of(error).reason)
        finally:
            if self._is_own:
                self.run.__exit__(None if error is None else type(error), error, None)


Watch = bool | str | int | float | Mapping[str, Any] | None

_OURS = ("model", "optimizer", "run", "rank", "first_step")


def watch_options(watch: Watch) -> dict[str, Any] | None:
    """The options of `tl.watch`; None where nothing is to be watched. Raises InputError."""
    if watch is None or watch is False:
        return None
    if watch is True:
        return {}
    if not isinstance(watch, Mapping):
        parse_rate(watch)
        return {"every": watch}
    taken = [name for name in _OURS if name in watch]
    if taken:
        raise InputError(
            f"watch has {', '.join(map(repr, taken))}: that is known here already. Give what is left of "
            "tl.watch's options, such as {'every': '20/s', 'layers': 'features.*'}."
        )
    return dict(watch)


def begin_watching(
    recording: Recording, watch: Watch, model: nn.Module, optimizer: Any, *, first_step: int, rank: int
) -> None:
    """`tl.watch` into the run that is recorded, where it is wanted. What goes wrong with it ends the run."""
    options = watch_options(watch)
    if options is None:
        return
    try:
        recording.watcher = watch_training(
            model, optimizer, recording.run.path, first_step=first_step, rank=rank, **options
        )
    except BaseException as error:
        recording.end(error)
        raise


_Path = str | os.PathLike[str]


def training_run(
    path: _Path | Run | None = None,
    *,
    model: Any = None,
    optimizer: Any = None,
    watch: Watch = False,
    total_steps: int | None = None,
    first_step: int | None = None,
    hparams: Mapping[str, Any] | None = None,
    comment: str = "",
    tags: tuple[str, ...] | list[str] | str = (),
    progress: bool = False,
) -> TrainingRun:
    """Record a training whose loop is your own.

    `with tl.training_run("runs/a") as training:` around the loop, and `training.step(loss=loss)` at the end
    of each step. An exception, Ctrl-C too, goes on its way, and the run says what it died of.

    - `path`: the folder of the run, a new one in `runs/` where it is left out; or a `tl.Run`, which stays
      open.
    - `optimizer`: one or several; the learning rate is kept with each step, as `lr`.
    - `watch`: `'20/s'`, every so many steps, or a dict with options of `tl.watch`: all layers of `model` are
      watched from another process.
    - `total_steps`: where it will end, if you know.
    - `first_step`: where it goes on after a checkpoint: what the run has from this step on is taken back.
      Left out, steps go on after the last one of the run, and begin with 0 in a new one.
    - `hparams`: settings of the run, by name.
    - `progress`: a bar with the rate and, with `total_steps`, the time that is left; a line for each
      epoch where there is no terminal.

    Under torchrun every process calls it, with the same path. Rank 0 keeps values under their names, the
    others under `rank-1/loss` and so on, each in a part of its own.
    """
    if watch_options(watch) is not None and model is None:
        raise InputError(
            f"watch is {watch!r}, and there is no model to be watched: give model=, and the optimizer=."
        )
    optimizers = _listed(optimizer)
    run, begun = _opened(path, first_step, comment=comment, tags=tags, total_steps=total_steps)
    recording = Recording(run, is_own=not isinstance(path, Run))
    begin_watching(recording, watch, model, optimizers or None, first_step=begun, rank=rank())
    if hparams and is_main():
        run.log_hparams(hparams)
    bar = StepBar(begun, total_steps) if progress and is_main() else None
    return TrainingRun(recording, optimizers, first_step=begun, bar=bar)


class TrainingRun:
    """A training that is recorded as it goes. Leaving its `with` ends it; so does `close()`."""

    def __init__(
        self,
        recording: Recording,
        optimizers: Sequence[Any],
        *,
        first_step: int,
        bar: StepBar | None,
    ) -> None:
        self.run, self.watcher = recording.run, recording.watcher
        self.num_steps = first_step  # that are over; the number of the one that is under way
        self.num_epochs = 0  # that ended in this session; may be set where a training goes on
        self._is_main = is_main()
        self._optimizers = optimizers
        self._recording = recording
        self._bar = bar
        self._first_step = first_step
        self._means: dict[str, _Mean] = {}  # of this epoch

    def log(
        self, values: Mapping[str, Any] | None = None, /, *, step: int | None = None, **named: Any
    ) -> None:
        """Keep something by name, as `run.log` does, with the step that is under way. Never raises."""
        self._keep(self.num_steps if step is None else step, self._given(values, named))

    def step(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> int:
        """A step is over: keep what came of it, such as `loss=loss`. Returns its number. Never raises.

        Call it where `optimizer.step()` was called: what is watched counts these.
        """
        given = self._given(values, named)
        for name, value in given.items():
            mean = self._means.get(name)
            if mean is None:
                mean = self._means[name] = _Mean()
            given[name] = mean.taken(value)
        step, self.num_steps = self.num_steps, self.num_steps + 1
        self._keep(step, {**given, **_learning_rates(self._optimizers)})
        if self._bar is not None:
            self._bar.show_step(self.num_steps, given)
        return step

    def epoch(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, float]:
        """An epoch is over: keep the means of what its steps gave, and what else is given here, such as
        `test_loss=0.3`, with the last step. Returns the means.
        """
        means = {name: mean.value for name, mean in self._means.items() if mean.count}
        self._means = {}
        self.num_epochs += 1
        of_epoch: dict[str, Any] = {
            f"epoch/{str(name).removeprefix('train/')}": value for name, value in means.items()
        }
        of_epoch["epoch"] = self.num_epochs
        given = self._given(values, named)
        self._keep(max(self._first_step, self.num_steps - 1), {**of_epoch, **given})
        if self._bar is not None:
            self._bar.show_epoch(self.num_epochs, {**means, **given})
        return means

    def _keep(self, step: int, values: dict[str, Any]) -> None:
        if values:
            self.run.log(step, values if self._is_main else names_of_rank(values))

    def _given(self, values: Any, named: Mapping[str, Any]) -> dict[str, Any]:
        if values is None or isinstance(values, Mapping):
            return {**(values or {}), **named}
        self.run.log(self.num_steps, values)  # says once that it has no name, and how to give it one
        return dict(named)

    def close(self) -> None:
        """Write what is left, and say that the training is finished."""
        self.end(None)

    def end(self, error: BaseException | None) -> None:
        """The same; with an error, the run says that it died of it."""
        if self._bar is not None:
            self._bar.close()
        self._recording.end(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)

    def __repr__(self) -> str:
        return f"<TrainingRun {self.run.path} {self.run.state}, {self.num_steps} steps>"


class _Mean:
    """Of what the steps of an epoch gave under one name. What is no number does not count."""

    def __init__(self) -> None:
        self.count = 0
        self._total: Any = 0.0

    def taken(self, value: Any) -> Any:
        """Count it. Gives the same as a plain number, where that can be had at once."""
        try:
            # On another device it stays there: the training need not wait for it.
            is_elsewhere = isinstance(value, Tensor) and value.numel() == 1 and not value.is_cpu
            number = value.detach().reshape(()) if is_elsewhere else number_of(value)
        except Exception:  # `run.log` says what is wrong with it
            return value
        if number is NOT_A_NUMBER:
            return value
        self._total = self._total + number
        self.count += 1
        return number

    @property
    def value(self) -> float:
        return float(self._total) / self.count


def _listed(optimizer: Any) -> list[Any]:
    if optimizer is None:
        return []
    given = [optimizer] if hasattr(optimizer, "param_groups") else optimizer
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError(
            f"optimizer is a {type(optimizer).__name__}: give a torch.optim.Optimizer, or a list."
        )
    listed = list(given)
    for one in listed:
        if not hasattr(one, "param_groups"):
            raise InputError(f"one of the optimizers is a {type(one).__name__}: give torch.optim.Optimizers.")
    return listed


def _learning_rates(optimizers: Sequence[Any]) -> dict[str, Any]:
    """`lr`; where there are several groups of parameters, `lr/0`, `lr/1` and so on."""
    rates = [group.get("lr") for one in optimizers for group in one.param_groups]
    if len(rates) == 1:
        return {} if rates[0] is None else {"lr": rates[0]}
    return {f"lr/{number}": rate for number, rate in enumerate(rates) if rate is not None}


def _opened(path: _Path | Run | None, first_step: int | None, **options: Any) -> tuple[Run, int]:
    """The run, and the number of the step that comes next."""
    if first_step is not None:
        first_step = whole_number_of("first_step", first_step, least=0)
    if isinstance(path, Run):
        return path, from_main(_next_step(path.path)) if first_step is None else first_step
    if path is None and num_ranks() > 1 and not is_connected():
        raise InputError(
            "several processes train together, and each would make a folder of its own: give the run a path, "
            "or call torch.distributed.init_process_group before."
        )
    # Each rank by itself would find another folder, or what others have written by then.
    folder = from_main(folder_of(path) if path is not None or is_main() else None)
    assert folder is not None
    begun = from_main(_next_step(folder)) if first_step is None else first_step
    return Run(folder, purge_step=first_step, rank=rank(), **options), begun


def _next_step(folder: Path) -> int:
    """After the last one that this rank has in the run."""
    if not folder.is_dir() or not is_run(folder):
        return 0
    reader = RunReader(folder)
    try:
        own = [part for name, part in reader.parts().items() if rank_in(name) == rank()]
        return max((entry.last_step for part in own for entry in part.series().values()), default=-1) + 1
    finally:
        reader.close()
