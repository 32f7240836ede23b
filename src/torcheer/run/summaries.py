"""For scripts that hand summaries to `writer.file_writer` themselves: they are read as event files are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from torcheer.errors import InputError
from torcheer.run.events.decoding import (
    Event,
    PlacedValue,
    read_event,
    values_of_event,
    values_of_summary,
)
from torcheer.run.events.limits import RoomForOne
from torcheer.run.events.values import FoundPoint, Plugins, read_value
from torcheer.run.observations import Encoded, Observation
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.steps import step_of, time_of
from torcheer.run.run import Run


class FileWriter:
    """As much of TensorBoard's as scripts use: summaries and events go into the run."""

    def __init__(self, log_dir: str | os.PathLike[str], open_run: Callable[[], Run]) -> None:
        self._log_dir = log_dir
        self._open_run = open_run
        self._plugins: Plugins = {}

    def get_logdir(self) -> str | os.PathLike[str]:
        return self._log_dir

    @never_raising
    def add_summary(
        self, summary: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Keep what a summary holds: the message itself, or its bytes."""
        step = 0 if global_step is None else step_of(global_step)
        self._keep(Event(time=time_of(walltime), step=step), values_of_summary(_bytes_of(summary)))

    @never_raising
    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Keep what an event holds: the message itself, or its bytes."""
        data = _bytes_of(event)
        read = read_event(data)
        read.time = time_of(walltime if walltime is not None or not read.time else read.time)
        read.step = read.step if step is None else step_of(step)
        self._keep(read, values_of_event(data))

    def flush(self) -> None:
        self._open_run().flush()

    def close(self) -> None:
        """The run is closed by its writer."""

    def reopen(self) -> None:
        """It opens by itself."""

    def _keep(self, event: Event, values: Iterable[PlacedValue]) -> None:
        run = self._open_run()
        for message, _ in values:
            for found in read_value(message, self._plugins, RoomForOne(len(message))):
                if isinstance(found, FoundPoint):
                    run._put_scalars(event.step, event.time, {found.name: found.value})
                    continue
                encoded = Encoded(found.head, found.data())
                run._put(
                    Observation(
                        kind=found.kind,
                        name=found.name,
                        step=event.step,
                        time=event.time,
                        num_bytes=found.num_bytes,
                        encode=lambda encoded=encoded: encoded,  # type: ignore[misc]
                    )
                )

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        self._open_run()._tell(message, cause, series)


def _bytes_of(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    serialize = getattr(message, "SerializeToString", None)
    if serialize is None:
        raise InputError(f"a {type(message).__name__} is no summary: give the message, or its bytes.")
    return bytes(serialize())
