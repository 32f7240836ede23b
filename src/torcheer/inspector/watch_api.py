"""`tl.watch`: one line, and all layers of a training are watched from another process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, Final

import msgspec
import torch
from torch import nn
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.inspector.child_process import Child, check_start
from torcheer.inspector.protocol import Callbacks, Job, Raised, Thresholds
from torcheer.inspector.watch_names import next_step, take_name
from torcheer.inspector.watched_share import Room, Tensors, WatchedShare, observed
from torcheer.inspector.watched_steps import ForwardSteps, OptimizerSteps, parse_rate
from torcheer.inspector.watcher import Watcher, WhenFull
from torcheer.models import chosen_layers, rank_of
from torcheer.run import folder_of

MAX_BYTES: Final = 1 << 30


def watch(
    model: nn.Module,
    optimizer: Optimizer | Iterable[Optimizer] | None = None,
    run: Any = None,
    every: str | int | float = "20/s",
    *,
    layers: Any = "all",
    observe: Any = "all",
    tensors: Tensors | bool = True,
    exact: bool = False,
    budget: float | None = 0.03,
    when_full: WhenFull = "drop",
    alarms: Thresholds | bool = True,
    on_alarm: Callable[[Raised], Any] | None = None,
    callback: Callable[[str, int, torch.Tensor], Any] | None = None,
    on_closing: Callable[[], Any] | None = None,
    children: int = 1,
    rank: int | None = None,
    first_step: int | None = None,
    name: str | None = None,
    max_bytes: int = MAX_BYTES,
    start_method: str | None = None,
) -> Watcher:
    """Watch a training: activations, gradients, weights and what happens to them, from another process.

    `watcher = tl.watch(model, optimizer=optimizer, run="runs/a")`, before the first step, and `torcheer view
    runs` shows it live. Use it in a `with`, or call `watcher.close()`; a program that simply ends does that.

    - `optimizer`: the one that trains the model, or several: a step is a call of its `step()`. Without one, a
      step is a forward pass.
    - `run`: the folder of a run, or a `tl.Run`; left out, a new one in `runs/`. False: nothing is kept.
    - `every`: how often: `'20/s'`, `'6/min'`, or every so many steps.
    - `layers`: `'all'`, or names, patterns (`'features.*'`), types (`nn.Conv2d`), modules, or a rule of
      (name, module).
    - `observe`: some of activation, gradient, weight, weight_gradient, update, state.
    - `tensors`: `'sample'` keeps a piece of each tensor besides the figures, `'whole'` all of it, False none.
      True is `'whole'` where there is a callback, else `'sample'`.
    - `exact`: norms, and whether there is NaN or Inf, are always those of whole tensors; mean, std, min and
      max of large ones at least once a second. True: all figures are, at every look, which takes its time.
    - `budget`: the share of the time that it may take: it looks less often where it would take more. None for
      no limit.
    - `when_full`: where the child cannot keep up, `'drop'` and count, `'block'` the training, or `'thin'` the
      rate.
    - `alarms`: True, False, or `tl.Thresholds(...)`. `on_alarm` is called with each, in this process.
    - `callback`: your own analysis, called in the child with (name, step, tensor); `on_closing` at its end.
    - `children`: processes among which the layers are split.
    - `rank`: of this process where several train together; found out where it is left out.
    - `first_step`: the number of the first step; left out, the run goes on where it ended, or begins with 0.
    - `name`: stands before the names of layers, tensors and numbers in the run. A second watch of a run that
      is given none gets the type of its model, so that two networks in one run are not mixed up.
    - `max_bytes`: what is kept of tensors in the run; above it old ones are thinned.
    - `start_method`: of multiprocessing: spawn, fork, forkserver. Left out, a process is started that needs
      nothing of your program, unless a callback does.
    """
    given = _optimizers(optimizer)
    chosen = chosen_layers(model, layers)
    roles = observed(observe)
    rate = parse_rate(every)
    _check(budget, when_full, on_alarm)
    room = room_of(tensors_of(tensors, callback), exact=exact)
    thresholds, callbacks = thresholds_of(alarms), callbacks_of(callback, on_closing)
    _split(chosen, children)
    check_start(start_method)
    folder, own_rank = run_folder(run), rank_of(rank)
    taken = take_name(folder, own_rank, name, model, chosen)
    with ExitStack() as undone:  # where anything of this fails
        undone.callback(taken.release)
        chosen = taken.named(chosen)
        begun = next_step(taken, chosen)
        job = Job(
            run=folder,
            rank=own_rank,
            max_bytes=max_bytes // max(1, children),
            every=rate.text,
            thresholds=thresholds,
            keeps_tensors=room.tensors is not None,
            parent=os.getpid(),
            follows_losses=folder is not None and taken.is_first,
            name=taken.name,
        )
        steps = OptimizerSteps(given) if given else ForwardSteps([model], chosen)
        parts: list[WatchedShare] = []
        for share in _split(chosen, children):
            child = Child(job, callbacks, start_method)
            child.start()
            undone.callback(child.close, 0.0)
            parts.append(WatchedShare(child, roles, room, share))
            job = msgspec.structs.replace(job, follows_losses=False)
        watcher = Watcher(
            parts,
            steps,
            rate,
            budget=budget,
            when_full=when_full,
            on_alarm=on_alarm,
            has_callback=callback is not None,
            first_step=begun if first_step is None else first_step,
            taken=taken,
        )
        undone.callback(watcher.close)
        watcher.start()
        undone.pop_all()
    scripted = [name for name, module in chosen.items() if isinstance(module, torch.jit.ScriptModule)]
    if scripted:
        watcher.tell_unseen(scripted, "a scripted module runs outside of Python")
    return watcher


def _optimizers(optimizer: Any) -> list[Optimizer]:
    if optimizer is None:
        return []
    is_one = isinstance(optimizer, Optimizer) or not isinstance(optimizer, Iterable)
    return [_innermost(one) for one in ([optimizer] if is_one else optimizer)]


def _innermost(one: Any) -> Optimizer:
    """Where somebody wraps an optimizer, it is the one inside that makes the steps."""
    if isinstance(one, Optimizer) and hasattr(one, "_optimizer_step_post_hooks"):
        return one
    if isinstance(inner := getattr(one, "optimizer", None), Optimizer):
        return _innermost(inner)
    raise InputError(f"optimizer is a {type(one).__name__}: give a torch.optim.Optimizer.")


def _check(budget: Any, when_full: Any, on_alarm: Any) -> None:
    if when_full not in ("drop", "block", "thin"):
        raise InputError(f"when_full is {when_full!r}: give 'drop', 'block' or 'thin'.")
    if budget is not None and not (isinstance(budget, int | float) and 0 < budget <= 1):
        raise InputError(
            f"budget is {budget!r}: give a share of the time, such as 0.03, or None for no limit."
        )
    if on_alarm is not None and not callable(on_alarm):
        raise InputError(f"on_alarm is a {type(on_alarm).__name__}: give a function that takes an alarm.")


def tensors_of(tensors: Any, callback: Any) -> Tensors:
    if tensors is True:
        return "sample" if callback is None else "whole"
    if tensors == "sample" or tensors == "whole":
        return "whole" if tensors == "whole" else "sample"
    if tensors is not False and tensors is not None:
        raise InputError(f"tensors is {tensors!r}: give 'sample', 'whole' or False.")
    if callback is not None:
        raise InputError(
            "a callback is called with tensors: leave `tensors` out, or give 'whole' or 'sample'."
        )
    return None


def room_of(tensors: Tensors, *, exact: bool = False) -> Room:
    """Whole tensors may take a quarter of the memory that is free, and not more than 4 GB.

    So may copies of weights as they were before an update; what is beyond that is known by a sample.
    """
    most = min(4 << 30, _free_bytes() // 4)
    if tensors != "whole":
        return Room(tensors=tensors, copied_bytes=most, exact=exact)
    return Room(tensors="whole", ring_bytes=256 << 20, most_bytes=most, copied_bytes=most, exact=exact)


def _free_bytes() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 2 << 30


def thresholds_of(alarms: Any) -> Thresholds | None:
    if isinstance(alarms, Thresholds):
        return alarms
    if alarms is None or isinstance(alarms, bool):
        return Thresholds() if alarms else None
    raise InputError(f"alarms is {alarms!r}: give True, False or tl.Thresholds(...).")


def callbacks_of(callback: Any, on_closing: Any) -> Callbacks | None:
    if callback is None and on_closing is None:
        return None
    return Callbacks(on_run=callback, on_closing=on_closing)


def run_folder(run: Any) -> str | None:
    """Where what is seen is kept, as text."""
    if run is False:
        return None
    path = getattr(run, "path", run)
    if path is not None and not isinstance(path, str | os.PathLike):
        raise InputError(f"run is {run!r}: give the folder of a run, a tl.Run, or False.")
    return str(folder_of(path).absolute())


def _split(layers: dict[str, nn.Module], children: Any) -> list[dict[str, nn.Module]]:
    """Neighbours stay together."""
    if not isinstance(children, int) or isinstance(children, bool) or children < 1:
        raise InputError(f"children is {children!r}: give a whole number from 1 on.")
    names = list(layers)
    number = min(children, len(names))
    ends = [len(names) * part // number for part in range(number + 1)]
    return [{name: layers[name] for name in names[start:end]} for start, end in pairwise(ends)]
