"""Which samples are in which batch: fixed once for all, whoever asks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy
from numpy.typing import NDArray


class Places(Protocol):
    """Which samples are in which batch."""

    num_samples: int
    num_batches: int
    batch_size: int | None

    def indices_of(self, number: int) -> list[int]: ...
    def first_of(self, number: int) -> int: ...
    def order(self) -> NDArray[numpy.int64]: ...


class EvenPlaces:
    """Batches of one size, but for the last."""

    def __init__(self, order: Sequence[int] | NDArray[numpy.int64], batch_size: int) -> None:
        self._order = order
        self.num_samples = len(order)
        self.batch_size: int | None = batch_size
        self._size = batch_size
        self.num_batches = -(-len(order) // batch_size)

    def indices_of(self, number: int) -> list[int]:
        return [int(one) for one in self._order[number * self._size : (number + 1) * self._size]]

    def first_of(self, number: int) -> int:
        return number * self._size

    def order(self) -> NDArray[numpy.int64]:
        return numpy.asarray(self._order, dtype=numpy.int64)


class ListedPlaces:
    """Batches as a batch sampler of the user's puts them together."""

    def __init__(self, batches: list[list[int]]) -> None:
        self._batches = batches
        self._firsts = list(itertools.accumulate((len(one) for one in batches), initial=0))
        self.num_samples = self._firsts[-1]
        self.num_batches = len(batches)
        self.batch_size: int | None = None

    def indices_of(self, number: int) -> list[int]:
        return self._batches[number]

    def first_of(self, number: int) -> int:
        return self._firsts[number]

    def order(self) -> NDArray[numpy.int64]:
        return numpy.array(list(itertools.chain(*self._batches)), dtype=numpy.int64)


class ChosenBatches:
    """A batch sampler of some batches."""

    def __init__(self, places: Places, numbers: Sequence[int]) -> None:
        self._places = places
        self._numbers = numbers

    def __iter__(self) -> Iterator[list[int]]:
        return (self._places.indices_of(number) for number in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
