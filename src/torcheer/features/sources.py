"""Data as batches whose place is fixed: batch 7 holds the same samples whoever works on it, and whenever.

That is what makes results equal to the last bit: the numbers of a sample may depend, in their last digits, on
how many others are in its batch.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
)

from torcheer.capture import seed_everything
from torcheer.errors import InputError
from torcheer.features.identity import checksum_of_item, data_marks
from torcheer.features.manifest import STEADY, STREAM
from torcheer.features.stores import Array
from torcheer.models import TARGET_NAMES

USUAL_BATCH_SIZE: Final = 32
_KINDS: Final = "a DataLoader, a Dataset, tensors, or anything that yields batches"


class Piece(NamedTuple):
    """A batch and its place."""

    number: int
    first: int  # of its samples
    batch: Any


class IndexedSource:
    """A data set of which any sample can be had at any time, in batches whose place is fixed."""

    def __init__(
        self,
        dataset: Any,
        order: Sequence[int] | NDArray[numpy.int64],
        batch_size: int | None,
        options: Mapping[str, Any],
        firsts: Sequence[int] | None = None,
    ) -> None:
        """`order`: of the samples; `firsts`: where each batch begins, if not every `batch_size`."""
        if not len(order):
            raise InputError("the data are empty: there is nothing to extract.")
        self._dataset = dataset
        self._order = order
        self._firsts = range(0, len(order), batch_size or 1) if firsts is None else firsts
        self._options = dict(options)
        kinds: dict[type, str] = {_Columns: "tensors", _ListedSamples: "list"}
        kind = kinds.get(type(dataset), type(dataset).__name__)
        self.words = f"{kind} of {len(order):,} samples"  # for people
        self.num_samples: int | None = len(order)
        self.num_batches: int | None = len(self._firsts)
        self.batch_size = batch_size  # None: they differ
        self.notes: list[str] = []

    def first(self) -> Any:
        with _told_what_to_do():
            return next(iter(self._loader([self._indices_of(0)], num_workers=self._num_readers)))

    def _indices_of(self, number: int) -> list[int]:
        ends = (*self._firsts[number + 1 : number + 2], len(self._order))
        return [int(one) for one in self._order[self._firsts[number] : ends[0]]]

    def pieces(self, wanted: Callable[[int], bool]) -> Iterator[Piece]:
        """Those batches that are wanted, in their order."""
        numbers = [number for number in range(len(self._firsts)) if wanted(number)]
        if not numbers:
            return
        batches = iter(self._loader([self._indices_of(number) for number in numbers]))
        for number in numbers:
            with _told_what_to_do():
                batch = next(batches)
            yield Piece(number, self._firsts[number], batch)

    def ids(self) -> Array | None:
        """What each sample is called, where that is known before."""
        names = names_of_samples(self._dataset)
        order = numpy.asarray(self._order, dtype=numpy.int64)
        if names is not None and len(names) > int(order.max(initial=-1)):
            return numpy.array([names[number] for number in order], dtype=numpy.str_)
        return order

    def classes(self) -> tuple[str, ...]:
        """What the labels are called, where the data say it."""
        return class_names(self._dataset)

    def marks(self) -> dict[str, str]:
        """By which other data are noticed."""
        found = data_marks(self._dataset, numpy.asarray(self._order, dtype=numpy.int64), self._looked_at)
        if STEADY not in found:
            self.notes.append("a sample is another one each time it is read: changes go unnoticed.")
        return found

    @property
    def _num_readers(self) -> int:
        """Where workers read, this process does not: files that it had open would be open in all of them."""
        return min(1, int(self._options.get("num_workers", 0)))

    def _looked_at(self, numbers: list[int]) -> list[int]:
        changed = {"num_workers": self._num_readers, "collate_fn": _checksum_of_first}
        return list(self._loader([[number] for number in numbers], **changed))

    def _loader(self, batches: list[list[int]], **changed: Any) -> DataLoader[Any]:
        options = {**self._options, **changed}
        if not options.get("num_workers"):
            for name in ("prefetch_factor", "multiprocessing_context", "timeout"):
                options.pop(name, None)
        return DataLoader(_Steady(self._dataset), batch_sampler=batches, **options)


@contextmanager
def _told_what_to_do() -> Iterator[None]:
    """Where samples cannot be put together to a batch, torch says what they are, and not what to do."""
    try:
        yield
    except (TypeError, RuntimeError) as error:
        if "default_collate" in str(error):
            raise InputError(
                "the samples are no tensors, and cannot be put together to a batch: give the data set a "
                "transform that makes them (for pictures torchvision.transforms.ToTensor(), or `lambda "
                "picture: torch.tensor(numpy.array(picture)) / 255`), or a DataLoader with a collate_fn."
            ) from error
        if "stack expects each tensor to be equal size" in str(error) or "of equal size" in str(error):
            raise InputError(
                "the samples of a batch have different shapes: make them alike in a transform of the data "
                "set, such as a resize; or take batch_size=1, and say by shapes= how they are to be kept. "
                "Texts are padded by the collate_fn of a DataLoader, such as one that calls tokenizer.pad."
            ) from error
        raise


def note_on_batches(source: Source, error: Exception) -> None:
    """Say of what the model raised that samples of a list may have been taken for batches."""
    if isinstance(source, StreamSource) and source.is_list:
        error.add_note(
            "torcheer: without batch_size=, each entry of a list is taken for a batch. If these are samples, "
            f"give batch_size=, such as batch_size={USUAL_BATCH_SIZE}."
        )


class StreamSource:
    """Batches that come one after the other. Whoever wants a later one must let the earlier ones go by."""

    batch_size: int | None = None
    num_samples: int | None = None

    def __init__(self, batches: Iterable[Any], words: str) -> None:
        self._batches = batches
        self.is_list = isinstance(batches, list)
        self.words = words
        self.notes: list[str] = []
        self.num_batches: int | None = None
        self.count: Callable[[Any], int] = len  # the samples of a batch
        self.end: tuple[int, int] | None = None  # batches and samples, once all went by

    def first(self) -> Any:
        for batch in self._one_by_one():
            return batch
        raise InputError("the data are empty: there is nothing to extract.")

    def pieces(self, wanted: Callable[[int], bool]) -> Iterator[Piece]:
        first = number = 0
        for number, batch in enumerate(self._one_by_one(), 1):
            if wanted(number - 1):
                yield Piece(number - 1, first, batch)
            first += self.count(batch)
        self.end = number, first

    def _one_by_one(self) -> Iterator[Any]:
        """Each draws the same random numbers, whatever the model drew in between."""
        seed_everything(0)
        batches = iter(self._batches)
        for number in itertools.count():
            seed_everything(number)
            try:
                batch = next(batches)
            except StopIteration:
                return
            yield batch

    def ids(self) -> Array | None:
        return None

    def classes(self) -> tuple[str, ...]:
        return ()

    def marks(self) -> dict[str, str]:
        return {"kind": STREAM}


Source = IndexedSource | StreamSource


class _Steady(Dataset[Any]):
    """A data set that draws the same random numbers for a sample whenever it is asked for, in any process."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        if callable(getattr(dataset, "__getitems__", None)):
            self.__getitems__ = self._several

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> Any:
        seed_everything(number)
        return self.dataset[number]

    def _several(self, numbers: list[int]) -> Any:
        seed_everything(numbers[0] if numbers else 0)
        return self.dataset.__getitems__(numbers)


class _Columns(Dataset[Any]):
    """Tensors, arrays and texts side by side, a sample a row."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def __len__(self) -> int:
        if isinstance(self.columns, Mapping):
            return len(next(iter(self.columns.values()), ()))
        return len(self.columns[0] if isinstance(self.columns, tuple) else self.columns)

    def __getitem__(self, number: int) -> Any:
        if isinstance(self.columns, Mapping):
            return {name: _row(column, number) for name, column in self.columns.items()}
        if isinstance(self.columns, tuple):
            return tuple(_row(column, number) for column in self.columns)
        return _row(self.columns, number)


class _ListedSamples(Dataset[Any]):
    """A list of samples: dicts by the names that forward takes, `(x, label)`, or tensors."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> Any:
        sample = self.samples[number]
        if isinstance(sample, Mapping):
            return {name: _as_tensor(value) for name, value in sample.items()}
        return sample


def _is_sample(item: Any) -> bool:
    """A dict, or something with one number, such as `(x, 3)`: a batch would have several."""
    parts = item if isinstance(item, tuple | list) else ()
    return isinstance(item, Mapping) or any(map(_is_number, parts))


def _has_one_label(item: Any) -> bool:
    """A dict whose label is one number: a batch would have one for each of its samples."""
    return isinstance(item, Mapping) and any(_is_number(item[name]) for name in TARGET_NAMES if name in item)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, Tensor | numpy.ndarray) and not value.ndim)


def _as_tensor(value: Any) -> Any:
    """Numbers in a list, as a tokenizer gives them: torch would make a tensor of each place in it."""
    if not isinstance(value, list | tuple) or not value or isinstance(value[0], str | Tensor):
        return value
    try:
        return torch.tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return value


def _row(column: Any, number: int) -> Any:
    """Of an array a copy: it may be a file that nobody may write to."""
    if not isinstance(column, numpy.ndarray):
        return column[number]
    return torch.from_numpy(numpy.array(column[number], dtype=column.dtype.newbyteorder("=")))


def _checksum_of_first(items: list[Any]) -> int:
    return checksum_of_item(items[0])


def source_of(data: Any, batch_size: int | None) -> Source:
    """`batch_size`: of a data set; a loader brings its own."""
    if batch_size is not None and (
        isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1
    ):
        raise InputError(f"batch_size is {batch_size!r}: give a whole number from 1 on.")
    if isinstance(data, DataLoader):
        return _of_loader(data, batch_size)
    if isinstance(data, Tensor | numpy.ndarray | Mapping) or _is_row_of_columns(data):
        return _of_dataset(_Columns(_as_columns(data)), batch_size)
    if isinstance(data, IterableDataset):
        return _of_loader(DataLoader(data, batch_size or USUAL_BATCH_SIZE), None)
    is_sequence = (
        hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, list | str | bytes)
    )
    if isinstance(data, Dataset) or is_sequence:
        return _of_dataset(data, batch_size)
    if isinstance(data, list) and batch_size is not None and all(map(_is_sample, data)):
        return _of_dataset(_ListedSamples(data), batch_size)  # without a batch size it is a list of batches
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"a {type(data).__name__} holds no samples: give {_KINDS}.")
    if batch_size is not None:
        raise InputError("batch_size goes with a data set: what yields batches has made them already.")
    if isinstance(data, list) and data and all(map(_has_one_label, data)):
        raise InputError(
            "this is a list of samples, each with a label of its own: give batch_size=, such as "
            f"batch_size={USUAL_BATCH_SIZE}. Without it, each entry of a list is taken for a batch."
        )
    return _of_stream(data)


def _of_dataset(dataset: Any, batch_size: int | None) -> IndexedSource:
    try:
        length = len(dataset)
    except TypeError as error:
        raise InputError(f"{type(dataset).__name__} has no length: give a DataLoader of it.") from error
    return IndexedSource(dataset, range(length), batch_size or USUAL_BATCH_SIZE, {})


def _of_loader(loader: DataLoader[Any], batch_size: int | None) -> Source:
    if batch_size is not None and batch_size != loader.batch_size:
        raise InputError(
            f"batch_size={batch_size}, and the loader's is {loader.batch_size}: leave batch_size out, or "
            "give the data set itself."
        )
    is_plain = type(loader).__iter__ is DataLoader.__iter__  # else it does more to batches than to make them
    if isinstance(loader.dataset, IterableDataset) or loader.batch_sampler is None or not is_plain:
        return _of_stream(loader)
    options = {
        "num_workers": loader.num_workers,
        "collate_fn": loader.collate_fn,
        "pin_memory": loader.pin_memory,
        "timeout": loader.timeout,
        "worker_init_fn": loader.worker_init_fn,
        "multiprocessing_context": loader.multiprocessing_context,
        "prefetch_factor": loader.prefetch_factor,
    }
    size = loader.batch_size
    if type(loader.batch_sampler) is not BatchSampler or size is None:  # one of the user's
        listed = [[int(one) for one in batch] for batch in loader.batch_sampler]
        firsts = list(itertools.accumulate((len(one) for one in listed), initial=0))[:-1]
        order = [number for batch in listed for number in batch]
        return IndexedSource(loader.dataset, order, None, options, firsts)
    even_order, note = _order_of(loader.sampler, len(loader.dataset))  # type: ignore[arg-type]
    source = IndexedSource(loader.dataset, even_order, size, options)
    source.notes += [note] if note else []
    if loader.drop_last and len(even_order) % size:
        source.notes.append("the loader drops its last batch, which is not full: it is extracted, too.")
    return source


def _order_of(sampler: Any, length: int) -> tuple[Sequence[int] | NDArray[numpy.int64], str]:
    if type(sampler) is SequentialSampler:
        return range(length), ""
    if isinstance(sampler, RandomSampler) and not sampler.replacement and sampler.num_samples == length:
        return range(length), "the loader shuffles: samples are stored in the order of the data set."
    if isinstance(sampler, DistributedSampler):
        note = "the loader deals samples out to ranks: torcheer does so itself, and stores them in order."
        return range(length), note
    if isinstance(sampler, SubsetRandomSampler):
        note = "the loader shuffles: samples are stored in the order of the sampler's indices."
        return numpy.array([int(one) for one in sampler.indices], dtype=numpy.int64), note
    return numpy.array([int(one) for one in sampler], dtype=numpy.int64), ""


def _of_stream(batches: Any) -> StreamSource:
    if isinstance(batches, Iterator):
        raise InputError(
            f"a {type(batches).__name__} can be gone through only once, and the first batch is looked at "
            "before: give something that begins anew each time, such as a DataLoader or a list."
        )
    dataset = getattr(batches, "dataset", None)
    return StreamSource(
        batches, f"{type(batches if dataset is None else dataset).__name__}, a stream of batches"
    )


def _is_row_of_columns(data: Any) -> bool:
    """`(x, labels)`, as tensors: one thing a sample in each."""
    return (
        isinstance(data, tuple)
        and bool(data)
        and all(isinstance(one, Tensor | numpy.ndarray) for one in data)
        and len({len(one) if one.ndim else -1 for one in data}) == 1
    )


def _as_columns(data: Any) -> Any:
    if isinstance(data, Mapping):
        columns = {name: _as_column(value, f"the entry {name!r}") for name, value in data.items()}
        if len({len(value) for value in columns.values()}) > 1:
            raise InputError("the entries of the dictionary have different numbers of samples.")
        return columns
    if isinstance(data, tuple):
        return tuple(_as_column(one, "a part of the data") for one in data)
    return _as_column(data, "the data")


def _as_column(value: Any, what: str) -> Any:
    if isinstance(value, numpy.ndarray) and value.dtype.kind == "U":
        value = value.tolist()
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return list(value)
    try:
        is_there = isinstance(value, Tensor | numpy.ndarray)
        found = value if is_there else torch.as_tensor(value, device="cpu")
        is_column = found.ndim > 0 and (isinstance(found, Tensor) or found.dtype.kind in "fiubc")
    except (TypeError, ValueError, RuntimeError):
        is_column = False
    if not is_column:
        raise InputError(f"{what} must be numbers or texts, one for each sample, as a tensor or a list.")
    return found


def names_of_samples(dataset: Any) -> Sequence[str] | None:
    """File names, where a data set of files has them: of ImageFolder and its kin, and of parts of one."""
    inner, indices = getattr(dataset, "dataset", None), getattr(dataset, "indices", None)
    if inner is not None and indices is not None:
        names = names_of_samples(inner)
        return None if names is None else [names[int(number)] for number in indices]
    length = -1
    with suppress(TypeError):
        length = len(dataset)
    for attribute in ("samples", "imgs", "files", "paths"):
        found = getattr(dataset, attribute, None)
        if isinstance(found, list | tuple) and found and len(found) == length:
            names = [one[0] if isinstance(one, tuple | list) and one else one for one in found]
            if all(isinstance(one, str | os.PathLike) for one in names):
                return _short([os.fspath(one) for one in names])
    return None


def class_names(dataset: Any) -> tuple[str, ...]:
    """Of a data set that names its classes, and of parts of one; of several in a row, if they agree."""
    found = getattr(dataset, "classes", None)
    if isinstance(found, list | tuple) and found and all(isinstance(one, str) for one in found):
        return tuple(found)
    inner = getattr(dataset, "dataset", None)
    parts = [inner] if inner is not None else getattr(dataset, "datasets", None) or []
    named = {class_names(part) for part in parts} if isinstance(parts, list | tuple) else set()
    return named.pop() if len(named) == 1 else ()


def _short(names: list[Any]) -> list[str]:
    """Below the folder that they have in common."""
    texts = [str(name) for name in names]
    folders = {os.path.dirname(text) for text in texts}
    are_alike = len(set(map(os.path.isabs, texts))) == 1
    common = os.path.commonpath(folders) if are_alike and "" not in folders else ""
    return [Path(os.path.relpath(text, common)).as_posix() if common else text for text in texts]
