"""The order of the data, kept so that an interrupted epoch goes on with the batches that it would have had.

An epoch is replayed rather than stored: what its order was drawn from is kept as it was when the epoch began,
is put back, and the batches already seen are read again and passed over. They are read in full: a worker's
random numbers, a buffer that shuffles and a dataset that counts are then where they were, whatever they do.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data.distributed import DistributedSampler

from torcheer.errors import InputError
from torcheer.training import distributed
from torcheer.training.random_state import Movement, random_state, set_random_state
from torcheer.training.training_warning import warn

# A loader in the training's own process may draw from torch's, Python's or NumPy's global numbers, in turn
# with dropout and the like. Replayed without the model, it would draw others. So the state that it met is
# noted, but only where the loader drew, and somebody else had drawn since it last did.

_MOST_NOTES = 10_000  # some 50 MB


_SOURCES: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "torch": (lambda: torch.get_rng_state(), torch.set_rng_state),
    "python": (random.getstate, random.setstate),
    "numpy": (numpy.random.get_state, numpy.random.set_state),
}


def _states() -> dict[str, Any]:
    return {name: get() for name, (get, _) in _SOURCES.items()}


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    return all(itertools.starmap(numpy.array_equal, zip(one, other, strict=True)))


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
            for source, value in self._to_follow.get(number, ()):
                _SOURCES[source][1](value)
            before = _states()
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

    def _note(self, number: int, before: dict[str, Any]) -> None:
        for name, after in _states().items():
            if _is_same(before[name], after):
                continue
            if not _is_same(before[name], self._expected[name]):
                if len(self._notes) < _MOST_NOTES:
                    self._notes.append((number, name, before[name]))
                else:
                    self._is_complete = False
            self._expected[name] = after


# They draw all they need when their iteration begins, or from a generator of their own.
_DRAW_FIRST = {
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
}

Tree = dict[str, Any]


class DataOrder:
    """The batches of a loader, epoch by epoch, in an order that can be gone on with later.

        order = DataOrder(loader)
        for batch in order.epoch(3): ...
        state = order.state()            # also in the middle of an epoch
        order.load_state(state)          # in another process: order.epoch(3) goes on after the last batch

    Any loader will do: a DataLoader with whatever samplers and workers, or something else that can be
    iterated over. Workers that would persist start anew with each epoch: they carry their random numbers from
    one epoch into the next, where nobody else can see them.
    """

    def __init__(self, loader: Iterable[Any]) -> None:
        self.loader = loader
        self.num_batches = 0  # handed out in the epoch that is running
        self._epoch = 0
        self._movement = Movement(loader)
        self._start: Tree | None = None  # of the epoch that is running; None between epochs
        self._is_over = False  # whether all batches of the epoch were asked for
        self._loaded: Mapping[str, Any] | None = None
        self._journal: DrawJournal | None = None

    def epoch(self, epoch: int) -> Iterator[Any]:
        """The batches of an epoch; those that are left of it, where a state from its middle was loaded."""
        loaded, self._loaded = self._loaded, None
        goes_on = loaded is not None and loaded["start"] is not None and loaded["epoch"] == epoch
        if loaded is not None:
            self._put_back(loaded["start"] if goes_on else loaded["now"])
            if loaded["is_over"] and loaded["epoch"] == epoch:  # only what comes after its data is left
                return
        self._epoch, self.num_batches, self._is_over = epoch, 0, False
        distributed.set_epoch(self.loader, epoch)
        self._start = self._now()
        self._journal = DrawJournal() if _past_matters(self.loader) else None
        batches = self._batches()
        if goes_on:
            assert loaded is not None
            self._pass_over(batches, loaded)
            self._put_back(loaded["now"])
        yield from batches
        self._start, self._is_over = None, True

    def state(self) -> Tree:
        """Where the data are, in a form that a checkpoint can keep."""
        if self._loaded is not None:  # not gone on with yet
            return dict(self._loaded)
        # Interrupted while the first batch is fetched, an epoch has not begun.
        has_begun = self._start is not None and self.num_batches > 0
        return {
            "epoch": self._epoch,
            "num_batches": self.num_batches,
            "is_over": self._is_over,
            "start": self._start if has_begun else None,
            "journal": self._journal.state() if self._journal is not None and has_begun else None,
            "now": self._now() if has_begun or self._start is None else self._start,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from there with the next call of `epoch`. Until then nothing changes."""
        self._loaded = state
        self._epoch, self.num_batches, self._is_over = state["epoch"], state["num_batches"], state["is_over"]

    def _batches(self) -> Iterator[Any]:
        if getattr(self.loader, "persistent_workers", False):
            self.loader._iterator = None  # type: ignore[attr-defined]
        journal = self._journal
        batches = iter(self.loader) if journal is None else journal.noting(lambda: iter(self.loader))
        for batch in batches:
            self.num_batches += 1
            yield batch

    def _pass_over(self, batches: Iterator[Any], loaded: Mapping[str, Any]) -> None:
        if self._journal is not None and loaded["journal"] is not None:
            self._journal.follow(loaded["journal"])
        while self.num_batches < loaded["num_batches"]:
            if next(batches, batches) is batches:
                raise InputError(
                    f"the loader has {self.num_batches} batches, and the epoch to go on with was interrupted "
                    f"after {loaded['num_batches']}: give the loader and the data that it began with, or "
                    "begin anew in another folder."
                )
        if self._journal is not None:
            self._journal.follow(None)

    def _now(self) -> Tree:
        return {"random": random_state(self.loader), "moved": self._movement.get()}

    def _put_back(self, state: Mapping[str, Any]) -> None:
        self._movement.set(state["moved"])
        set_random_state(state["random"], self.loader)


def _past_matters(loader: Any) -> bool:
    """Whether the numbers that it drew for one batch can decide what comes in a later one.

    So it is in a buffer that shuffles; not where all is drawn as the epoch begins, nor for what workers draw.
    """
    if not isinstance(loader, DataLoader):
        return not isinstance(loader, list | tuple)
    if isinstance(loader.dataset, IterableDataset):
        return loader.num_workers == 0
    samplers = [loader.batch_sampler, loader.sampler, getattr(loader.batch_sampler, "sampler", None)]
    return any(sampler is not None and type(sampler) not in _DRAW_FIRST for sampler in samplers)
