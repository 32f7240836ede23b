"""Record a training whose loop is somebody else's: `tl.training_run`, and what the adapters share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torcheer.capture import log_forward_pass, same_model_after, same_random_state_after
from torcheer.errors import InputError
from torcheer.inspector import Watcher, parse_rate
from torcheer.inspector import watch as watch_training
from torcheer.models import num_ranks, rank_of, unwrapped_model
from torcheer.netview import NetView
from torcheer.run import (
    NOT_A_NUMBER,
    Run,
    RunAccess,
    RunReader,
    ending_of,
    folder_of,
    is_run,
    number_of,
    rank_in,
    whole_number_of,
)
from torcheer.training.distributed import from_main, is_connected, is_main, names_of_rank
from torcheer.training.training_progress import StepBar
from torcheer.training.training_warning import warn

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


class Recording:
    """A run and its watcher, until `end`. `is_own=False`: somebody else opened the run, and it stays open."""

    def __init__(self, run: Run, *, is_own: bool = True) -> None:
        self.run = run
        self.watcher: Watcher | None = None
        self._is_own = is_own
        self._is_over = False

    def _begin_watching(
        self, watch: Watch, model: Any, optimizer: Any, *, first_step: int, rank: int
    ) -> None:
        """`tl.watch` into this run, where it is wanted. What goes wrong with it ends the run."""
        options = watch_options(watch)
        if options is None:
            return
        try:
            self.watcher = watch_training(
                model, optimizer, self.run.path, first_step=first_step, rank=rank, **options
            )
        except BaseException as error:
            self.end(error)
            raise

    def end(self, error: BaseException | None) -> None:
        """With an error, run and watcher say that they died of it."""
        if self._is_over:
            return
        self._is_over = True
        try:
            if self.watcher is not None:
                self.watcher.close_with(ending_of(error).reason)
        finally:
            if self._is_own:
                RunAccess(self.run).close(ending_of(error))


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
        raise InputError(f"watch is {watch!r}, and there is no model to watch: give model=, and optimizer=.")
    optimizers = _listed(optimizer)
    run, begun = _opened(path, first_step, comment=comment, tags=tags, total_steps=total_steps)
    training = TrainingRun(run, optimizers, first_step=begun, is_own=not isinstance(path, Run))
    training._begin_watching(watch, model, optimizers or None, first_step=begun, rank=rank_of())
    if hparams and is_main():
        run.log_hparams(hparams)
    if progress and is_main():
        training.bar = StepBar(begun, total_steps)
    return training


class TrainingRun(Recording):
    """A training that is recorded as it goes. Leaving its `with` ends it; so does `close()`."""

    def __init__(self, run: Run, optimizers: Sequence[Any], *, first_step: int, is_own: bool) -> None:
        super().__init__(run, is_own=is_own)
        self.num_steps = first_step  # that are over; the number of the one that is under way
        self.num_epochs = 0  # that ended in this session; may be set where a training goes on
        self.bar: StepBar | None = None
        self._optimizers = optimizers
        self._first_step = first_step
        self._sums: dict[str, tuple[Any, int]] = {}  # of the steps of this epoch, and of how many

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
            number = _number_in(value)
            if number is not NOT_A_NUMBER:
                total, count = self._sums.get(name, (0.0, 0))
                self._sums[name] = total + number, count + 1
                given[name] = number
        step, self.num_steps = self.num_steps, self.num_steps + 1
        self._keep(step, {**given, **_learning_rates(self._optimizers)})
        if self.bar is not None:
            self.bar.show_step(self.num_steps, given)
        return step

    def epoch(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, float]:
        """An epoch is over: keep the means of what its steps gave, and what else is given here, such as
        `test_loss=0.3`, with the last step. Returns the means.
        """
        means = {name: float(total) / count for name, (total, count) in self._sums.items()}
        self._sums = {}
        self.num_epochs += 1
        of_epoch: dict[str, Any] = {
            f"epoch/{str(name).removeprefix('train/')}": value for name, value in means.items()
        }
        of_epoch["epoch"] = self.num_epochs
        given = self._given(values, named)
        self._keep(max(self._first_step, self.num_steps - 1), {**of_epoch, **given})
        if self.bar is not None:
            self.bar.show_epoch(self.num_epochs, {**means, **given})
        return means

    def _keep(self, step: int, values: dict[str, Any]) -> None:
        if values:
            self.run.log(step, names_of_rank(values))

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
        if self.bar is not None:
            self.bar.close()
        super().end(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.end(error)

    def __repr__(self) -> str:
        return f"<TrainingRun {self.run.path} {self.run.state}, {self.num_steps} steps>"


def _number_in(value: Any) -> Any:
    """As a plain number, or `NOT_A_NUMBER`. On another device it stays there: nobody need wait for it."""
    try:
        is_elsewhere = isinstance(value, Tensor) and value.numel() == 1 and not value.is_cpu
        return value.detach().reshape(()) if is_elsewhere else number_of(value)
    except Exception:  # `run.log` says what is wrong with it
        return NOT_A_NUMBER


def _listed(optimizer: Any) -> list[Any]:
    if optimizer is None:
        return []
    listed = list(optimizer) if isinstance(optimizer, list | tuple) else [optimizer]
    for one in listed:
        if not hasattr(one, "param_groups"):
            raise InputError(f"an optimizer is a {type(one).__name__}: give torch.optim.Optimizers.")
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
    return Run(folder, purge_step=first_step, rank=rank_of(), **options), begun


def _next_step(folder: Path) -> int:
    """After the last one that this rank has in the run."""
    if not folder.is_dir() or not is_run(folder):
        return 0
    reader = RunReader(folder)
    try:
        own = [part for name, part in reader.parts().items() if rank_in(name) == rank_of()]
        return max((entry.last_step for part in own for entry in part.series().values()), default=-1) + 1
    finally:
        reader.close()


Often = int | Literal["epoch"] | None


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


class RecordingCallback:
    """What the callbacks of Lightning and transformers share: a run, a watcher, snapshots of the model.

    Each kind of snapshot is taken never (None), `'epoch'` for the first step of each epoch, or every so many
    steps. None of them raises into the training.
    """

    def __init__(self, watch: Watch, **often: Often) -> None:
        watch_options(watch)  # what makes no sense is told now, not when the training begins
        self._watch = watch
        self._often = {name: _checked_often(name, one) for name, one in often.items()}
        self._recording: Recording | None = None  # in the middle of a training
        self._model: nn.Module | None = None  # of which snapshots are taken
        self._due: set[str] = set()  # in the step that is under way
        self._view: NetView | None = None
        self._handles: list[RemovableHandle] = []
        self._called: dict[nn.Module, Called] = {}  # the last call of the model, and of each layer of it
        self._told: set[str] = set()

    @property
    def run(self) -> Run | None:
        """Open while the Trainer trains: `callback.run.log_text(step, "sample", text)`."""
        return None if self._recording is None else self._recording.run

    @property
    def watcher(self) -> Watcher | None:
        return None if self._recording is None else self._recording.watcher

    def _begin(self, recording: Recording, model: Any, optimizer: Any, *, first_step: int, rank: int) -> None:
        self._recording = recording
        recording._begin_watching(self._watch, model, optimizer, first_step=first_step, rank=rank)
        if rank == 0 and any(self._often.values()):
            self._model = unwrapped_model(model)

    def _before_step(self, step: int, *, is_first_of_epoch: bool) -> None:
        if self._model is None:
            return
        self._due = {
            name
            for name, often in self._often.items()
            if (is_first_of_epoch if often == "epoch" else often is not None and step % often == 0)
        }
        if self._due & {"passes", "netview"}:
            self._let_go()
            self._handles = [
                module.register_forward_pre_hook(self._note, with_kwargs=True)
                for module in dict.fromkeys((self._model, *self._model.children()))
            ]

    def _note(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Lightning leads the call of a wrapper round to `training_step` under this name: that is no pass.
        if getattr(module.forward, "__name__", "") != "wrapped_forward":
            self._called[module] = Called(module, args, dict(kwargs))

    def _on_gradients(self, step: int) -> None:
        """The gradients are those that the optimizer gets."""
        if "histograms" in self._due:
            self._try("histograms", lambda: self._keep_histograms(step, ".Grad", lambda weight: weight.grad))

    def _after_step(self, step: int, **counters: Any) -> None:
        due, self._due = self._due, set()
        called = self._let_go()
        if "histograms" in due:
            self._try("histograms", lambda: self._keep_histograms(step, "", lambda weight: weight))
        if called is None and due - {"histograms"}:
            self._tell("inputs", "no pass was recorded: the step called neither the model nor a layer of it.")
        elif called is not None:
            with self._unwatched():
                if "passes" in due:
                    self._try("passes", lambda: self._keep_pass(step, called))
                if "netview" in due:
                    self._try("netview", lambda: self._keep_moment(called, step=step, **counters))

    def _end(self, error: BaseException | None) -> None:
        """Leave no hook behind, and write what is left."""
        recording, self._recording = self._recording, None
        self._let_go()
        if self._view is not None:
            self._view.close()
        self._due, self._model, self._view = set(), None, None
        if recording is not None:
            recording.end(error)

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        """These passes belong to no step of the training."""
        watcher = self.watcher
        if watcher is None or not watcher.enabled:
            yield
            return
        watcher.enabled = False
        try:
            yield
        finally:
            watcher.enabled = True

    def _keep_histograms(self, step: int, ending: str, tensor_of: Callable[[Tensor], Tensor | None]) -> None:
        assert self._model is not None
        assert self.run is not None
        for name, weight in self._model.named_parameters():
            tensor = tensor_of(weight)
            if tensor is not None:
                self.run.log_histogram(step, name + ending, tensor.detach())

    def _keep_pass(self, step: int, called: Called) -> None:
        assert self.run is not None
        with same_random_state_after(), same_model_after(called.module):
            history = log_forward_pass(called.module, list(called.args), called.kwargs)
        self.run.log_pass(step, "pass", history)

    def _keep_moment(self, called: Called, **counters: Any) -> None:
        assert self.run is not None
        if self._view is None:
            # The view makes its first moment by itself, before it can be told the counters. A watcher writes
            # tensors of the same names, so that the moments then go into a folder of their own.
            run = self.run if self.watcher is None else self.run.path / "netview"
            self._view = NetView(called.module, called.as_one(), run=run)
        else:
            self._view.update(called.as_one(), **counters)

    def _let_go(self) -> Called | None:
        """Remove the hooks. The last call of the model; of its largest layer, where it was not called itself.

        A step may call `self(x)`, or `self.net(x)`, as people like it.
        """
        for handle in self._handles:
            handle.remove()
        called, self._handles, self._called = self._called, [], {}
        if self._model in called:
            return called[self._model]

        def size(one: Called) -> int:
            return sum(weight.numel() for weight in one.module.parameters())

        return max(called.values(), key=size, default=None)

    def _try(self, what: str, record: Callable[[], None]) -> None:
        try:
            record()
        except Exception as error:
            self._tell(what, f"{what} cannot be recorded: {type(error).__name__}: {error}")

    def _tell(self, cause: str, message: str) -> None:
        if cause not in self._told:
            self._told.add(cause)
            warn(f"{message} The training goes on.")


def _checked_often(name: str, often: Any) -> Often:
    if often is None or often is False:
        return None
    if often != "epoch" and (isinstance(often, bool) or not isinstance(often, int) or often < 1):
        raise InputError(f"{name} is {often!r}: give 'epoch', a number of steps, or None.")
    return often  # type: ignore[no-any-return]
