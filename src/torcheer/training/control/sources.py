"""Which files of the user's a training was imported from, and whether they have changed. No torch here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from torcheer.training.control.faults import is_file_of_the_user
from torcheer.training.control.protocol import About, Value


def imported_sources() -> dict[str, int]:
    """All that this process has imported and that is not of a library, with the time of its last change."""
    times = ((path, _time_of(path)) for path in _files() if is_file_of_the_user(path))
    return {path: time for path, time in times if time is not None}


def have_changed(sources: Mapping[str, int]) -> bool:
    """Whether one of them is another by now. One that is gone, as while it is saved, has not changed."""
    return any(_time_of(path) not in (None, time) for path, time in sources.items())


def chosen_values(
    values: Mapping[str, Value], about: About | None, preset: Mapping[str, Value]
) -> dict[str, Value]:
    """Those that somebody chose. What the old code began with is left out: the new one may have another."""
    begun = {field.name: field.value for field in about.fields} if about else {}
    begun.update(preset)
    return {name: value for name, value in values.items() if (name, value) not in begun.items()}


def _files() -> Iterator[str]:
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith(".py"):
            yield os.path.abspath(path)


def _time_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
