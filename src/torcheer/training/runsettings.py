"""The run that a training is logged to: opened, with its settings, and closed with how it ended."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torcheer.errors import InputError
from torcheer.run import Run, folder_of
from torcheer.training import distributed
from torcheer.training.callbacks import Training
from torcheer.training.interrupting import INTERRUPTED
from torcheer.training.madewith import settings_in_use


@contextmanager
def opened_run(run: Any, training: Training, *, is_resumed: bool) -> Iterator[Run | None]:
    """A run that is open already is left open; one that is opened here is closed, and says how it ended."""
    if run is None or isinstance(run, Run):
        yield run
        return
    if not isinstance(run, str | os.PathLike):
        raise InputError(f"run is a {type(run).__name__}: give a folder, or a tl.Run.")
    folder = Path(distributed.from_main(str(folder_of(run))))
    # What was logged after the checkpoint happens again, and would be there twice.
    purge_step = training.steps_done if is_resumed else None
    with Run(folder, total_steps=training.num_steps, purge_step=purge_step) as opened:
        yield opened
        if training.stopped_by == INTERRUPTED:
            raise KeyboardInterrupt  # the run says so; whoever opened it goes on


def settings_of(training: Training, named: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters: what was given to fit, and the settings of the optimizer that are in use."""
    optimizer = training.optimizer
    own = {
        name: value
        for name, value in settings_in_use(training.made_with, getattr(optimizer, "defaults", {})).items()
        if isinstance(value, int | float | str | tuple) and not isinstance(value, bool)
    }
    batch_size = getattr(training.train_loader, "batch_size", None)
    settings = {
        "model": type(training.model).__name__,
        "optimizer": type(optimizer).__name__,
        **own,
        "scheduler": None if training.scheduler is None else type(training.scheduler).__name__,
        "batch_size": batch_size,
        **named,
    }
    return {name: value for name, value in settings.items() if value is not None}
