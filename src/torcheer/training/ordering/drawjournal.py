"""Note which random numbers the data began with, batch by batch, where the model draws from the same source.

A loader in the training's own process may draw from torch's, Python's or NumPy's global numbers, in turn with
dropout and the like. Replayed without the model, it would draw others. So the state that it met is noted, but
only where the loader drew, and somebody else had drawn since it last did.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from torcheer.training.telling import warn

_MOST_NOTES = 10_000  # some 50 MB


class _Source(NamedTuple):
    get: Callable[[], Any]
    set: Callable[[Any], None]
    is_same: Callable[[Any, Any], bool]


def _same_arrays(one: Any, other: Any) -> bool:
    return bool(numpy.array_equal(one[1], other[1]) and one[2:] == other[2:])


def _get_torch() -> Tensor:
    return torch.get_rng_state()


_SOURCES: dict[str, _Source] = {
    "torch": _Source(_get_torch, torch.set_rng_state, torch.equal),
    "python": _Source(random.getstate, random.setstate, lambda one, other: bool(one == other)),
    "numpy": _Source(numpy.random.get_state, numpy.random.set_state, _same_arrays),
}


class DrawJournal:
    """Of one epoch."""

    def __init__(self) -> None:
        self._notes: list[tuple[int, str, Any]] = []  # before which batch, of which source, its state
        self._expected: dict[str, Any] = {}  # what a replay would have there
        self._to_follow: dict[int, list[tuple[str, Any]]] = {}
        self._is_complete = True

    def noting(self, begin: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """The batches of an iterator that is made here, with a note before those that need one."""
        batches, number = begin(), 0
        self._expected = _states()
        while True:
            before = self._met(number)
            try:
                batch = next(batches)
            except StopIteration:
                return
            self._note(number, before)
            number += 1
            yield batch

    def state(self) -> dict[str, Any]:
        return {"notes": [list(note) for note in self._notes], "is_complete": self._is_complete}

    def follow(self, state: Mapping[str, Any] | None) -> None:
        """Have each batch drawn from what it was drawn from when this was noted; None: no longer."""
        self._to_follow = {}
        if state is None:
            return
        for number, source, value in state["notes"]:
            self._to_follow.setdefault(number, []).append((source, value))
        if not state["is_complete"]:
            warn(
                f"the data draw random numbers in turn with the model for over {_MOST_NOTES:,} batches, more "
                "than are kept: the epoch may go on with other data than it would have had. Give the dataset "
                "a generator of its own, or the loader a worker."
            )

    def _met(self, number: int) -> dict[str, Any]:
        for source, value in self._to_follow.get(number, ()):
            _SOURCES[source].set(value)
        return _states()

    def _note(self, number: int, before: dict[str, Any]) -> None:
        for name, after in _states().items():
            is_same = _SOURCES[name].is_same
            if is_same(before[name], after):
                continue
            if not is_same(before[name], self._expected[name]):
                if len(self._notes) < _MOST_NOTES:
                    self._notes.append((number, name, before[name]))
                else:
                    self._is_complete = False
            self._expected[name] = after


def _states() -> dict[str, Any]:
    return {name: source.get() for name, source in _SOURCES.items()}
