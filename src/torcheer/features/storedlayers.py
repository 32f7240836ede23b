"""One layer of stored features, read piece by piece, as an array is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.features.journal import Done
from torcheer.features.manifest import ArraySpec
from torcheer.features.stores.protocol import Array, Rows, Store

Mask = NDArray[numpy.bool_]


class StoredLayer:
    """Rows of samples: `layer[100:200]`, `layer[[3, 5]]`, `layer[7, :4]`, as NumPy has it."""

    def __init__(self, spec: ArraySpec, rows: Rows, missing: Callable[[], Mask | None]) -> None:
        self.spec = spec
        self.rows = rows
        self._missing = missing

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.rows.shape)

    @property
    def dtype(self) -> numpy.dtype[Any]:
        return self.rows.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * int(numpy.prod(self.shape, dtype=numpy.int64))

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of its dimensions, "sample" first."""
        return ("sample", *self.spec.dims)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        missing = self._missing()
        if missing is not None:
            _refuse_missing(missing, key, self.name)
        return self.rows[key]

    def __iter__(self) -> Iterator[Array]:
        return (self[number] for number in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        whole = numpy.asarray(self[:])
        return numpy.array(whole, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<StoredLayer {self.name!r}: {self.dtype} {self.shape}>"


class StoredRagged:
    """Samples of different shapes: `layer[3]` is an array, `layer[3:5]` a list of them."""

    def __init__(self, spec: ArraySpec, store: Store, batches: list[Done], num_rows: int) -> None:
        self.spec = spec
        self._store = store
        self._batches = sorted(batches, key=lambda done: done.first)
        self._firsts = [done.first for done in self._batches]
        self._num_rows = num_rows
        self._last: tuple[int, list[Array]] | None = None  # a batch is read as a whole: neighbours come next

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def dtype(self) -> numpy.dtype[Any]:
        return self.spec.numpy_dtype

    @property
    def dims(self) -> tuple[str, ...]:
        return ("sample", *self.spec.dims)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of each sample."""
        return [shape for done in self._batches for shape in done.places[self.spec.file].shapes]

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * sum(int(numpy.prod(shape, dtype=numpy.int64)) for shape in self.shapes)

    def __len__(self) -> int:
        return self._num_rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self._one(number) for number in range(*key.indices(len(self)))]
        if isinstance(key, int | numpy.integer):
            return self._one(int(key))
        return [self._one(int(number)) for number in _numbers_of(key, len(self))]

    def __iter__(self) -> Iterator[Array]:
        return (self._one(number) for number in range(len(self)))

    def padded(self, key: Any = slice(None), value: float = 0) -> tuple[Array, NDArray[numpy.int64]]:
        """As one array, filled up with `value`; and the shape of each sample."""
        samples = self[key]
        shapes = numpy.array([one.shape for one in samples], dtype=numpy.int64)
        whole = numpy.full((len(samples), *shapes.max(axis=0)), value, self.dtype)
        for row, one in zip(whole, samples, strict=True):
            row[tuple(slice(size) for size in one.shape)] = one
        return whole, shapes

    def _one(self, number: int) -> Array:
        number = number + len(self) if number < 0 else number
        if not 0 <= number < len(self):
            raise IndexError(f"there is no sample {number}: there are {len(self):,}.")
        place = int(numpy.searchsorted(self._firsts, number, side="right")) - 1
        done = self._batches[place] if place >= 0 else None
        if done is None or number >= done.first + done.rows:
            raise _missing_error(self.name, number)
        if self._last is None or self._last[0] != place:
            self._last = place, self._store.ragged(self.spec, done.places[self.spec.file])
        return self._last[1][number - done.first]

    def __repr__(self) -> str:
        shape = ", ".join("?" if size < 0 else str(size) for size in self.spec.shape)
        return f"<StoredRagged {self.name!r}: {self.dtype}, {len(self):,} samples of ({shape})>"


def _numbers_of(key: Any, length: int) -> NDArray[numpy.int64]:
    found = numpy.asarray(key)
    if found.dtype == bool and found.shape == (length,):
        return numpy.flatnonzero(found)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise InputError(f"{key!r} names no samples: give a number, a slice, or a list of numbers.")
    return found.astype(numpy.int64)


def _refuse_missing(missing: Mask, key: Any, name: str) -> None:
    """A row that nobody has written is zeros, and must not be taken for values."""
    first = key if not isinstance(key, tuple) else key[0] if key else ...
    if first is Ellipsis or first is None:
        first = slice(None)  # rather too many rows than too few
    chosen = numpy.asarray(first) if isinstance(first, list | numpy.ndarray) else None
    if chosen is not None and chosen.dtype == bool and chosen.ndim > 1:
        first = chosen.any(axis=tuple(range(1, chosen.ndim)))
    numbers = numpy.atleast_1d(numpy.arange(len(missing))[first])
    wanted = numbers[missing[numbers]]
    if wanted.size:
        raise _missing_error(name, int(wanted.min()))


def _missing_error(name: str, number: int) -> InputError:
    return InputError(
        f"sample {number:,} of {name!r} is not extracted yet: features.done says which are there, and the "
        "call of "
        "tl.extract that began it goes on with it."
    )
