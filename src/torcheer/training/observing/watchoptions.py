"""What `watch=` means wherever a training is recorded: not at all, so often, or with these options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from torcheer.errors import InputError
from torcheer.inspector import every_of
from torcheer.inspector import watch as watch_training
from torcheer.training.observing.recording import Recording

Watch = bool | str | int | float | Mapping[str, Any] | None

_OURS = ("model", "optimizer", "run", "rank", "first_step")


def watch_options(watch: Watch) -> dict[str, Any] | None:
    """The options of `tl.watch`; None where nothing is to be watched. Raises InputError."""
    if watch is None or watch is False:
        return None
    if watch is True:
        return {}
    if not isinstance(watch, Mapping):
        every_of(watch)
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
